"""A function becomes `jax.jit(jax.shard_map(…))`: its batch is split over a mesh of all devices.

What the step shares gets the spec `P()`, its batch `P("batch")`, so the calls stay what they are: each device gets its
rows, and what all devices compute alike comes out once.
Gradients are averaged over the devices where they are taken; `check_vma=False` keeps `shard_map` from summing them by
itself.
The numbers are those of one device up to the order of the sums; where that cannot be had, the reason is given.

`devices: 8`

```python
import jax
import jax.numpy as jnp


def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)


@jax.jit
def $0step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    return params - 0.1 * grads, loss


params = jnp.ones(3)
for _ in range(3):
    params, loss = step(params, jnp.arange(48.0).reshape(16, 3) / 48)
```

becomes

```python
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P


def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)


mesh = Mesh(np.array(jax.devices()), ("batch",))


@jax.jit
@functools.partial(
    jax.shard_map, mesh=mesh, in_specs=(P(), P("batch")), out_specs=P(), check_vma=False
)
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    loss, grads = jax.lax.pmean((loss, grads), axis_name="batch")
    return params - 0.1 * grads, loss


params = jnp.ones(3)
for _ in range(3):
    params, loss = step(params, jnp.arange(48.0).reshape(16, 3) / 48)
```
"""

from __future__ import annotations

from meshlens.assists._devices import device_mesh
from meshlens.assists._form import as_decorator
from meshlens.assists._functions import Target, function_at, maps_around, may_use_jax, uses_libraries
from meshlens.assists._mentions import mentions_of
from meshlens.assists._mesh import mesh_name
from meshlens.assists._model import Answer, Proposal, Wishes
from meshlens.assists._offering import offered_as
from meshlens.assists._placing import place_before
from meshlens.assists._pmap import Obstacle
from meshlens.assists._prefix import Items, specs_text
from meshlens.assists._spelling import Spelling
from meshlens.assists._step import Step, averaged, read_step
from meshlens.assists._writing import Call, around, call_text, in_order, width_of
from meshlens.project.new_imports import import_edits
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span

_TITLE = "wrap in shard_map"


def wrap_in_shard_map(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers it on the name of a function that no map runs yet."""
    target = function_at(view, span)
    if target is None or not may_use_jax(view) or maps_around(view, target):
        return None
    answer = offered_as(_TITLE, lambda: _written(view, target, wishes))
    is_expected = uses_libraries(view, target) or bool(mentions_of(view, target.name))
    return answer if isinstance(answer, Proposal) or is_expected else None


def _title(step: Step) -> str:
    return f"{_TITLE} (each device draws its own random numbers)" if step.draws else _TITLE


def _written(view: FileView, target: Target, wishes: Wishes) -> tuple[str, tuple[FileEdit, ...]]:
    if target.is_method:
        raise Obstacle("method", f'"{target.name}" is a method, whose object shard_map would split')
    step = read_step(view, target, wishes, as_decorator(view, target, wishes))
    if step.folded is not None and step.folded.static:
        raise Obstacle("static-arguments", f'"{target.name}" has static arguments, which have no spec')
    if step.folded is not None and step.folded.keeps_objects:
        message = f'"{target.name}" takes modules of equinox, which hold more than arrays: use jit with sharding'
        raise Obstacle("objects", message)
    site = target.at(target.node[1])
    place = place_before(view, site)
    if place is None:
        raise Obstacle("no-place", "there is no place for a mesh before this function")
    spelling = Spelling(view, view.span(site).start)
    mesh = device_mesh(wishes, step.axis, spelling)
    name, before = mesh_name(view, mesh, site, place)
    averages = averaged(view, target, step, spelling)
    decorators = _decorators(view, target, step, spelling, name)
    return _title(step), in_order((*import_edits(view, spelling.needed), *before, decorators, *averages))


def _decorators(view: FileView, target: Target, step: Step, spelling: Spelling, mesh: str) -> FileEdit:
    spec = spelling.spec()
    out = Items("tuple", step.out) if isinstance(step.out, tuple) else step.out
    arguments = (
        spelling.shard_map(),
        f"mesh={mesh}",
        f"in_specs={specs_text(Items('tuple', step.axes), spec, step.axis)}",
        f"out_specs={specs_text(out, spec, step.axis)}",
        spelling.unchecked(),
    )
    start = view.span(target.at(target.node[1])).start
    indent, _ = around(view, Span(start, start))
    call = Call(spelling.of("functools", "partial"), arguments)
    text = call_text(call, indent, width_of(view), len(indent) + 1)
    if step.folded is not None:
        end = view.span(step.folded.site).end
        return FileEdit(view.path, Edit(Span(end, end), f"\n{indent}@{text}"))
    jit = spelling.of("jax", "jit")
    return FileEdit(view.path, Edit(Span(start, start), f"@{jit}\n{indent}@{text}\n{indent}"))
