"""An `all_to_all` splits an array axis whose size does not fit the number of devices.

With `tiled=True`, each device gets an equal part, so the size of `split_axis` must be a multiple of the number of
devices along the named axis; otherwise, JAX raises `ValueError: The size of all_to_all split_axis (6) has to be
divisible by the size of the named axis expert (8)`.
Without `tiled=True`, each device gets the slice at one index, so the size must equal the number of devices; otherwise,
JAX raises `ValueError: all_to_all requires the size of the mapped axis axis_name to equal x.shape[split_axis], but they
are 8 and 16 respectively.`
The rule checks `psum_scatter` in the same way.

`devices: 8`

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(8), ("seq",))


def heads_first(x):
    return jax.lax.all_to_all(x, "seq", split_axis=2, concat_axis=1, tiled=True)
    #                                   ^^^^^^^^^^^^ AX210: axis 2 has size 6, which does not divide evenly over 8 \\
    #                                   devices along "seq"


spec = P(None, "seq")
attend = jax.shard_map(heads_first, mesh=mesh, in_specs=spec, out_specs=spec)
print(attend(jnp.ones((2, 16, 6, 4))).shape)
```

With eight heads, each device gets one:

`devices: 8`

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(8), ("seq",))


def heads_first(x):
    return jax.lax.all_to_all(x, "seq", split_axis=2, concat_axis=1, tiled=True)


spec = P(None, "seq")
attend = jax.shard_map(heads_first, mesh=mesh, in_specs=spec, out_specs=spec)
print(attend(jnp.ones((2, 16, 8, 4))).shape)
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.data.collected_shapes import flag, integer
from meshlens.axes.domain.axis_sizes import size_along_all
from meshlens.axes.domain.values import Site
from meshlens.axes.jax.collecting import names_of
from meshlens.axes.runs.records import AxisUse
from meshlens.checking.counting import counted
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.places import quoted
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.project.view import FileView

_SPLIT = {"all_to_all": "split_axis", "psum_scatter": "scatter_dimension"}
_CONCAT = "concat_axis"


@rule("AX210", Severity.ERROR, reads="places")
def all_to_all_sizes(view: FileView) -> Iterator[Finding]:
    """Compares the axis that each `all_to_all` or `psum_scatter` splits with the number of devices."""
    by_call: dict[Site, list[AxisUse]] = defaultdict(list)
    for use in view.records.uses:
        if use.kind in _SPLIT and view.is_here(use.call):
            by_call[use.call].append(use)
    for call, uses in by_call.items():
        found = certain((use, use.context, _judged(use)) for use in uses)
        said = _complaint(found) if found is not None else None
        if found is None or said is None:
            continue
        parameter, message = said
        arg = dict(found.arguments).get(parameter)
        site = arg.whole if arg is not None and view.is_here(arg.whole) else call
        names = names_of(found.whole)
        maps = [binder for binder in (found.context.env.binder_of(name) for name in names) if binder is not None]
        related = tuple(
            Related(view.path_of(binder.site), view.span(binder.site), f"mapped over {quoted(names)} here")
            for binder in maps[:1]
        )
        assert site is not None
        yield Finding(view.span(site), message, (), related)


def _judged(use: AxisUse) -> bool | None:
    """Returns whether a collective certainly fails; None if the sizes are unknown."""
    found = dict(use.arguments)
    shape = shape_of(found["x"].value) if "x" in found else None
    if shape is None:
        return None
    return True if _complaint(use) is not None else None if None in shape else False


def _complaint(use: AxisUse) -> tuple[str, str] | None:
    found = dict(use.arguments)
    shape = shape_of(found["x"].value) if "x" in found else None
    if shape is None or "axis_index_groups" in found or "*" in found or "**" in found:
        return None
    parameter = _SPLIT[use.kind]
    for name in (parameter, _CONCAT) if use.kind == "all_to_all" else (parameter,):
        axis = integer(found, name, 0 if use.kind == "psum_scatter" else None)
        if axis is not None and not -len(shape) <= axis < len(shape):
            return name, f"axis {axis} does not exist; the array has {counted(len(shape), 'axis', 'axes')}"
    axis = integer(found, parameter, 0 if use.kind == "psum_scatter" else None)
    names, tiled = names_of(use.whole), flag(found, "tiled")
    size = shape[axis] if axis is not None else None
    count = size_along_all(use.context.env, names)
    if size is None or count is None or tiled is None:
        return None
    if tiled and size % count:
        return (
            parameter,
            f"axis {axis} has size {size}, which does not divide evenly over {count} devices along {quoted(names)}",
        )
    if not tiled and size != count:
        wanted = f"without tiled=True, it must be {count}, the number of devices along {quoted(names)}"
        return parameter, f"axis {axis} has size {size}; {wanted}"
    return None
