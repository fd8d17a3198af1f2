"""Splits a vmap's rows across all devices of a mesh; each device runs the vmap on its own rows.

Use it to run many seeds, tasks, particles or examples at once: the function that handles a single one does not change,
and neither do the calls.
A `jit` around the vmap is dropped, because `on_all_devices` already compiles. Arguments that all rows share are copied
to every device, and those that the function needs as Python values become static.

`devices: 8`

```python
import jax
import jax.numpy as jnp


def simulate(start, rate):
    x = start
    for _ in range(3):
        x = x + rate * jnp.sin(x)
    return x, jnp.abs(x - start).max()


simulate_all = jax.jit(jax.$0vmap(simulate, in_axes=(0, None)))
ends, moved = simulate_all(jnp.arange(48.0).reshape(16, 3), 0.1)
```

becomes

```python
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


@functools.cache
def device_mesh():
    \"\"\"Returns the mesh of all devices, created on first use.\"\"\"
    return Mesh(np.array(jax.devices()), ("batch",))


def on_all_devices(in_specs, out_specs, **options):
    \"\"\"Runs a function on all devices; rows that do not divide evenly are copied to all.\"\"\"

    def decorate(function):
        @functools.wraps(function)
        def run(*args):
            specs = in_specs[: len(args)]
            pairs = zip(args, specs, strict=True)
            batch = [arg for arg, spec in pairs if spec != P()]
            rows = {x.shape[0] for x in jax.tree.leaves(batch)}
            if len(rows) > 1:
                raise ValueError(f"the arrays of one batch have different numbers of rows: {sorted(rows)}")
            divides = all(count % device_mesh().shape["batch"] == 0 for count in rows)
            specs, out = (specs, out_specs) if divides else (P(), P())
            mapped = jax.shard_map(
                function,
                mesh=device_mesh(),
                in_specs=specs,
                out_specs=out,
                check_vma=False,
            )
            return mapped(*args)

        return jax.jit(run, **options)

    return decorate


def simulate(start, rate):
    x = start
    for _ in range(3):
        x = x + rate * jnp.sin(x)
    return x, jnp.abs(x - start).max()


simulate_all = on_all_devices(in_specs=(P("batch"), P()), out_specs=P("batch"))(
    jax.vmap(simulate, in_axes=(0, None))
)
ends, moved = simulate_all(jnp.arange(48.0).reshape(16, 3), 0.1)
```
"""

from __future__ import annotations

from meshlens.project.view import FileView
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.maps.pmap import Obstacle, Pmap, pmap_at
from meshlens.refactoring.maps.prefix import specs_text
from meshlens.refactoring.maps.vmap import (
    must_not_need_values,
    must_stand_outside_maps,
    needed_values,
    on_all,
    read_replaceable,
    rows_along,
)
from meshlens.refactoring.model import Answer, Proposal, Refused, Wishes
from meshlens.refactoring.reading.jit_around import Outer, jit_around
from meshlens.refactoring.writing.devices import device_mesh
from meshlens.refactoring.writing.on_devices import Wanted, shard_map_helper
from meshlens.refactoring.writing.sharding import OnMesh, mesh_helper
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import Call, in_order, listed, quoted
from meshlens.text import Edit, FileEdit, Span

_TITLE = "split the vmap over the devices with shard_map"
_DEFAULT = "batch"


def vmap_to_shard_map(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on a call to `jax.vmap`, on `jax.vmap` as a decorator, or on a decorated function's name."""
    binding = pmap_at(view, span, "jax.vmap")
    if binding is None:
        return None
    try:
        outer = jit_around(view, binding)
        vmap = read_replaceable(view, binding)
        must_stand_outside_maps(view, vmap)
        edits = _written(view, vmap, outer, wishes)
    except Obstacle as obstacle:
        return Refused(_TITLE, obstacle.code, obstacle.message)
    return Proposal(_TITLE, lambda: edits)


def _written(view: FileView, vmap: Pmap, outer: Outer | None, wishes: Wishes) -> tuple[FileEdit, ...]:
    along = rows_along(vmap)
    if along is None:
        raise Obstacle("unknown-rows", _why_not_along(vmap))
    if outer is not None and outer.arguments:
        raise Obstacle("jit-arguments", "the jit around this vmap has arguments; remove them first")
    static = needed_values(view, vmap) if outer is None else ()
    if any(along[place] is not None for place in static if place < len(along)):
        raise Obstacle("python-value", "the mapped function needs one of the mapped arguments as a Python value")
    if outer is None:
        must_not_need_values(view, vmap, static)
    span = outer.span if outer is not None else view.span(vmap.binder.site)
    spelling = Spelling(view, span.start)
    axis = quoted(view, wishes.axis_name or wishes.usual_axis_name or _DEFAULT)
    mesh = OnMesh(device_mesh(wishes, axis, spelling), axis)
    called, made = mesh_helper(view, spelling, mesh)
    wanted = Wanted(outer.library if outer is not None else "jax", static=bool(static))
    name, helper = shard_map_helper(view, spelling, mesh, called, wanted)
    spec = spelling.spec()
    specs = ["None" if place in static else specs_text(one, spec, axis) for place, one in enumerate(along)]
    given = [f"in_specs={listed(specs)}", f"out_specs={specs_text(0, spec, axis)}"]
    given += [f"static_argnums={listed(static)}"] if static else []
    text = on_all(view, vmap, span, Call(name, tuple(given)))
    return in_order((*import_edits(view, spelling.needed), *made, *helper, FileEdit(view.path, Edit(span, text))))


def _why_not_along(vmap: Pmap) -> str:
    """Returns why the rows of a vmap cannot be split."""
    if vmap.given("axis_name") is not None:
        return "this vmap binds an axis name, so its collectives would have to cross devices"
    if any(arg.label is not None for call in vmap.calls for arg in call.args):
        return "a call passes rows by keyword; pass them by position"
    if vmap.out_axes != 0:
        return "the rows of the result are not on axis 0; remove out_axes"
    return "in_axes must be 0 or None for each argument; move the rows to axis 0"
