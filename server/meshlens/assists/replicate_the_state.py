"""Copies fresh state to every device before it is passed to a pmap.

State from an `init` has no axis for the devices, so JAX raises an error or gives each device a slice of the parameters.
If a loop calls the pmap, the copies are made before the loop, because the state that a step returns already has that
axis.

`devices: 8`

`single.py`:

```python
import flax.linen as nn
import jax
import jax.numpy as jnp

model = nn.Dense(1)


def step(params, batch):
    grads = jax.grad(lambda p: jnp.mean(model.apply(p, batch) ** 2))(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


batch = (jnp.arange(48.0) / 48).reshape(8, 2, 3)
params = model.init(jax.random.key(0), batch[0])
for _ in range(3):
    params = step(params, batch.reshape(16, 3))
params = jax.tree.map(lambda p: jnp.stack([p] * 8), params)
```

`main.py`:

```python
import functools

import flax.linen as nn
import jax
import jax.numpy as jnp

model = nn.Dense(1)


@functools.partial(jax.pmap, axis_name="batch")
def step(params, batch):
    grads = jax.grad(lambda p: jnp.mean(model.apply(p, batch) ** 2))(params)
    grads = jax.lax.pmean(grads, axis_name="batch")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


batch = (jnp.arange(48.0) / 48).reshape(8, 2, 3)
params = model.init(jax.random.key(0), batch[0])
for _ in range(3):
    params = $0step(params, batch)
```

becomes

`main.py`:

```python
import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


def replicate(tree):
    \"\"\"Puts a copy of every array on each device, with a leading axis for the devices.\"\"\"
    devices = jax.local_devices()
    sharding = NamedSharding(Mesh(np.array(devices), ("devices",)), P("devices"))
    return jax.tree.map(lambda x: jax.device_put(jnp.stack([x] * len(devices)), sharding), tree)


model = nn.Dense(1)


@functools.partial(jax.pmap, axis_name="batch")
def step(params, batch):
    grads = jax.grad(lambda p: jnp.mean(model.apply(p, batch) ** 2))(params)
    grads = jax.lax.pmean(grads, axis_name="batch")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


batch = (jnp.arange(48.0) / 48).reshape(8, 2, 3)
params = model.init(jax.random.key(0), batch[0])
params = replicate(params)
for _ in range(3):
    params = step(params, batch)
```
"""

from __future__ import annotations

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import MappedCall
from meshlens.facts.nodes import AnnAssign, Assign, AugAssign, Call, For, FunctionDef, Lambda, Name, Walrus, While, With
from meshlens.project.trees import Node, names_bound, path_to, walk
from meshlens.project.view import FileView
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.maps.mapped_call import Handed, device_list, handed_over, mapped_call_at
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.model import Answer, Wishes
from meshlens.refactoring.offering import offered
from meshlens.refactoring.writing.sharding import replicate_helper
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import around, in_order, wrapping
from meshlens.text import Edit, FileEdit, Span

_TITLE = "copy the state to every device"
_LOOPS = (For, While)


def replicate_the_state(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on a call to a pmap with arguments that are newly created state."""
    calls = mapped_call_at(view, span)
    handed = list(handed_over(view, calls, span)) if calls else []
    chosen = [one for one in handed if one.some("fresh")]
    chosen = [one for one in chosen if one.pointed_at] or chosen
    if not chosen:
        return None
    return offered(_TITLE, lambda: _written(view, chosen, calls[0]))


def _written(view: FileView, chosen: list[Handed], call: MappedCall) -> tuple[FileEdit, ...]:
    spelling = Spelling(view, chosen[0].span.start)
    replicate, helper = replicate_helper(view, spelling, device_list(view, call, spelling))
    loop = _loop_around(view, call)
    edits: list[FileEdit] = []
    for one in chosen:
        if loop is None:
            edits += wrapping(view, one.span, f"{replicate}(", ")")
        else:
            edits.append(_before(view, one, call, loop, replicate))
    return in_order((*import_edits(view, spelling.needed), *helper, *edits))


def _loop_around(view: FileView, call: MappedCall) -> Node | None:
    """Returns the outermost loop around a call in its function."""
    found = None
    for node in path_to(view, call.call):
        if isinstance(node, (FunctionDef, Lambda)):
            found = None
        elif isinstance(node, _LOOPS) and found is None:
            found = node
    return found


def _before(view: FileView, handed: Handed, call: MappedCall, loop: Node, replicate: str) -> FileEdit:
    """Returns the edit that inserts a line before the loop to replicate the state.

    Raises:
        Obstacle: the state is not a variable, or the loop also sets the variable elsewhere.
    """
    if not isinstance(handed.node, Name):
        raise Obstacle("no-variable", "the state in this loop is not a variable; assign it to one before the loop")
    name = handed.node.name
    others = [
        node
        for node in walk(loop)
        if name in names_bound([node])
        and isinstance(node, (Assign, AnnAssign, AugAssign, With, Walrus))
        and not _stores(node, call)
    ]
    if others:
        raise Obstacle("made-in-loop", f'"{name}" is also set elsewhere in the loop')
    start = view.span(Site(call.call.path, call.call.block, loop.site)).start
    indent, _ = around(view, Span(start, start))
    return FileEdit(view.path, Edit(Span(start, start), f"{name} = {replicate}({name})\n{indent}"))


def _stores(node: Node, call: MappedCall) -> bool:
    return any(isinstance(inner, Call) and inner.site == call.call.index for inner in walk(node))
