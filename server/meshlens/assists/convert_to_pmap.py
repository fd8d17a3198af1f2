"""A function becomes a pmap, and its calls hand over the batch in one piece for each device.

What a step shares (parameters, state, scalars) keeps one copy with `in_axes=None`, and what every device computes alike
comes out once with `out_axes=None`, so that a training loop stays what it is; gradients are averaged over the devices
where they are taken.
The numbers are those of one device up to the order of the sums.
A function is refused where that cannot be had: if it draws random numbers or takes a key for them, returns rows that
differ between the devices, or if it is not known which of its arguments hold the batch.

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


def shard(tree):
    \"\"\"Splits the rows of every array into one block for each device.\"\"\"
    count = jax.local_device_count()

    def split(x):
        if x.shape[0] % count:
            raise ValueError(f"{x.shape[0]} rows do not split over {count} devices: take a multiple of {count}")
        return x.reshape(count, -1, *x.shape[1:])

    return jax.tree.map(split, tree)


def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)


@functools.partial(jax.pmap, axis_name="batch", in_axes=(None, 0), out_axes=None)
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    loss, grads = jax.lax.pmean((loss, grads), axis_name="batch")
    return params - 0.1 * grads, loss


params = jnp.ones(3)
for _ in range(3):
    params, loss = step(params, shard(jnp.arange(48.0).reshape(16, 3) / 48))
```
"""

from __future__ import annotations

from math import prod

from meshlens.assists._calls import PlainCall, wrapped
from meshlens.assists._devices import pmap_devices
from meshlens.assists._form import form_of
from meshlens.assists._functions import Target, function_at, maps_around, uses_jax
from meshlens.assists._mapped_by_pmap import mapped_by_pmap
from meshlens.assists._model import Answer, Wishes
from meshlens.assists._offering import offered
from meshlens.assists._sharding import shard_helper
from meshlens.assists._spelling import Spelling
from meshlens.assists._step import averaged, read_step
from meshlens.assists._writing import in_order
from meshlens.project.new_imports import import_edits
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span

_TITLE = "convert to pmap"


def convert_to_pmap(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers it on the name of a function that no map runs yet, where it is defined or used."""
    target = function_at(view, span)
    if target is None or not uses_jax(view, target) or maps_around(view, target):
        return None
    return offered(_TITLE, lambda: _written(view, target, span, wishes))


def _written(view: FileView, target: Target, span: Span, wishes: Wishes) -> tuple[FileEdit, ...]:
    form = form_of(view, target, span, wishes)
    step = read_step(view, target, wishes, form)
    spelling = Spelling(view, view.span(target.at(target.node[1])).start)
    name, applied = mapped_by_pmap(view, target, step, spelling, pmap_devices(wishes, spelling))
    averages = averaged(view, target, step, spelling)
    shard, helper = _shard(view, spelling, wishes) if form.calls else ("", ())
    calls = [edit for call in form.calls for edit in _sharded(view, call, step.axes, shard)]
    names = [FileEdit(view.path, Edit(view.span(call.use.site), name)) for call in form.calls if name]
    return in_order((*import_edits(view, spelling.needed), *helper, *applied, *averages, *names, *calls))


def _shard(view: FileView, spelling: Spelling, wishes: Wishes) -> tuple[str, tuple[FileEdit, ...]]:
    count = str(prod(wishes.devices)) if wishes.devices else f"{spelling.of('jax', 'local_device_count')}()"
    return shard_helper(view, spelling, count)


def _sharded(view: FileView, call: PlainCall, axes: tuple[int | None, ...], shard: str) -> list[FileEdit]:
    """Edits of one call after which the batch has one leading row for each device."""
    return [
        edit
        for place, axis in enumerate(axes)
        for edit in wrapped(view, call, place, shard if axis is not None else "")
    ]
