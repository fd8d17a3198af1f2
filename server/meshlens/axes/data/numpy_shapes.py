"""The shapes of the results of functions that join, cut, pick or fill arrays, in NumPy, `jax.numpy` and `jax.lax`."""

from __future__ import annotations

from collections.abc import Callable

from meshlens.axes.data.arrays import Sizes, broadcast, count_of, literal_shape, product, sizes
from meshlens.axes.data.contractions import shape_or_none
from meshlens.axes.domain.values import Arg, Const, Seq, Value
from meshlens.axes.jax.naming import by_parameter

Given = dict[str, Arg]


def _integer(found: Given, name: str, default: int | None = None) -> int | None:
    """Returns the integer given for a parameter, or its default; None if it is unknown."""
    return count_of(found[name].value) if name in found else default


def _place(found: Given, name: str, default: int | None, rank: int) -> int | None:
    """Returns the axis given for a parameter, counted from the front; None if it is unknown or out of range."""
    axis = _integer(found, name, default)
    return axis % rank if axis is not None and -rank <= axis < rank else None


def _set(shape: Sizes, place: int, size: int | None) -> Sizes:
    return (*shape[:place], size, *shape[place + 1 :])


def _parts(value: Value) -> list[Sizes] | None:
    """Returns the shapes of the arrays in a list; None if one of them is unknown."""
    if not isinstance(value, Seq) or value.open or not value.items:
        return None
    found = [shape for item in value.items if (shape := shape_or_none(item)) is not None]
    return found if len(found) == len(value.items) else None


def joined_along(shapes: list[Sizes], axis: int) -> Sizes | None:
    """Returns the shape of arrays joined along an axis; None if they have different ranks."""
    if len({len(shape) for shape in shapes}) > 1 or not -len(shapes[0]) <= axis < len(shapes[0]):
        return None
    axis %= len(shapes[0])
    found: list[int | None] = []
    for place, column in enumerate(zip(*shapes, strict=True)):
        known = [size for size in column if size is not None]
        if place == axis:
            found.append(sum(known) if len(known) == len(column) else None)
        else:
            found.append(known[0] if len({*known}) == 1 else None)
    return tuple(found)


def _with_rank(shape: Sizes, rank: int) -> Sizes:
    """Returns the shape of `atleast_1d` or `atleast_2d`."""
    return (1,) * (rank - len(shape)) + shape


def _vstack(args: tuple[Arg, ...]) -> Sizes | None:
    parts = _parts(args[0].value)
    return joined_along([_with_rank(shape, 2) for shape in parts], 0) if parts is not None else None


def _hstack(args: tuple[Arg, ...]) -> Sizes | None:
    parts = _parts(args[0].value)
    if parts is None:
        return None
    rows = [_with_rank(shape, 1) for shape in parts]
    return joined_along(rows, 0 if len(rows[0]) == 1 else 1)


def _dstack(args: tuple[Arg, ...]) -> Sizes | None:
    parts = _parts(args[0].value)
    if parts is None:
        return None
    flat = [_with_rank(shape, 2) for shape in parts]
    # A vector is a row: (1, n, 1).
    return joined_along([(*shape, 1) if len(shape) == 2 else shape for shape in flat], 2)


def _column_stack(args: tuple[Arg, ...]) -> Sizes | None:
    parts = _parts(args[0].value)
    if parts is None or not all(parts):
        return None
    return joined_along([(*shape, 1) if len(shape) == 1 else shape for shape in parts], 1)


def _append(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("arr", "values", "axis"), args)
    if "arr" not in found or "values" not in found:
        return None
    both = [literal_shape(found[name].value) for name in ("arr", "values")]
    shapes = [shape for shape in both if shape is not None]
    if len(shapes) < 2:
        return None
    if "axis" not in found or found["axis"].value == Const(None):
        return joined_along([(product(shape),) for shape in shapes], 0)
    axis = _integer(found, "axis")
    return joined_along(shapes, axis) if axis is not None and shapes[0] else None


def _diff(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("a", "n", "axis", "prepend", "append"), args)
    shape, times = shape_or_none(args[0].value), _integer(found, "n", 1)
    if not shape or times is None or times < 0:
        return None
    place = _place(found, "axis", -1, len(shape))
    if place is None:
        return None
    grown = 0
    for name in ("prepend", "append"):
        if name in found:
            own = shape_or_none(found[name].value)
            size = (1 if own == () else own[place] if len(own) == len(shape) else None) if own is not None else None
            if size is None:
                return _set(shape, place, None)
            grown += size
    size = shape[place]
    return _set(shape, place, max(size + grown - times, 0) if size is not None else None)


def _take(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("a", "indices", "axis"), args)
    shape = shape_or_none(args[0].value)
    indices = literal_shape(found["indices"].value) if "indices" in found else None
    if shape is None or indices is None:
        return None
    if "axis" not in found or found["axis"].value == Const(None):
        return indices
    place = _place(found, "axis", None, len(shape))
    return (*shape[:place], *indices, *shape[place + 1 :]) if place is not None else None


def _diagonal(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("a", "offset", "axis1", "axis2"), args)
    shape, offset = shape_or_none(args[0].value), _integer(found, "offset", 0)
    if shape is None or len(shape) != 2 or "axis1" in found or "axis2" in found:
        return None
    return (_on_diagonal(shape, offset),)


def _on_diagonal(shape: Sizes, offset: int | None) -> int | None:
    """Returns the number of entries on a diagonal of a matrix."""
    rows, columns = shape
    if rows is None or columns is None or offset is None:
        return None
    return max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)


def _diag(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("v", "k"), args)
    shape, offset = shape_or_none(args[0].value), _integer(found, "k", 0)
    if shape is None or len(shape) not in (1, 2):
        return None
    if len(shape) == 2:
        return (_on_diagonal(shape, offset),)
    size = shape[0] + abs(offset) if shape[0] is not None and offset is not None else None
    return size, size


def _square(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("N", "M", "k"), args)
    rows = _integer(found, "N")
    has_columns = "M" in found and found["M"].value != Const(None)
    return (rows, _integer(found, "M") if has_columns else rows) if "N" in found else None


def _vander(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("x", "N"), args)
    shape = shape_or_none(args[0].value)
    if shape is None or len(shape) != 1:
        return None
    return shape[0], _integer(found, "N") if "N" in found and found["N"].value != Const(None) else shape[0]


def _sorted(args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of `sort(a, axis)`, which flattens the array if the axis is None."""
    found = by_parameter(("a", "axis"), args)
    shape, axis = shape_or_none(args[0].value), found.get("axis")
    if shape is None or axis is None:
        return shape
    if axis.value == Const(None):
        return (product(shape),)
    return shape if count_of(axis.value) is not None else None


def _like_second(parameters: tuple[str, str]) -> Callable[[tuple[Arg, ...]], Sizes | None]:
    """Returns the handler of a function that returns a number for each entry of its second argument."""

    def found_for_each(args: tuple[Arg, ...]) -> Sizes | None:
        found = by_parameter(parameters, args)
        return literal_shape(found[parameters[1]].value) if parameters[1] in found else None

    return found_for_each


def _like_first_of(parameter: str) -> Callable[[tuple[Arg, ...]], Sizes | None]:
    """Returns the handler of a function that returns a number for each entry of its first argument."""

    def found_for_each(args: tuple[Arg, ...]) -> Sizes | None:
        found = by_parameter((parameter,), args)
        return literal_shape(found[parameter].value) if parameter in found else None

    return found_for_each


def _indices(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("dimensions", "dtype", "sparse"), args)
    shape = sizes(found["dimensions"].value) if "dimensions" in found else None
    return (len(shape), *shape) if shape is not None and "sparse" not in found else None


def _interp(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("x", "xp", "fp"), args)
    return literal_shape(found["x"].value) if "x" in found and args[0].label in (None, "x") else None


def _like_first(args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of a conversion to an array."""
    return literal_shape(args[0].value) if args[0].label in (None, "a") and not _has(args, "ndmin") else None


def _has(args: tuple[Arg, ...], label: str) -> bool:
    return any(arg.label == label for arg in args)


def _convolve(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("a", "v", "mode"), args)
    shapes = [shape_or_none(found[name].value) if name in found else None for name in ("a", "v")]
    mode = found["mode"].value if "mode" in found else Const("full")
    first, second = (shape[0] if shape is not None and len(shape) == 1 else None for shape in shapes)
    if first is None or second is None or not isinstance(mode, Const):
        return None
    least, most = min(first, second), max(first, second)
    return {"full": (most + least - 1,), "same": (most,), "valid": (most - least + 1,)}.get(str(mode.value))


def _kron(args: tuple[Arg, ...]) -> Sizes | None:
    shapes = [shape_or_none(arg.value) for arg in args if arg.label is None]
    if len(shapes) != 2 or shapes[0] is None or shapes[1] is None:
        return None
    rank = max(len(shapes[0]), len(shapes[1]))
    pairs = zip(_with_rank(shapes[0], rank), _with_rank(shapes[1], rank), strict=True)
    return tuple([one * other if one is not None and other is not None else None for one, other in pairs])


def _at_least(rank: int) -> Callable[[tuple[Arg, ...]], Sizes | None]:
    """Returns the handler of `atleast_1d` or `atleast_2d`."""

    def at_least(args: tuple[Arg, ...]) -> Sizes | None:
        shape = literal_shape(args[0].value) if len(args) == 1 else None
        return _with_rank(shape, rank) if shape is not None else None

    return at_least


def _windows(args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of `sliding_window_view(x, size)` of a vector, or along one axis."""
    found = by_parameter(("x", "window_shape", "axis"), args)
    shape, size = shape_or_none(args[0].value), _integer(found, "window_shape")
    if shape is None or size is None or ("axis" not in found and len(shape) != 1):
        return None
    place = _place(found, "axis", 0, len(shape))
    if place is None:
        return None
    whole = shape[place]
    return (*_set(shape, place, whole - size + 1 if whole is not None else None), size)


def _matrix(args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of a function that returns a matrix like its argument."""
    return shape_or_none(args[0].value) if args[0].label is None else None


def _iota(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("dtype", "size"), args)
    return (_integer(found, "size"),) if "size" in found else None


def _broadcasted_iota(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("dtype", "shape"), args)
    return sizes(found["shape"].value) if "shape" in found else None


def _lax_slice(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("operand", "start_indices", "limit_indices", "strides"), args)
    if "start_indices" not in found or "limit_indices" not in found or "strides" in found:
        return None
    starts, limits = sizes(found["start_indices"].value), sizes(found["limit_indices"].value)
    if starts is None or limits is None or len(starts) != len(limits):
        return None
    bounds = zip(starts, limits, strict=True)
    return tuple([limit - start if start is not None and limit is not None else None for start, limit in bounds])


def _slice_in_dim(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("operand", "start_index", "limit_index", "stride", "axis"), args)
    shape = shape_or_none(args[0].value)
    place = _place(found, "axis", 0, len(shape)) if shape else None
    if not shape or place is None or not {"start_index", "limit_index"} <= found.keys() or "stride" in found:
        return None
    start, limit = _integer(found, "start_index"), _integer(found, "limit_index")
    known = start is not None and limit is not None and 0 <= start <= limit
    return _set(shape, place, limit - start if known and start is not None and limit is not None else None)


def _dynamic_slice(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("operand", "start_indices", "slice_sizes"), args)
    return sizes(found["slice_sizes"].value) if "slice_sizes" in found else None


def _dynamic_slice_in_dim(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("operand", "start_index", "slice_size", "axis"), args)
    shape = shape_or_none(args[0].value)
    place = _place(found, "axis", 0, len(shape)) if shape else None
    return _set(shape, place, _integer(found, "slice_size")) if shape and place is not None else None


def _dynamic_index_in_dim(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("operand", "index", "axis", "keepdims"), args)
    shape = shape_or_none(args[0].value)
    keeps = found["keepdims"].value if "keepdims" in found else Const(True)
    place = _place(found, "axis", 0, len(shape)) if shape else None
    if not shape or place is None or not isinstance(keeps, Const):
        return None
    return _set(shape, place, 1) if keeps.value else (*shape[:place], *shape[place + 1 :])


def _lax_pad(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("operand", "padding_value", "padding_config"), args)
    shape = shape_or_none(args[0].value)
    given = found["padding_config"].value if "padding_config" in found else None
    if shape is None or not isinstance(given, Seq) or given.open or len(given.items) != len(shape):
        return None
    return tuple([_padded(size, sizes(one)) for size, one in zip(shape, given.items, strict=True)])


def _padded(size: int | None, config: Sizes | None) -> int | None:
    """Returns the size of an axis after its entries get padding before, after and between them."""
    known = [one for one in config or () if one is not None]
    if size is None or len(known) != 3:
        return None
    low, high, inside = known
    return low + high + size + max(size - 1, 0) * inside


def _broadcast_all(args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of a function of two arrays without further arguments."""
    if len(args) != 2 or any(arg.label is not None for arg in args):
        return None
    return broadcast(shape_or_none(args[0].value), shape_or_none(args[1].value))


CONVERSIONS = frozenset(
    (
        "float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128 "
        "asanyarray ascontiguousarray asfortranarray"
    ).split()
)
"""Functions that return their argument as an array."""

GRIDS = frozenset({"numpy.mgrid", "jax.numpy.mgrid"})
"""Objects whose items are the coordinates of all points of a grid."""


def of_grid(index: Value) -> Sizes | None:
    """Returns the shape of `mgrid[index]`; None if the number of dimensions is unknown."""
    parts = index.items if isinstance(index, Seq) and index.kind == "tuple" and not index.open else (index,)
    if not all(isinstance(part, Seq) and part.kind == "slice" for part in parts):
        return None
    found = tuple([_points(part) for part in parts if isinstance(part, Seq)])
    return (len(found), *found) if len(found) > 1 else found


def _points(part: Seq) -> int | None:
    begin, end, step = part.items
    if step not in (Const(None), Const(1)) or (begin != Const(None) and count_of(begin) is None):
        return None
    size = count_of(end)
    return max(size - (count_of(begin) or 0), 0) if size is not None else None


OF_NUMPY: dict[str, Callable[[tuple[Arg, ...]], Sizes | None]] = {
    **dict.fromkeys(CONVERSIONS, _like_first),
    "isin": _like_first_of("element"),
    "indices": _indices,
    **dict.fromkeys(("sort", "argsort"), _sorted),
    **dict.fromkeys(("inv", "cholesky", "rev"), _matrix),
    **dict.fromkeys(("heaviside", "fmax", "fmin", "copysign", "nextafter", "ldexp"), _broadcast_all),
    "vstack": _vstack,
    "hstack": _hstack,
    "dstack": _dstack,
    "column_stack": _column_stack,
    "append": _append,
    "diff": _diff,
    "take": _take,
    "diag": _diag,
    "diagonal": _diagonal,
    "tri": _square,
    "vander": _vander,
    "searchsorted": _like_second(("a", "v")),
    "digitize": _interp,
    "interp": _interp,
    "convolve": _convolve,
    "kron": _kron,
    "atleast_1d": _at_least(1),
    "atleast_2d": _at_least(2),
    "sliding_window_view": _windows,
}

OF_LAX: dict[str, Callable[[tuple[Arg, ...]], Sizes | None]] = {
    "slice": _lax_slice,
    "slice_in_dim": _slice_in_dim,
    "dynamic_slice": _dynamic_slice,
    "dynamic_slice_in_dim": _dynamic_slice_in_dim,
    "dynamic_index_in_dim": _dynamic_index_in_dim,
    "dynamic_update_slice": _matrix,
    "dynamic_update_slice_in_dim": _matrix,
    "dynamic_update_index_in_dim": _matrix,
    "pad": _lax_pad,
    "iota": _iota,
    "broadcasted_iota": _broadcasted_iota,
}
"""The functions of `jax.lax`, some of which have the names of other functions of `jax.numpy`."""
