"""A map names an axis that nothing inside it uses.

The name does no harm, but it often means that a collective is missing, such as a `pmean` of the gradients or the loss.
The rule reports a map only if MeshLens can see all the code that the mapped function calls, and only if you select the
rule.

`select: ["AX103"]`

```python
import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.mean((x @ w) ** 2)


losses = jax.pmap(loss, axis_name="batch", in_axes=(None, 0))
#                       ^^^^^^^^^^^^^^^^^ AX103: nothing inside this pmap uses axis "batch"
```

becomes

```python
import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.mean((x @ w) ** 2)


losses = jax.pmap(loss, in_axes=(None, 0))
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.values import Binder, Const, Function, Partial, Site, Value, Wrapped
from meshlens.axes.runs.records import Binding
from meshlens.checking.model import Finding, Fix, Severity
from meshlens.checking.registry import rule
from meshlens.project.view import FileView
from meshlens.rules.helpers.whole_body import strings_in_sight
from meshlens.text import Edit, FileEdit, Span


@rule("AX103", Severity.HINT, reads="tied", default=False)
def unused_axis(view: FileView) -> Iterator[Finding]:
    """Reports each named axis of a pmap or vmap whose operand is fully visible and does not use the axis."""
    by_map: dict[Site, list[Binding]] = defaultdict(list)
    for binding in view.records.bindings:
        if binding.binder.kind in ("pmap", "vmap") and binding.binder.names:
            by_map[binding.binder.site].append(binding)
    if not by_map:
        return
    used = _used(view)
    for site, routes in by_map.items():
        binder = routes[0].binder
        given = binder.argument("axis_name")
        if given is None or given.whole is None or not isinstance(given.value, Const) or not view.is_here(given.whole):
            continue
        name = given.value.value
        if view.text(given.whole).startswith("*"):
            continue
        if (site, name) in used or (site, None) in used or not all(_leaves_out(view, route, name) for route in routes):
            continue
        message = f'nothing inside this {binder.kind} uses axis "{name}"'
        yield Finding(view.span(given.whole), message, _fixes(view, given.whole), (), unused=True)


def _used(view: FileView) -> set[tuple[Site, object]]:
    """Returns each map's site paired with each axis name used under the map; None for an unknown name."""
    found: set[tuple[Site, object]] = set()
    for records in view.solution.by_file.values():
        for use in records.uses:
            name = use.name.value if isinstance(use.name, Const) else None
            found.update((binder.site, name) for binder in use.context.env.maps)
    return found


def _leaves_out(view: FileView, route: Binding, name: object) -> bool:
    function = _function(route.binder)
    strings = strings_in_sight(view, function) if function is not None else None
    return strings is not None and name not in strings and not route.context.guarded


def _function(binder: Binder) -> Function | None:
    value: Value = binder.operand
    while isinstance(value, (Partial, Wrapped)):
        value = value.callee if isinstance(value, Partial) else value.operand
    return value if isinstance(value, Function) else None


def _fixes(view: FileView, whole: Site) -> tuple[Fix, ...]:
    """Removes the argument and the comma before it."""
    span = view.span(whole)
    source = view.texts[whole.path]
    before = source[: span.start].rstrip()
    if not before.endswith(b",") or b"=" not in source[span.start : span.end]:
        return ()
    edit = FileEdit(view.path_of(whole), Edit(Span(len(before) - 1, span.end), ""))
    return (Fix("remove the axis name", (edit,), "unsafe", "a collective may be missing instead"),)
