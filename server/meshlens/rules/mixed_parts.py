"""A reshape mixes the parts of different devices.

A reshape keeps the order of the elements. To send the second axis of an array in parts, one for each of `n` devices,
split it with a reshape to `(a, n, c)` and move the axis `n` to the front; a reshape to `(n, a, c)` puts elements of
different parts together. Likewise, `all_gather` and `all_to_all` stack the devices' parts along a new first axis, which
must be moved next to the axis that it is merged with. JAX raises no error.

Weights that are concatenated along their columns, such as Q, K and V, have the same problem if the columns are then
split over devices: a device holds consecutive columns of the whole, so splitting its own columns into three parts does
not give its columns of Q, K and V.

```python
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def back(outputs):
    experts, rows, width = outputs.shape
    parts = outputs.reshape(8, experts, rows // 8, width)
    #       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ AX414: this reshape mixes \\
    #       the parts of the devices along "expert"; split the axis where it is, then move the new axis to the \\
    #       front (jnp.moveaxis)
    return jax.lax.all_to_all(parts, "expert", 0, 0)


mesh = jax.make_mesh((8,), ("expert",), axis_types=(jax.sharding.AxisType.Auto,))
mapped = jax.shard_map(back, mesh=mesh, in_specs=P("expert"), out_specs=P("expert"))
print(mapped(jnp.ones((16, 32, 4))).shape)
```

Split the axis where it is, then move the new axis to the front:

```python
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P


def back(outputs):
    experts, rows, width = outputs.shape
    parts = jnp.moveaxis(outputs.reshape(experts, 8, rows // 8, width), 1, 0)
    return jax.lax.all_to_all(parts, "expert", 0, 0)


mesh = jax.make_mesh((8,), ("expert",), axis_types=(jax.sharding.AxisType.Auto,))
mapped = jax.shard_map(back, mesh=mesh, in_specs=P("expert"), out_specs=P("expert"))
print(mapped(jnp.ones((16, 32, 4))).shape)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_uses
from meshlens.project.view import FileView

_MESSAGES = {
    "parts-mixed": (
        'this reshape mixes the parts of the devices along "{axis}"; '
        "split the axis where it is, then move the new axis to the front (jnp.moveaxis)"
    ),
    "stack-mixed": (
        'this reshape mixes the devices\' parts, which all_gather over "{axis}" stacked along dimension 0; '
        "move it in front of the dimension that was split (jnp.moveaxis)"
    ),
    "sent-stack-mixed": (
        'this reshape mixes the devices\' parts, which all_to_all over "{axis}" stacked along dimension 0; '
        "move it in front of the dimension that was split (jnp.moveaxis)"
    ),
    "joined-mixed": (
        'this reshape mixes the parts of the devices along "{axis}", which all_to_all put one after the other; '
        "use concat_axis=1 instead"
    ),
    "pieces-mixed": (
        'each device along "{axis}" splits its own columns, but whole arrays were concatenated before the columns were '
        "split; keep the arrays apart, or concatenate them for each device"
    ),
}


@rule("AX414", Severity.WARNING, reads="places", state="preview")
def mixed_parts(view: FileView) -> Iterator[Finding]:
    """Reports each reshape or split that certainly mixes the parts of different devices."""
    for use in certain_uses(view, _MESSAGES):
        place = use.other
        related = (Related(view.path_of(place), view.span(place), "concatenated here"),) if place is not None else ()
        yield Finding(view.span(use.site), _MESSAGES[use.kind].format(axis=use.axis), (), related)
