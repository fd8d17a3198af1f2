"""The pieces of an array are put on other devices than its sharding assigns them to.

`jax.make_array_from_single_device_arrays` takes each device's piece as it is and checks only shapes.
If the pieces are numbered otherwise than the sharding does it, rows are missing from the array, others are in it twice,
and devices that should hold copies hold different rows.
In the order of `mesh.devices.flat`, the last axis of the mesh changes fastest: on a mesh of 4 × 2 devices, the place of
a device divided by 2 is its index along the first axis, and the remainder is its index along the second.

```python
import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"))
batch = np.arange(16.0)
rows = batch.shape[0] // mesh.shape["data"]
pieces = []
for place, device in enumerate(mesh.devices.flat):
    block = place % mesh.shape["data"]
    pieces.append(jax.device_put(batch[block * rows : (block + 1) * rows], device))
    #                                  ^^^^^ AX419: device 1 of the mesh gets block 1, but the sharding assigns \\
    #                                  it block 0, so rows of the array are missing or in another place
x = jax.make_array_from_single_device_arrays(batch.shape, NamedSharding(mesh, P("data")), pieces)
```

Divide by the size of the axes that come after it:

```python
import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"))
batch = np.arange(16.0)
rows = batch.shape[0] // mesh.shape["data"]
pieces = []
for place, device in enumerate(mesh.devices.flat):
    block = place // mesh.shape["model"]
    pieces.append(jax.device_put(batch[block * rows : (block + 1) * rows], device))
x = jax.make_array_from_single_device_arrays(batch.shape, NamedSharding(mesh, P("data")), pieces)
```

`jax.make_array_from_callback` computes the index of each piece from the sharding.
If its callback reads successive steps of a data set, each step must move on by the rows of the whole array: with
`start = step * (rows.stop - rows.start) + rows.start`, successive arrays overlap. A callback that returns the rows
`: stop - start` gives every device the first ones.

The rule computes the number of each device's block, from the device's place in `mesh.devices.flat` or from its index in
`np.ndenumerate(mesh.devices)`, if the sizes of the mesh and the spec are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from meshlens.axes.domain.joining import options
from meshlens.axes.domain.specs import sharding_parts
from meshlens.axes.domain.values import Const, Mesh, Seq, Site, Spec, Value
from meshlens.axes.runs.records import ApiCall
from meshlens.checking.model import Finding, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.project.view import FileView
from meshlens.rules.terms.pieces import ASSEMBLES, FETCHES, Piece, Window, blocks_assigned, blocks_of
from meshlens.rules.terms.reading import assembled_in

_MESSAGE = (
    "device {place} of the mesh gets block {given}, but the sharding assigns it block {assigned}, so rows of the array "
    "are missing or in another place"
)


_OVERLAP = (
    "each step moves on by the rows of one device, but all devices together read more, so the arrays of successive "
    "steps overlap; move on by the rows of the whole array"
)


_FIRST_ROWS = (
    "the rows that the callback returns do not depend on where the device's part starts, so every device gets the "
    "first rows; index with the slice itself"
)


class _Sharding(NamedTuple):
    """A sharding on a mesh of known sizes."""

    names: list[str]
    sizes: list[int]
    spec: Value


class _Block(NamedTuple):
    """The block that a device gets, and the one that the sharding assigns to it."""

    place: int
    given: int
    assigned: int


@rule("AX419", Severity.WARNING, state="preview")
def misplaced_pieces(view: FileView) -> Iterator[Finding]:
    """Reports pieces on other devices than the sharding says, and callbacks that read overlapping rows in each step."""
    records = [call for call in view.records.calls if call.dotted in (ASSEMBLES, FETCHES) and not call.guarded]
    if not records:
        return
    found: dict[Site, str] = {}
    assemblies, windows = assembled_in(view)
    for assembly in assemblies:
        blocks = [(call, _misplaced(assembly.piece, call)) for call in records if call.call == assembly.call]
        block = certain([(one, call.context, one and one.given != one.assigned) for call, one in blocks])
        if block is not None and assembly.piece.block.site is not None:
            found.setdefault(assembly.piece.block.site, _MESSAGE.format(**block._asdict()))
    for window in windows:
        here = [call for call in records if call.call == window.call]
        place = certain([(window.rows.site, call.context, _is_split(window, call)) for call in here])
        if place is not None:
            found.setdefault(place, _FIRST_ROWS if window.is_first else _OVERLAP)
    for site, message in found.items():
        if view.is_here(site):
            yield Finding(view.span(site), message)


def _is_split(window: Window, call: ApiCall) -> bool | None:
    """Returns whether a sharding splits the rows of a window; None if that is unknown."""
    known = _sharding_of(call)
    axes = _axes_along(known.spec, window.dimension, known.names) if known is not None else None
    if known is None or axes is None:
        return None
    return prod(known.sizes[known.names.index(axis)] for axis in axes) > 1


def _sharding_of(call: ApiCall) -> _Sharding | None:
    """Returns the sharding of an assembled array; None if the mesh is unknown."""
    sharding = next((arg.value for place, arg in enumerate(call.args) if arg.label == "sharding" or place == 1), None)
    mesh, spec = sharding_parts(sharding) if sharding is not None else (None, None)
    if not isinstance(mesh, Mesh) or mesh.open or mesh.sizes is None or spec is None:
        return None
    names = [name.value for name in mesh.names if isinstance(name, Const) and isinstance(name.value, str)]
    sizes = [size for size in mesh.sizes if size is not None and size > 0]
    is_known = len(names) == len(sizes) == len(mesh.sizes) == len(mesh.names)
    return _Sharding(names, sizes, spec) if is_known else None


def _misplaced(piece: Piece, call: ApiCall) -> _Block | None:
    """Returns the first misplaced block, or a block in its place; None if the blocks or the sharding are unknown."""
    known = _sharding_of(call)
    given = blocks_of(piece, known.names, known.sizes) if known is not None else None
    if known is None or given is None:
        return None
    found: list[_Block] = []
    for option in options(known.spec):
        axes = _axes_along(option, 0, known.names)
        if axes is None:
            return None
        assigned = blocks_assigned(axes, known.names, known.sizes)
        blocks = [_Block(place, *pair) for place, pair in enumerate(zip(given, assigned, strict=True))]
        found.append(next((block for block in blocks if block.given != block.assigned), next(iter(blocks))))
    are_alike = len({block.given != block.assigned for block in found}) == 1
    return next(iter(found)) if are_alike else None


def _axes_along(spec: Value, dimension: int, names: list[str]) -> list[str] | None:
    """Returns the axes that split a dimension; None if they are unknown."""
    entry = dict(enumerate(spec.entries)).get(dimension) if isinstance(spec, Spec) else None
    if entry is None or (isinstance(entry, Const) and entry.value is None):
        return [] if isinstance(spec, Spec) and not spec.open else None
    parts = entry.items if isinstance(entry, Seq) and not entry.open else (entry,)
    axes = [part.value for part in parts if isinstance(part, Const) and part.value in names]
    return axes if len(axes) == len(parts) else None
