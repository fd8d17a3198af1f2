"""Pieces of an array that code puts on the devices of a mesh, one by one, before JAX assembles them."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import Any, NamedTuple

from meshlens.axes.domain.constants import worked_out
from meshlens.axes.domain.values import Site
from meshlens.rules.terms.model import Term, mentions, walk_term

ASSEMBLES = "jax.make_array_from_single_device_arrays"
FETCHES = "jax.make_array_from_callback"
_NUMBERED, _INDICES = "numpy.ndenumerate", "numpy.ndindex"
_FLAT = frozenset({"flat", "ravel", "flatten"})
_SPLITS = frozenset({"numpy.split", "numpy.array_split", "jax.numpy.split", "jax.numpy.array_split"})


class Piece(NamedTuple):
    """A block of rows that is put on one device in a loop over all devices of a mesh.

    Attributes:
        block: the number of the block.
        place: the first variable of the loop, which counts the devices row by row of the mesh, or is their index.
        mesh: the mesh.
    """

    block: Term
    place: Term
    mesh: Term


class Assembly(NamedTuple):
    """A call that assembles pieces."""

    call: Site
    piece: Piece


class Window(NamedTuple):
    """Rows that a callback of `make_array_from_callback` fetches for one device.

    They start further on in each step, or at the first row on every device.

    Attributes:
        call: the call that gets the callback.
        rows: the number of rows of the device, which in the first case is how far each step moves on.
        dimension: the dimension of the array that the rows belong to.
        is_first: whether they start at the first row on every device.
    """

    call: Site
    rows: Term
    dimension: int
    is_first: bool = False


def window_of(key: Term, index: Term, call: Site) -> Window | None:
    """Returns the window that a slice selects if it starts at `step * (stop - start) + start`, or is `: stop - start`.

    Returns None for any other slice.

    Args:
        key: the slice, or several indices.
        index: the index that the callback gets, which contains `start` and `stop`.
        call: the call that gets the callback.
    """
    for one in key.parts if key.name == "tuple" else (key,):
        if one.name == "slice" and (first := _first_rows(one, index, call)) is not None:
            return first
    start = next(iter(key.parts)) if key.name == "slice" else key
    if start.kind != "operation" or start.name != "+":
        return None
    for one, product in (start.parts, start.parts[::-1]):
        rows = _bound(one, "start", 0)
        stride = _factor(product, index) if rows is not None else None
        dimension = _dimension_of(stride, index) if stride is not None else None
        if stride is not None and dimension is not None and stride.parts[1] == one:
            return Window(call, stride, dimension)
    return None


def _first_rows(key: Term, index: Term, call: Site) -> Window | None:
    """Returns the window of `: stop - start`."""
    start, stop, step = key.parts
    dimension = _dimension_of(stop, index) if start.is_constant and step.is_constant else None
    is_first = dimension is not None and start.value in (None, 0) and step.value in (None, 1)
    return Window(call, stop, dimension, is_first=True) if dimension is not None and is_first else None


def _dimension_of(size: Term, index: Term) -> int | None:
    """Returns the dimension of which `stop - start` is the size of a device's part; None for any other number."""
    if size.name != "-" or len(size.parts) != 2:
        return None
    stop, start = size.parts
    rows = _bound(start, "start", 0)
    if rows is None or rows.name != "[]" or _bound(stop, "stop", 1) != rows:
        return None
    whole, dimension = rows.parts
    return dimension.value if whole == index and type(dimension.value) is int else None


def _bound(term: Term, name: str, place: int) -> Term | None:
    """Returns the slice of `rows.start`, `rows.stop` or an entry of `rows.indices(…)`; None for anything else."""
    if term.kind == "attribute" and term.name == name:
        return next(iter(term.parts))
    if term.name != "[]":
        return None
    of, key = term.parts
    return next(iter(of.parts)) if of.kind == "call" and of.name == "indices" and key.value == place else None


def piece_of(data: Term, device: Term) -> Piece | None:
    """Returns the piece that `device_put(data, device)` puts on a device; None if it is not known which one."""
    place, devices = _place(device)
    mesh = _mesh(devices, place) if place is not None and devices is not None else None
    if place is None or mesh is None or data.name != "[]":
        return None
    whole, key = data.parts
    first = next(iter(key.parts), key) if key.name == "tuple" else key
    if first.name == "slice":
        start = next(iter(first.parts))
        block = _factor(start, place)
    else:
        block = key if whole.kind == "call" and whole.name in _SPLITS else None
    return Piece(block, place, mesh) if block is not None and _depends(block, place) else None


def _place(device: Term) -> tuple[Term | None, Term | None]:
    """Returns the first variable of the loop over devices, and these devices."""
    if device.name == "[]":
        devices, key = device.parts
        return (key, devices) if key.kind == "loop" else (None, None)
    iterable = next(iter(device.parts), None) if device.kind == "loop" else None
    if iterable is None or iterable.name not in ("enumerate", _NUMBERED) or len(iterable.parts) != 1:
        return None, None
    return (device.value, *iterable.parts) if isinstance(device.value, Term) else (None, None)


def _mesh(devices: Term, place: Term) -> Term | None:
    """Returns the mesh whose devices are listed row by row."""
    is_listed = devices.name in _FLAT
    grid = next(iter(devices.parts), None) if is_listed else devices
    if grid is None or grid.kind != "attribute" or grid.name != "devices" or is_listed == _is_index(place):
        return None
    return next(iter(grid.parts))


def _is_index(place: Term) -> bool:
    """Returns whether a loop variable is the index of a device in the mesh, or the index's first number."""
    return any(iterable.name in (_NUMBERED, _INDICES) for iterable in place.parts)


def _depends(term: Term, variable: Term) -> bool:
    """Returns whether a term depends on a variable, or on another variable of the same loop."""
    if variable.kind != "loop":
        return mentions(term, variable)
    return any(part.kind == "loop" and part.scope == variable.scope for part in walk_term(term))


def _factor(start: Term, variable: Term) -> Term | None:
    """Returns the factor of a product that depends on a variable; None if there is not exactly one."""
    if start.kind != "operation" or start.name != "*":
        return None
    left, right = start.parts
    if _depends(left, variable) == _depends(right, variable):
        return None
    one = left if _depends(left, variable) else right
    return _factor(one, variable) if one.kind == "operation" and one.name == "*" else one


def blocks_of(piece: Piece, names: Sequence[str], sizes: Sequence[int]) -> list[int] | None:
    """Returns the number of each device's block, row by row of the mesh; None if it is not computed.

    Args:
        piece: the pieces.
        names: the axes of the mesh.
        sizes: their sizes.
    """
    by_name = dict(zip(names, sizes, strict=True))
    found = [_number(piece.block, piece, place, by_name) for place in range(prod(sizes))]
    known = [number for number in found if number is not None]
    # Blocks may be counted in rows, or in parts of a block.
    unit = gcd(*known) or 1
    return [number // unit for number in known] if len(known) == len(found) else None


def _number(term: Term, piece: Piece, place: int, sizes: dict[str, int]) -> int | None:
    """Returns a number that is computed from a device's place and the sizes of the mesh; None if it is unknown."""
    if term.kind == "loop" and term.scope == piece.place.scope:
        return _turn(term, piece, place, sizes)
    if term.is_constant:
        return term.value if type(term.value) is int else None
    if term.kind == "operation" and term.name == "[]":
        of, key = term.parts
        return _entries(of, piece, place, sizes).get(key.value) if key.is_constant else None
    if term.name == "size" and _is_of(term, piece):
        return prod(sizes.values())
    if term.kind == "operation" and len(term.parts) == 2:
        left, right = [_number(part, piece, place, sizes) for part in term.parts]
        result = worked_out(term.name, left, right) if left is not None and right is not None else None
        return result if type(result) is int else None
    return None


def _turn(variable: Term, piece: Piece, place: int, sizes: dict[str, int]) -> int | None:
    """Returns the value of a loop variable for the device at a place of the mesh."""
    if not _is_index(piece.place):
        return place if variable == piece.place else None
    index = _index_of(place, list(sizes.values()))
    # In `for (i, j), device in …`, the other variable is the last number, unless there are more.
    return index[0 if variable == piece.place else 1] if len(index) == 2 else None


def _entries(of: Term, piece: Piece, place: int, sizes: dict[str, int]) -> dict[Any, int]:
    """Returns the numbers in the shape of a mesh, in the index of a device or in what `divmod` returns."""
    if of.name == "shape" and of.parts == (piece.mesh,):
        return dict(sizes)
    if of.name in ("shape", "axis_sizes") and _is_of(of, piece):
        return dict(enumerate(sizes.values()))
    if of == piece.place:
        return dict(enumerate(_index_of(place, list(sizes.values())))) if _is_index(of) else {}
    if of.kind == "call" and of.name == "divmod" and len(of.parts) == 2:
        left, right = [_number(part, piece, place, sizes) for part in of.parts]
        return dict(enumerate(divmod(left, right))) if left is not None and right else {}
    if of.kind == "call" and of.name == "numpy.unravel_index" and len(of.parts) == 2:
        number, shape = of.parts
        at = _number(number, piece, place, sizes) if shape.name == "shape" and _is_of(shape, piece) else None
        return dict(enumerate(_index_of(at, list(sizes.values())))) if at is not None else {}
    return {}


def _is_of(attribute: Term, piece: Piece) -> bool:
    """Returns whether an attribute is one of the mesh or of the array of its devices."""
    of = next(iter(attribute.parts), None) if attribute.kind == "attribute" else None
    if of is not None and of.kind == "attribute" and of.name == "devices":
        of = next(iter(of.parts))
    return of == piece.mesh


def _index_of(place: int, sizes: Sequence[int]) -> list[int]:
    """Returns the index of a device in a mesh of the given sizes."""
    index: list[int] = []
    for size in reversed(sizes):
        place, at = divmod(place, size)
        index.append(at)
    return index[::-1]


def blocks_assigned(axes: Sequence[str], names: Sequence[str], sizes: Sequence[int]) -> list[int]:
    """Returns the number of the block that a sharding assigns to each device, row by row of the mesh.

    Args:
        axes: the axes that split the rows.
        names: the axes of the mesh.
        sizes: their sizes.
    """
    found: list[int] = []
    for place in range(prod(sizes)):
        at = dict(zip(names, _index_of(place, sizes), strict=True))
        block = 0
        for axis in axes:
            block = block * sizes[names.index(axis)] + at[axis]
        found.append(block)
    return found
