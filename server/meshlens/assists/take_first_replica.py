"""Takes the first device's copy of a value that is equal on all devices, in code outside the map.

A pmap returns one copy per device of a reduced metric or of the training state; only one of them should be printed,
logged or saved.

`devices: 8`

```python
import functools

import jax
import jax.numpy as jnp
import numpy as np


@functools.partial(jax.pmap, axis_name="batch", in_axes=(None, 0))
def evaluate(params, x):
    loss = jnp.mean((x @ params) ** 2)
    return jax.lax.pmean({"loss": loss, "root": jnp.sqrt(loss)}, "batch")


metrics = evaluate(jnp.ones(3), jnp.ones((8, 4, 3)))
average = np.mean($0metrics["loss"])
```

becomes

```python
import functools

import jax
import jax.numpy as jnp
import numpy as np


@functools.partial(jax.pmap, axis_name="batch", in_axes=(None, 0))
def evaluate(params, x):
    loss = jnp.mean((x @ params) ** 2)
    return jax.lax.pmean({"loss": loss, "root": jnp.sqrt(loss)}, "batch")


metrics = evaluate(jnp.ones(3), jnp.ones((8, 4, 3)))
average = np.mean(metrics["loss"][0])
```
"""

from __future__ import annotations

from meshlens.project.view import FileView
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.maps.replicas import Replica, replica_at
from meshlens.refactoring.model import Answer, Proposal, Wishes
from meshlens.refactoring.writing.sharding import first_replica_helper
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import in_order, wrapping
from meshlens.text import FileEdit, Span

_TITLE = "take the first device's copy"


def take_first_replica(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on a variable that a pmap filled with copies, at a place that reads it."""
    found = replica_at(view, span)
    if found is None:
        return None
    edits = _written(view, found)
    return Proposal(_TITLE, lambda: edits)


def _written(view: FileView, replica: Replica) -> tuple[FileEdit, ...]:
    if replica.is_array:
        return tuple(wrapping(view, replica.span, "", "[0]"))
    spelling = Spelling(view, replica.span.start)
    name, helper = first_replica_helper(view, spelling)
    return in_order((*import_edits(view, spelling.needed), *helper, *wrapping(view, replica.span, f"{name}(", ")")))
