"""A loop carry, or what the branches of a condition return, is the same on all devices in one place but not in another.

In a checked `shard_map`, the carry of a `scan`, `fori_loop` or `while_loop` must keep its type, and whether it varies
over the devices is part of that type. Zeros are the same on all devices; if a step adds a value that is not, JAX raises
`TypeError: scan body function carry input and carry output must have equal types`.
Cast the initial value, for example with `jax.lax.pcast(jnp.zeros(()), "data", to="varying")`, or reduce the value in
the step. If a step reduces a value that starts out varying, reduce it at the start too.
The branches of `cond` and `switch` must agree in the same way, even if the condition is the same on all devices;
`jnp.zeros_like(x)` varies as `x` does, `jnp.zeros(x.shape)` does not.

```python
import jax
import jax.numpy as jnp
import numpy as np
from functools import partial
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))


@partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P())
def total(x):
    def add(carry, row):
        return carry + jnp.sum(row), None

    carry, _ = jax.lax.scan(add, jnp.zeros(()), x)
    #                            ^^^^^^^^^^^^^ AX406: this carry starts out the same on all devices, but varies over \\
    #                            "data" after a step; cast it to varying
    return jax.lax.psum(carry, "data")
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.variation import SOME_AXIS
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.registry import rule
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.project.view import FileView
from meshlens.rules.helpers.unbound import maps_that_lack_an_axis
from meshlens.text import Span

_CHECKED_SINCE = (0, 6, 0)
_MESSAGES = {
    "carried": "this carry starts out the same on all devices, but varies over {over} after a step; cast it to varying",
    "carried-reduced": "this carry starts out varying over {over}, but is the same on all devices after a step; "
    "reduce it at the start too",
    "branch-alike": "a value returned here is the same on all devices, but varies over {over} in another branch; "
    "cast it to varying",
}


@rule("AX406", Severity.ERROR, reads="places")
def carry_becomes_varying(view: FileView) -> Iterator[Finding]:
    """Reports each carry that varies only before or only after a step, and branches of which only one varies."""
    seen: set[Span] = set()
    lacking = maps_that_lack_an_axis(view.solution)
    # If carries swap places, both messages may apply to one place; the advice to cast comes first and is kept.
    uses = [use for use in view.records.gradient_uses if use.kind in _MESSAGES]
    for use in sorted(uses, key=lambda use: use.kind == "carried-reduced"):
        context = use.context
        if not view.is_here(use.site) or view.jax_version < _CHECKED_SINCE:
            continue
        if not context.sure or context.guarded or context.expected or context.conditional:
            continue
        if not lacking.isdisjoint(binder.site for binder in context.env.maps):
            continue
        span = view.span(use.site)
        if span in seen:
            continue
        seen.add(span)
        over = f'"{use.axis}"' if use.axis != SOME_AXIS else "the devices"
        binder = next(binder for binder in reversed(context.env.maps) if binder.kind in MAPS_ON_DEVICES)
        place = Related(view.path_of(binder.site), view.span(binder.site), "JAX checks varying types in this map")
        other = use.other if use.other != use.site else None
        related = [Related(view.path_of(other), view.span(other), "this branch varies")] if other is not None else []
        yield Finding(span, _MESSAGES[use.kind].format(over=over), (), (*related, place))
