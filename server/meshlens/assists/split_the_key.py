"""Splits a PRNG key into one key per device in a call to a pmap.

A single key has no axis to map, so JAX raises an error or gives every device half a key.
With separate keys, the devices draw different numbers, as they should for dropout, noise and samples.

`devices: 8`

`single.py`:

```python
import jax
import jax.numpy as jnp

key = jax.random.key(0)
out = jnp.stack([jnp.ones(4) + 0.1 * jax.random.normal(one, (4,)) for one in jax.random.split(key, 8)])
```

`main.py`:

```python
import jax
import jax.numpy as jnp


@jax.pmap
def augment(x, key):
    return x + 0.1 * jax.random.normal(key, x.shape)


key = jax.random.key(0)
out = $0augment(jnp.ones((8, 4)), key)
```

becomes

`main.py`:

```python
import jax
import jax.numpy as jnp


@jax.pmap
def augment(x, key):
    return x + 0.1 * jax.random.normal(key, x.shape)


key = jax.random.key(0)
out = augment(jnp.ones((8, 4)), jax.random.split(key, jax.local_device_count()))
```
"""

from __future__ import annotations

from meshlens.axes.runs.records import MappedCall
from meshlens.project.view import FileView
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.maps.mapped_call import Handed, device_count, handed_over, mapped_call_at
from meshlens.refactoring.model import Answer, Wishes
from meshlens.refactoring.offering import offered
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import in_order, wrapping
from meshlens.text import FileEdit, Span

_TITLE = "split the key over the devices"


def split_the_key(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers the assist on a call to a pmap with arguments that are a single key."""
    calls = mapped_call_at(view, span)
    handed = list(handed_over(view, calls, span)) if calls else []
    chosen = [one for one in handed if one.every("key") and not one.some("keys")]
    chosen = [one for one in chosen if one.pointed_at] or chosen
    if not chosen:
        return None
    return offered(_TITLE, lambda: _written(view, chosen, calls[0]))


def _written(view: FileView, chosen: list[Handed], call: MappedCall) -> tuple[FileEdit, ...]:
    spelling = Spelling(view, chosen[0].span.start)
    split, count = spelling.of("jax", "random.split"), device_count(view, call, spelling)
    wrapped = [edit for one in chosen for edit in wrapping(view, one.span, f"{split}(", f", {count})")]
    return in_order((*import_edits(view, spelling.needed), *wrapped))
