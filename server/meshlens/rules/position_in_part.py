"""Positions within each device's part of an array are used as positions in the whole array.

In a map, `top_k`, `argmax` and `arange` count from the start of each device's own part.
Once the positions of all devices are gathered and the best of them are picked, nothing says which part each one came
from, so the result silently names the wrong rows.
The same happens if a contrastive loss compares a device's rows with those of all devices and uses `arange` to match
rows with columns: on every device but the first, those columns are the rows of another device.
Likewise, if each device takes its rows from an array that all devices hold, its slice must start at the device's index
times the number of rows in a slice; if it starts at the bare index, the slices overlap.
And if each device builds the coordinates of its part from the part's own size, as with `linspace(0, 1, x.shape[0])` or
`fftfreq(x.shape[0])`, all devices have the same few coordinates, or the frequencies of a smaller grid.
The same holds for phases, such as the twiddle factors `exp(-2j * pi * k * arange(n) / size)` of a Fourier transform.
If the offset is the device index times any other number than the size of a part, such as the number of devices, it
points to the wrong rows. Add the offset of the part first: `lax.axis_index(axis)` times the size of a part.

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("rows",))


def nearest(query, table):
    values, ids = lax.top_k(query @ table.T, 4)
    values = lax.all_gather(values, "rows", axis=1, tiled=True)
    ids = lax.all_gather(ids, "rows", axis=1, tiled=True)
    #     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ AX408: these positions are relative to the start of each \\
    #     device's part along "rows"; add lax.axis_index("rows") times the size of a part before gathering them
    best, where = lax.top_k(values, 4)
    return best, jnp.take_along_axis(ids, where, axis=1)


mapped = jax.shard_map(nearest, mesh=mesh, in_specs=(P(), P("rows")), out_specs=P(), check_vma=False)
```

Add the offset to the positions:

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("rows",))


def nearest(query, table):
    values, ids = lax.top_k(query @ table.T, 4)
    ids = ids + lax.axis_index("rows") * table.shape[0]
    values = lax.all_gather(values, "rows", axis=1, tiled=True)
    ids = lax.all_gather(ids, "rows", axis=1, tiled=True)
    best, where = lax.top_k(values, 4)
    return best, jnp.take_along_axis(ids, where, axis=1)


mapped = jax.shard_map(nearest, mesh=mesh, in_specs=(P(), P("rows")), out_specs=P(), check_vma=False)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.values import Site
from meshlens.checking.model import Finding, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_uses
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView

_MESSAGES = {
    "positions-picked": (
        'these positions are relative to the start of each device\'s part along "{axis}"; '
        'add lax.axis_index("{axis}") times the size of a part before gathering them'
    ),
    "own-rows-of-all": (
        'these positions count from 0 on each device, but the columns are the rows of all devices along "{axis}"; '
        'add lax.axis_index("{axis}") times the number of rows per device'
    ),
    "own-coordinates": (
        "these coordinates are computed from the size of a part, so they are the same on every device, but the "
        'dimension is split over "{axis}"; compute those of the whole dimension and take the slice that starts at '
        'lax.axis_index("{axis}") times the size of a part'
    ),
    "offset-of-part": (
        'the offset of each device\'s part along "{axis}" should be lax.axis_index("{axis}") times the size of a part, '
        "but the factor is another number"
    ),
    "offset-by-size": (
        'these numbers overlap between devices: multiply lax.axis_index("{axis}") by the number of rows per device, '
        "not by the number of devices"
    ),
    "slices-overlap": (
        "each slice has several rows but starts at the bare device index, so the slices overlap; multiply "
        'lax.axis_index("{axis}") by the number of rows in a slice'
    ),
}
"""The messages, by the kind of the recorded use."""


@rule("AX408", Severity.HINT, state="preview")
def position_in_part(view: FileView) -> Iterator[Finding]:
    """Reports positions that count from the start of a device's part, unless something is added to them later."""
    shifted = view.solution.once_of_records("positions that are shifted", _shifted)
    for use in certain_uses(view, _MESSAGES):
        if use.site not in shifted:
            yield Finding(view.span(use.site), _MESSAGES[use.kind].format(axis=use.axis))


def _shifted(solution: Solution) -> frozenset[Site]:
    """Returns the places that gather positions to which something is added later, perhaps the offsets."""
    uses = (use for records in solution.by_file.values() for use in records.gradient_uses)
    return frozenset([use.site for use in uses if use.kind == "positions-shifted"])
