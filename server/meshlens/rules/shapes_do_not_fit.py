"""Arrays in a map have incompatible per-device shapes.

In `shard_map` and `pmap`, a function sees one device's part of each array, and a collective may change the shape of
that part: an `all_gather` or `all_to_all` without `tiled=True` inserts an axis.
A spec that splits the wrong axis of a matrix also leaves parts that no longer fit the other operands: `TypeError:
dot_general requires contracting dimensions to have the same shape, got (8,) and (2,).`
If the array shapes are known, the rule checks elementwise operations, products, `einsum`, `concatenate`, `stack` and
`reshape` inside maps.

`devices: 8`

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "model"))


def project(x, w):
    return x @ w
    #      ^^^^^ AX213: on each device these have shapes (8, 16) and (4, 32), which are incompatible


project = jax.shard_map(project, mesh=mesh, in_specs=(P("data"), P("model")), out_specs=P("data", "model"))
print(project(jnp.ones((16, 16)), jnp.ones((16, 32))))
```

If the spec splits the columns of the matrix instead, each device has all of its rows:

`devices: 8`

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "model"))


def project(x, w):
    return x @ w


project = jax.shard_map(project, mesh=mesh, in_specs=(P("data"), P(None, "model")), out_specs=P("data", "model"))
print(project(jnp.ones((16, 16)), jnp.ones((16, 32))))
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.data.fitting import COMBINES, misfit
from meshlens.axes.runs.records import ApiCall
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_faults
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.project.view import FileView


@rule("AX213", Severity.ERROR, reads="places")
def shapes_do_not_fit(view: FileView) -> Iterator[Finding]:
    """Compares the per-device shapes of arrays that code in a map combines."""
    for site, found in certain_faults(view, COMBINES, _why):
        maps = [binder for binder in reversed(found.context.env.maps) if binder.kind in MAPS_ON_DEVICES]
        related = tuple(
            Related(view.path_of(binder.site), view.span(binder.site), "mapped over devices here")
            for binder in maps[:1]
        )
        yield Finding(view.span(site), _why(found), (), related)


def _why(call: ApiCall) -> str:
    return misfit(call.dotted.removeprefix(COMBINES), call.args) or ""
