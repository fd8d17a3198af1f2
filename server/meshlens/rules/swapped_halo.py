"""Rows that a device receives from a neighbor are joined to the wrong end of its own rows, or are the wrong rows.

In a halo exchange, each device gets the rows next to its part: the last rows of the previous device at the front, and
the first rows of the next device at the back. If the edges or the directions are swapped, the shapes are still right,
but a stencil silently computes with the wrong rows.
If each part holds copies of its neighbors' rows at its ends, the exchange overwrites these copies, so each device must
send the rows next to them. In two dimensions, a stencil that reads the neighbors of a cell at an angle also needs the
corners. They come along if the second exchange sends whole sides of the array into which the first one has written;
otherwise, they stay zero.

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("x",))


def shifted(rows, by):
    n = lax.axis_size("x")
    return lax.ppermute(rows, "x", [(i, (i + by) % n) for i in range(n)])


def smooth(u):
    before, after = shifted(u[:1], 1), shifted(u[-1:], -1)
    padded = jnp.concatenate([before, u, after])
    #        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ AX412: the rows at the front should be the last rows of the previous \\
    #        device along "x"
    return (padded[:-2] + padded[2:]) / 2


mapped = jax.shard_map(smooth, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
```

Each device sends its last row to the next one, and its first row to the previous one:

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("x",))


def shifted(rows, by):
    n = lax.axis_size("x")
    return lax.ppermute(rows, "x", [(i, (i + by) % n) for i in range(n)])


def smooth(u):
    before, after = shifted(u[-1:], 1), shifted(u[:1], -1)
    padded = jnp.concatenate([before, u, after])
    return (padded[:-2] + padded[2:]) / 2


mapped = jax.shard_map(smooth, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.data.halos import GHOST_SENT, HALO_PAST_GAP
from meshlens.checking.model import Finding, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_uses
from meshlens.project.view import FileView

_MESSAGES = {
    "halo-at-front": 'the rows at the front should be the last rows of the previous device along "{axis}"',
    "halo-at-back": 'the rows at the back should be the first rows of the next device along "{axis}"',
    GHOST_SENT: (
        'the rows sent along "{axis}" are ghost rows, which the exchange overwrites; send the rows next to them, '
        "which the device computes itself"
    ),
    HALO_PAST_GAP: (
        'the rows sent along "{axis}" are not those at the edge, so there is a gap between them and the rows that the '
        "receiver joins them to"
    ),
    "corners-read": (
        'the corners of the padded array stay zero, but the stencil reads them; send along "{axis}" the sides of the '
        "padded array, which the exchange before has filled"
    ),
}
"""The messages, by the kind of the recorded use."""


@rule("AX412", Severity.WARNING, reads="places", state="preview")
def swapped_halo(view: FileView) -> Iterator[Finding]:
    """Reports joined rows if some come from the wrong neighbor, or from the wrong end of the correct neighbor."""
    for use in certain_uses(view, _MESSAGES):
        severity = Severity.HINT if use.kind == HALO_PAST_GAP else None
        yield Finding(view.span(use.site), _MESSAGES[use.kind].format(axis=use.axis), severity=severity)
