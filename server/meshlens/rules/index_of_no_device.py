"""A device's index is compared with a number that no device has.

`lax.axis_index(axis)` runs from 0 to the number of devices along the axis minus 1. A comparison such as
`lax.axis_index(axis) == lax.axis_size(axis)` is false on every device, so what is meant for the last device, such as a
boundary condition, is never applied, and the result is silently wrong.

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((8,), ("x",))


def padded(u):
    n, i = lax.axis_size("x"), lax.axis_index("x")
    left = lax.ppermute(u[-1:], "x", [(j, j + 1) for j in range(n - 1)])
    right = lax.ppermute(u[:1], "x", [(j + 1, j) for j in range(n - 1)])
    left = jnp.where(i == 0, u[:1], left)
    right = jnp.where(i == n, u[-1:], right)
    #                 ^^^^^^ AX416: lax.axis_index("x") runs from 0 to lax.axis_size("x") - 1, so this comparison is \\
    #                 true on no device
    return jnp.concatenate([left, u, right])


mapped = jax.shard_map(padded, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
```

The last device has the index `n - 1`:

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((8,), ("x",))


def padded(u):
    n, i = lax.axis_size("x"), lax.axis_index("x")
    left = lax.ppermute(u[-1:], "x", [(j, j + 1) for j in range(n - 1)])
    right = lax.ppermute(u[:1], "x", [(j + 1, j) for j in range(n - 1)])
    left = jnp.where(i == 0, u[:1], left)
    right = jnp.where(i == n - 1, u[-1:], right)
    return jnp.concatenate([left, u, right])


mapped = jax.shard_map(padded, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
```

The rule is silent if the same comparison may be true on a device in another call, as in a helper for several axes.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.values import Site
from meshlens.checking.model import Finding, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_uses
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView

_ON = {"index-never": "no device", "index-always": "every device"}
"""The devices on which a comparison is true, by the kind of the recorded use."""


@rule("AX416", Severity.HINT, state="preview")
def index_of_no_device(view: FileView) -> Iterator[Finding]:
    """Reports comparisons with the device's index whose outcome is certainly the same on all devices."""
    met = view.solution.once_of_records("comparisons with indices of devices", _met)
    for use in certain_uses(view, _ON):
        if use.site not in met:
            text = (
                f'lax.axis_index("{use.axis}") runs from 0 to lax.axis_size("{use.axis}") - 1, so this comparison is '
            )
            yield Finding(view.span(use.site), f"{text}true on {_ON[use.kind]}")


def _met(solution: Solution) -> frozenset[Site]:
    """Returns the comparisons whose outcome may differ between devices on some route."""
    uses = (use for records in solution.by_file.values() for use in records.gradient_uses)
    return frozenset([use.site for use in uses if use.kind == "index-met"])
