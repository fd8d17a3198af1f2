"""An operation combines arrays whose shardings over explicit axes are incompatible.

Over explicit axes, the default of `make_mesh` since JAX 0.9.0, an array's sharding is part of its type, and JAX derives
the sharding of each result from those of the operands.
If both operands of a product are split over the same mesh axis along the summed dimension, the result could be
either split or the same on all devices, and JAX asks you to choose: `ShardingTypeError: Contracting dimensions are
sharded and it is ambiguous how the output should be sharded. Please specify the output sharding via the `out_sharding`
parameter.`
JAX also raises an error if the operands of an elementwise operation are split over different mesh axes along the same
dimension, if the result would be split over one mesh axis along two dimensions, if the code slices a split dimension,
or if `scan` runs along a split dimension.

```python
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((2, 4), ("data", "model"))
with jax.set_mesh(mesh):
    h = jax.device_put(jnp.ones((16, 32)), P("data", "model"))
    down = jax.device_put(jnp.ones((32, 8)), P("model", None))
    print(jnp.einsum("bh,hd->bd", h, down))
    #     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ AX217: both arrays are split over "model" along the summed axis; pass \\
    #     out_sharding= to say how to split the result
```

To sum the parts of all devices, leave the mesh axis out of `out_sharding`:

```python
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((2, 4), ("data", "model"))
with jax.set_mesh(mesh):
    h = jax.device_put(jnp.ones((16, 32)), P("data", "model"))
    down = jax.device_put(jnp.ones((32, 8)), P("model", None))
    print(jnp.einsum("bh,hd->bd", h, down, out_sharding=P("data", None)))
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.data.typed_shardings import COMBINES, Entry, mesh_of, sharding_of
from meshlens.axes.domain.values import Const, Mesh, Seq
from meshlens.axes.runs.records import ApiCall
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_faults
from meshlens.jaxapi.meshes import OUT_SHARDING, PARTITION_SPEC
from meshlens.project.view import FileView
from meshlens.rules.helpers.renames import spelled
from meshlens.text import Edit, FileEdit, Span


@rule("AX217", Severity.ERROR, reads="places", state="preview")
def shardings_do_not_fit(view: FileView) -> Iterator[Finding]:
    """Reports operations on arrays whose shardings over explicit axes are incompatible."""
    for site, found in certain_faults(view, COMBINES, _why):
        mesh = next((mesh for arg in found.args if (mesh := mesh_of(arg.value)) is not None), None)
        related = (Related(view.path_of(mesh), view.span(mesh), "the axes of this mesh are explicit"),) if mesh else ()
        yield Finding(view.span(site), _why(found), _told(view, found), related)


def _why(call: ApiCall) -> str:
    said = call.result.items[0] if isinstance(call.result, Seq) else None
    return str(said.value) if isinstance(said, Const) else ""


def _told(view: FileView, call: ApiCall) -> tuple[Fix, ...]:
    """Returns the fix that specifies the sharding of the result, which is known only for a product."""
    result = call.result.items[1] if isinstance(call.result, Seq) else None
    found = sharding_of(result) if result is not None else None
    last = (call.args[-1].whole or call.args[-1].site) if call.args else None
    name = spelled(view, PARTITION_SPEC)
    is_current = isinstance(call.mesh, Mesh) and found is not None and call.mesh.site == found.mesh
    if found is None or not is_current or last is None or name is None:
        return ()
    if None in found.entries or not view.is_here(last):
        return ()
    spec = f"{name}({', '.join(map(_written, found.entries))})"
    end = view.span(last).end
    edit = Edit(Span(end, end), f", {OUT_SHARDING}={spec}")
    return (Fix(f"shard the result as {spec}", (FileEdit(view.path, edit),)),)


def _written(entry: Entry | None) -> str:
    """Returns the source text of a spec's entry."""
    if not entry:
        return "None"
    names = [f'"{name}"' for name in entry]
    return names[0] if len(names) == 1 else f"({', '.join(names)})"
