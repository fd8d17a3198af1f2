"""An inner map binds an axis name that is already bound.

Inside the inner map, the name refers only to the inner axis: a collective over it reduces over that axis, and nothing
can refer to the outer one.
JAX reports nothing, and the numbers are wrong. Only inside a checked `shard_map` does a collective over the name raise
a `ValueError` (`psum is a variant->invariant collective`, JAX 0.9 and later).
If the code reduces over the outer axis outside the inner map, or if nothing in the inner map uses the name, the code is
correct and the finding is a hint.

```python
import jax
import jax.numpy as jnp


def loss(x):
    return jax.lax.pmean(x, "batch")


@jax.jit
def mean_loss(xs):
    return jax.vmap(jax.vmap(loss, axis_name="batch"), axis_name="batch")(xs)
    #                                        ^^^^^^^ AX102: axis "batch" is already bound by the enclosing vmap


print(mean_loss(jnp.ones((4, 2))))
```

Give each map its own axis name, and reduce over both if you mean both:

```python
import jax
import jax.numpy as jnp


def loss(x):
    return jax.lax.pmean(x, ("batch", "view"))


@jax.jit
def mean_loss(xs):
    return jax.vmap(jax.vmap(loss, axis_name="view"), axis_name="batch")(xs)


print(mean_loss(jnp.ones((4, 2))))
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.values import Binder, Const, Site
from meshlens.axes.runs.records import MappedCall, literal_name
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.registry import rule
from meshlens.project.solving.solution import Solution
from meshlens.project.trees import callee_of
from meshlens.project.view import FileView

_NAMED_BY_ARGUMENT = frozenset({"pmap", "vmap", "smap"})


@rule("AX102", Severity.WARNING)
def shadowed_axis(view: FileView) -> Iterator[Finding]:
    """Reports each map that certainly runs where its own axis name is already bound."""
    seen: set[tuple[Site, str]] = set()
    for call in view.records.mapped_calls:
        binder = call.binder
        if binder.kind not in _NAMED_BY_ARGUMENT or not _is_certain(call):
            continue
        for name in binder.names:
            outer = call.context.env.binder_of(name.value)
            if outer is None or outer.site == binder.site:
                continue
            site = _where_named(binder, name)
            site = site if view.is_here(site) else callee_of(view, call.call)
            if (site, name.value) not in seen:
                seen.add((site, name.value))
                uses = view.solution.once_of_records("binders-of-uses", _used)
                is_meant = (outer.site, name.value) in uses or (binder.site, name.value) not in uses
                yield _finding(view, site, name.value, outer, Severity.HINT if is_meant else Severity.WARNING)


def _used(solution: Solution) -> frozenset[tuple[Site, str]]:
    """Returns the maps whose axis names are used by a collective, each with the axis name."""
    found: set[tuple[Site, str]] = set()
    for records in solution.by_file.values():
        for use in records.uses:
            name = literal_name(use.name)
            binder = use.context.env.binder_of(name) if name is not None else None
            if binder is not None and name is not None:
                found.add((binder.site, name))
    return frozenset(found)


def _is_certain(call: MappedCall) -> bool:
    context = call.context
    told = context.guarded or context.expected or context.conditional
    return call.visible and context.sure and not told


def _where_named(binder: Binder, name: Const) -> Site:
    given = binder.argument("axis_name")
    if given is not None and given.site is not None:
        return given.site
    return name.origin if name.origin is not None else binder.site


def _finding(view: FileView, site: Site, name: str, outer: Binder, severity: Severity) -> Finding:
    message = f'axis "{name}" is already bound by the enclosing {outer.kind}'
    place = Related(view.path_of(outer.site), view.span(outer.site), f'axis "{name}" is first bound here')
    return Finding(view.span(site), message, (), (place,), severity)
