"""Converts a pmap of a pmap to one `shard_map` on a mesh with two axes.

JAX has rejected nested pmaps since 0.8.0; before that, they gave the same results as the converted program.
The outer and the inner axis become the axes of the mesh, and an argument that both pmaps map is split along both axes.
The outer pmap must map the inner pmap directly: any other code in the outer function would see shards.

`devices: 8`, `raises: ValueError`

```python
import jax
import jax.numpy as jnp


def normalize(x):
    return x - jax.lax.pmean(x, ("host", "chip"))


f = jax.$0pmap(jax.pmap(normalize, axis_name="chip"), axis_name="host")
x = jnp.arange(24.0).reshape(2, 4, 3)
out = f(x)
assert jnp.allclose(out, x - x.mean(axis=(0, 1)))
```

becomes

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


def without_mapped_axis(function, in_axes=0, out_axes=0):
    \"\"\"Calls a function as pmap does: without the mapped axis, which has size 1 on a shard.\"\"\"

    def each(change, axes, values):
        def leaves(axis, value):
            return value if axis is None else jax.tree.map(lambda x: change(x, axis), value)

        return jax.tree.map(leaves, axes, values, is_leaf=lambda axis: axis is None)

    def on_shard(*args):
        return each(jnp.expand_dims, out_axes, function(*each(jnp.squeeze, in_axes, args)))

    return on_shard


def normalize(x):
    return x - jax.lax.pmean(x, ("host", "chip"))


mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("host", "chip"))
f = jax.jit(
    jax.shard_map(
        without_mapped_axis(without_mapped_axis(normalize)),
        mesh=mesh,
        in_specs=(P("host", "chip"),),
        out_specs=P("host", "chip"),
        check_vma=False,
    )
)
x = jnp.arange(24.0).reshape(2, 4, 3)
out = f(x)
assert jnp.allclose(out, x - x.mean(axis=(0, 1)))
```
"""

from __future__ import annotations

from math import prod

from meshlens.project.view import FileView
from meshlens.refactoring.maps.nested import Axes, Nest, nest_at, specs_of
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.maps.readable import (
    must_be_spelled_here,
    must_be_the_real_pmap,
    must_not_be_unwrapped,
    must_run_in_one_process,
)
from meshlens.refactoring.model import Answer, Refused, Wishes
from meshlens.refactoring.together import in_parts
from meshlens.refactoring.writing.application import Layer, applied, kept
from meshlens.refactoring.writing.mapped_axis import mapped_axis_helper
from meshlens.refactoring.writing.mesh import axis_text
from meshlens.refactoring.writing.mesh_on_call import mesh_for
from meshlens.refactoring.writing.placing import place_before
from meshlens.refactoring.writing.sharding import OnMesh
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.text import FileEdit, Span

_TITLE = "convert nested pmaps to one shard_map"
_AXES = 2


def nested_pmap_to_shard_map(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on two nested applications of `jax.pmap`."""
    try:
        nest = nest_at(view, span)
        if nest is None:
            return None
        must_be_spelled_here(view, nest.outer.binding)
        must_be_spelled_here(view, nest.inner.binding)
        must_be_the_real_pmap(view, nest.outer)
        must_not_be_unwrapped(view, nest.outer.binding)
        must_not_be_unwrapped(view, nest.inner.binding)
        must_run_in_one_process(
            view, nest.outer, "each process passes pmap its own rows, but shard_map takes the rows of all processes"
        )
        spelling = Spelling(view, view.span(nest.outer.binder.site).start)
        edits = _written(view, nest, wishes, spelling)
    except Obstacle as obstacle:
        return Refused(_TITLE, obstacle.code, obstacle.message)
    return in_parts(_TITLE, view, spelling, edits)


def _written(view: FileView, nest: Nest, wishes: Wishes, spelling: Spelling) -> tuple[FileEdit, ...]:
    place = place_before(view, nest.outer.binder.site)
    names = (axis_text(view, nest.outer, place), axis_text(view, nest.inner, place))
    if names[0] == names[1]:
        raise Obstacle("same-axis", "both pmaps have the same axis name, or neither has one; give each its own")
    axes = nest.in_axes(view)
    made = OnMesh(_mesh(view, nest, axes, names, wishes, spelling), names[0])
    mesh = mesh_for(view, spelling, made, nest.outer)
    spec = spelling.spec()
    helper, helper_edits = mapped_axis_helper(view, spelling)
    layers = (
        Layer(spelling.of("jax", "jit"), kept(view, "donate_argnums", nest.outer.given("donate_argnums"))),
        Layer(
            mesh.shard_map,
            (
                f"mesh={mesh.mesh}",
                f"in_specs={specs_of(axes, spec, names)}",
                f"out_specs={specs_of(nest.out_axes(), spec, names)}",
                spelling.unchecked(),
            ),
        ),
        *(Layer(helper, one.written(view)) for one in (nest.outer_axes, nest.inner_axes)),
    )
    edit = applied(view, nest.inner.binding, layers, spelling, nest.span)
    return (*helper_edits, *mesh.edits, edit)


def _mesh(
    view: FileView, nest: Nest, axes: tuple[Axes, ...], names: tuple[str, str], wishes: Wishes, spelling: Spelling
) -> str:
    sizes: tuple[int, ...] | None = wishes.devices if len(wishes.devices) == _AXES else nest.sizes(axes)
    target = view.devices.target
    if sizes is None and target is not None and len(target.shape) == _AXES:
        sizes = target.shape
    if sizes is None:
        raise Obstacle("unknown-sizes", 'the sizes of the two axes are unknown; set devices to both sizes, as in "2x4"')
    devices = f"{spelling.of('jax', 'devices')}()"
    if view.devices.count != prod(sizes):
        devices = f"{devices}[:{prod(sizes)}]"
    shape = ", ".join(map(str, sizes))
    return f"{spelling.mesh()}({spelling.numpy('array')}({devices}).reshape({shape}), ({', '.join(names)}))"
