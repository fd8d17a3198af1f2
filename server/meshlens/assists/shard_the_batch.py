"""Splits the batch in a call to a pmap into one block per device.

The batch may be a tree; every array in it is reshaped to `(devices, rows per device, …)`.
If the rows do not divide evenly over the devices, the new code raises an error that asks for a multiple of the device
count.
The assist is offered on a call if one of its arguments certainly has no axis for the devices, and on any mapped
argument under the cursor that does not look split already.

`devices: 8`

`single.py`:

```python
import jax.numpy as jnp

params = jnp.arange(3.0)
batch = {"x": jnp.arange(48.0).reshape(16, 3) / 48, "y": jnp.arange(16.0) / 16}
losses = jnp.full(8, jnp.mean((batch["x"] @ params - batch["y"]) ** 2))
```

`main.py`:

```python
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.pmap, axis_name="batch", in_axes=(None, 0))
def evaluate(params, batch):
    loss = jnp.mean((batch["x"] @ params - batch["y"]) ** 2)
    return jax.lax.pmean(loss, "batch")


params = jnp.arange(3.0)
batch = {"x": jnp.arange(48.0).reshape(16, 3) / 48, "y": jnp.arange(16.0) / 16}
losses = $0evaluate(params, batch)
```

becomes

`main.py`:

```python
import functools

import jax
import jax.numpy as jnp


def shard(tree):
    \"\"\"Splits the rows of every array into one block for each device.\"\"\"
    count = jax.local_device_count()

    def split(x):
        if x.shape[0] % count:
            raise ValueError(f"cannot split {x.shape[0]} rows over {count} devices; use a multiple of {count}")
        return x.reshape(count, -1, *x.shape[1:])

    return jax.tree.map(split, tree)


@functools.partial(jax.pmap, axis_name="batch", in_axes=(None, 0))
def evaluate(params, batch):
    loss = jnp.mean((batch["x"] @ params - batch["y"]) ** 2)
    return jax.lax.pmean(loss, "batch")


params = jnp.arange(3.0)
batch = {"x": jnp.arange(48.0).reshape(16, 3) / 48, "y": jnp.arange(16.0) / 16}
losses = evaluate(params, shard(batch))
```
"""

from __future__ import annotations

from meshlens.axes.runs.records import MappedCall
from meshlens.facts.nodes import Call, Constant, last_name
from meshlens.project.view import FileView
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.maps.mapped_call import Handed, device_count, handed_over, mapped_call_at
from meshlens.refactoring.model import Answer, Wishes
from meshlens.refactoring.offering import offered
from meshlens.refactoring.writing.sharding import shard_helper
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import in_order, wrapping
from meshlens.text import FileEdit, Span

_TITLE = "split the batch over the devices"
_SPLITS = ("shard", "split", "reshape", "replicate", "stack", "prefetch", "device_put", "broadcast")


def shard_the_batch(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on a call to a pmap with arguments that do not seem to have an axis for the devices."""
    calls = mapped_call_at(view, span)
    if not calls:
        return None
    handed = [one for one in handed_over(view, calls, span) if not one.every("fresh") and not one.every("key")]
    chosen = [one for one in handed if one.pointed_at and not _is_split(view, one)]
    chosen = chosen or [one for one in handed if _lacks_devices(view, one)]
    if not chosen:
        return None
    return offered(_TITLE, lambda: _written(view, chosen, calls[0]))


def _written(view: FileView, chosen: list[Handed], call: MappedCall) -> tuple[FileEdit, ...]:
    spelling = Spelling(view, chosen[0].span.start)
    shard, helper = shard_helper(view, spelling, device_count(view, call, spelling))
    wrapped = [edit for one in chosen for edit in wrapping(view, one.span, f"{shard}(", ")")]
    return in_order((*import_edits(view, spelling.needed), *helper, *wrapped))


def _lacks_devices(view: FileView, handed: Handed) -> bool:
    return bool(handed.rows) and view.devices.local_count not in (None, *handed.rows) and None not in handed.rows


def _is_split(view: FileView, handed: Handed) -> bool:
    """Returns whether an argument already has an axis for the devices, according to its size or source."""
    if handed.rows and view.devices.local_count in handed.rows:
        return True
    callee = last_name(handed.node.callee) if isinstance(handed.node, Call) else ""
    return any(word in callee for word in _SPLITS) or isinstance(handed.node, Constant)
