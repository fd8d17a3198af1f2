r"""A keyword argument of a mapped function is mapped over axis 0, whatever `in_axes` says.

`in_axes` covers positional arguments only; `pmap` and `vmap` map every keyword argument over its leading axis.
With `in_axes=1`, you get a size error at best, and at worst the transpose of what you meant.

```python
import jax
import jax.numpy as jnp


def scale(x, factor):
    return x * factor


scaled = jax.vmap(scale, in_axes=1)(jnp.ones((8, 8)), factor=jnp.ones((8, 8)))
#                                                     ^^^^^^^^^^^^^^^^^^^^^^^ AX209: "factor" is mapped over axis \
#                                                     0: in_axes=1 covers positional arguments only
```

becomes

```python
import jax
import jax.numpy as jnp


def scale(x, factor):
    return x * factor


scaled = jax.vmap(scale, in_axes=1)(jnp.ones((8, 8)), jnp.ones((8, 8)))
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.values import Arg, Const, Site
from meshlens.axes.runs.records import MappedCall
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.rules.helpers.miscounts import keyword_arguments, positional
from meshlens.text import Edit, FileEdit, Span

_MAPS = frozenset({"jax.pmap", "jax.vmap"})


@rule("AX209", Severity.WARNING, reads="places")
def keyword_is_mapped(view: FileView) -> Iterator[Finding]:
    """Checks the keyword arguments in calls of maps whose `in_axes` is one int other than 0."""
    places: dict[Site, list[MappedCall]] = defaultdict(list)
    for call in view.records.mapped_calls:
        if call.visible and canonical(call.binder.dotted) in _MAPS and keyword_arguments(call):
            places[call.call].append(call)
    for calls in places.values():
        for arg in keyword_arguments(calls[0]):
            found = certain((call, call.context, _says_otherwise(call, arg.label)) for call in calls)
            here = next((one for one in found.args if one.label == arg.label), None) if found is not None else None
            if found is not None and here is not None and here.whole is not None and view.is_here(here.whole):
                yield _finding(view, found, here)


def _says_otherwise(call: MappedCall, label: str | None) -> bool:
    """Returns whether `in_axes` is one int other than 0 that the argument was probably meant to follow."""
    given = call.binder.argument("in_axes")
    axis = given.value.value if given is not None and isinstance(given.value, Const) else None
    arg = next((arg for arg in call.args if arg.label == label), None)
    if type(axis) is not int or axis == 0 or arg is None or labels_of(arg.value) & {"key", "keys"}:
        return False
    shape = shape_of(arg.value)
    if shape is None or axis < 0:
        return shape is None
    return len(shape) > axis and shape[0] == shape[axis]


def _finding(view: FileView, call: MappedCall, arg: Arg) -> Finding:
    given = call.binder.argument("in_axes")
    assert given is not None and isinstance(given.value, Const) and arg.whole is not None
    message = f'"{arg.label}" is mapped over axis 0: in_axes={given.value.value} covers positional arguments only'
    related: tuple[Related, ...] = ()
    if given.whole is not None:
        related = (Related(view.path_of(given.whole), view.span(given.whole), "mapped here"),)
    # Masks are often created with the mapped axis first, so an unknown shape says little.
    severity = Severity.HINT if shape_of(arg.value) is None else None
    return Finding(view.span(arg.whole), message, _by_position(view, call, arg), related, severity)


def _by_position(view: FileView, call: MappedCall, arg: Arg) -> tuple[Fix, ...]:
    """Removes the keyword if it names the next parameter."""
    names = [one.parameters for one in view.records.bindings if one.binder.site == call.binder.site]
    parameters = [name for name, how, _ in names[0] or () if how == "any"] if names else []
    count = positional(call)
    if count is None or len(keyword_arguments(call)) != 1 or parameters[count : count + 1] != [arg.label]:
        return ()
    assert arg.whole is not None and arg.site is not None
    edit = Edit(Span(view.span(arg.whole).start, view.span(arg.site).start), "")
    return (Fix("pass by position", (FileEdit(view.path, edit),)),)
