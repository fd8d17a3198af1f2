"""Wraps a function in `jax.jit(jax.shard_map(…))` on a two-axis mesh whose second axis splits nothing yet.

The result is the same as that of `wrap in shard_map`, except that the mesh has a second axis, "model", over which you
can then split the model. The batch is split along the first axis; devices along the second axis hold and compute the
same values.
The mesh has the shape of the target (`devices = "2x4"`).
If only the number of devices is set, the second axis has size 2.

`devices: 2x4`

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
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


@functools.cache
def device_mesh():
    \"\"\"Returns the mesh of all devices, created on first use.\"\"\"
    return Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("batch", "model"))


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


def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)


@on_all_devices(in_specs=(P(), P("batch")), out_specs=P())
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

from dataclasses import replace

from meshlens.assists.wrap_in_shard_map import wrap_in_shard_map
from meshlens.project.view import FileView
from meshlens.refactoring.model import Answer, Proposal, Refused, Wishes
from meshlens.text import Span

_TITLE = "wrap in shard_map on a two-axis mesh"
_SECOND = 2


def wrap_in_2d_shard_map(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on a function that can be wrapped in a shard_map."""
    sizes = _sizes(view, wishes)
    answer = wrap_in_shard_map(view, span, replace(wishes, devices=sizes or ()))
    if not isinstance(answer, Proposal):
        return None
    if sizes is None:
        message = 'the sizes of the mesh are unknown; set devices to an even number or a shape such as "2x4"'
        return Refused(_TITLE, "unknown-devices", message)
    return Proposal(f"wrap in shard_map on {'x'.join(map(str, sizes))} devices", answer.edits)


def _sizes(view: FileView, wishes: Wishes) -> tuple[int, ...] | None:
    """Returns the mesh sizes that the user or project sets, or n/2 and 2 for n devices; None if n is unknown or odd."""
    if len(wishes.devices) == _SECOND:
        return wishes.devices
    target = view.devices.target
    if target is not None and len(target.shape) == _SECOND and not wishes.devices:
        return target.shape
    count = wishes.devices[0] if wishes.devices else view.devices.count
    return (count // _SECOND, _SECOND) if count is not None and count > _SECOND and count % _SECOND == 0 else None
