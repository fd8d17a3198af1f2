"""A map or a collective gets an axis name of the wrong type.

`pmap` takes a single string as its axis name.
A tuple counts as one name, not several, and raises `ValueError: Resource axis: a of P(('a', 'b'),) is not found in
mesh` (JAX 0.8.1 and later; in earlier versions, the collectives inside raise `NameError`).
A list, set or dictionary raises `TypeError: unhashable type`; since JAX 0.8.1, an int raises a `TypeError` from MLIR.
An int as the second argument of `pmap` is usually meant as `in_axes`, the second parameter of `vmap`.
A collective that gets the name first and the value second raises `TypeError: Argument 'batch' of type <class 'str'> is
not a valid JAX type`.

```python
import jax
from functools import partial


@partial(jax.pmap, axis_name=("batch",))
#                            ^^^^^^^^^^ AX107: pmap takes one string as its axis name, but this is a tuple
def step(x):
    return x - jax.lax.pmean(x, "batch")
```

becomes

```python
import jax
from functools import partial


@partial(jax.pmap, axis_name="batch")
def step(x):
    return x - jax.lax.pmean(x, "batch")
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.values import Arg, Binder, Const, Dict, Seq, Site, Value
from meshlens.axes.runs.records import Binding
from meshlens.checking.model import Finding, Fix, Severity
from meshlens.checking.registry import rule
from meshlens.project.view import FileView
from meshlens.rules.helpers.displays import only_item
from meshlens.rules.helpers.swapped import swapped_arguments
from meshlens.text import Edit, FileEdit

_STRINGS_ONLY = (0, 8, 1)


@rule("AX107", Severity.ERROR, reads="places")
def invalid_axis_name(view: FileView) -> Iterator[Finding]:
    """Reports each map or collective that gets an invalid axis name on every route."""
    by_map: dict[Site, list[Binding]] = defaultdict(list)
    for binding in view.records.bindings:
        if binding.binder.kind in ("pmap", "vmap"):
            by_map[binding.binder.site].append(binding)
    used = _names_used_under(view)
    for routes in by_map.values():
        binder = routes[0].binder
        axis = binder.argument("axis_name")
        if axis is None or axis.site is None or not view.is_here(axis.site):
            continue
        if all(_fails(view, route, used) for route in routes):
            what = _what(axis.value)
            message = f"{binder.kind} takes one string as its axis name, but this is {what}"
            yield Finding(view.span(axis.site), message, _fixes(view, binder, axis, axis.site))
    yield from swapped_arguments(view)


def _names_used_under(view: FileView) -> set[tuple[Site, str]]:
    """Returns each axis name that this file's collectives use, paired with each map around them."""
    found: set[tuple[Site, str]] = set()
    for use in view.records.uses:
        if isinstance(use.name, Const) and isinstance(use.name.value, str):
            found.update((binder.site, use.name.value) for binder in use.context.env.maps)
    return found


def _fails(view: FileView, route: Binding, used: set[tuple[Site, str]]) -> bool:
    axis = route.binder.argument("axis_name")
    if axis is None or route.context.guarded or route.context.expected or not route.context.sure:
        return False
    value = axis.value
    if isinstance(value, Dict) or (isinstance(value, Seq) and value.kind in ("list", "set")):
        return True
    if isinstance(value, Seq) and value.kind == "tuple":
        strict = route.binder.kind == "pmap" and view.jax_version >= _STRINGS_ONLY
        names = {item.value for item in value.items if isinstance(item, Const)}
        return strict or any((route.binder.site, name) in used for name in names)
    is_number = isinstance(value, Const) and isinstance(value.value, (int, float))
    return is_number and route.binder.kind == "pmap" and view.jax_version >= _STRINGS_ONLY


def _what(value: Value) -> str:
    if isinstance(value, Dict):
        return "a dictionary"
    if isinstance(value, Seq):
        return f"a {value.kind}"
    kind = type(value.value).__name__ if isinstance(value, Const) else "value that is not a string"
    return f"an {kind}" if kind == "int" else f"a {kind}"


def _fixes(view: FileView, binder: Binder, axis: Arg, site: Site) -> tuple[Fix, ...]:
    value = axis.value
    path = view.path_of(site)
    if isinstance(value, Seq) and len(value.items) == 1 and not value.open:
        item = value.items[0]
        if isinstance(item, Const) and isinstance(item.value, str) and item.origin is not None:
            edit = only_item(view, site, item.origin) if item.origin.path == site.path else None
            return (Fix(f'change to "{item.value}"', (edit,)),) if edit is not None else ()
    positional = axis.label is None
    if isinstance(value, Const) and type(value.value) is int and positional and binder.argument("in_axes") is None:
        edit = FileEdit(path, Edit(view.span(site), f"in_axes={view.text(site)}"))
        return (Fix("pass as in_axes", (edit,), "unsafe", "you may have meant an axis name"),)
    return ()
