"""The shapes of the results of array functions and methods, given the shapes of their arguments.

An unknown size is None, and so is a shape whose rank is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from meshlens.axes.data import transfer
from meshlens.axes.data.arrays import Sizes, broadcast, is_array, literal_shape, product, reshaped, sizes
from meshlens.axes.data.contractions import EINOPS, dot_of, einsum_of, matmul_of, rearranged, shape_or_none
from meshlens.axes.data.drawn_shapes import drawn
from meshlens.axes.data.numpy_shapes import OF_LAX, OF_NUMPY
from meshlens.axes.data.transfer import across
from meshlens.axes.data.transform_shapes import is_transform, transformed
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import INTEGERS, LINE, NONE, of_kinds
from meshlens.axes.domain.values import Arg, Const, Data, Seq, Value
from meshlens.axes.jax.naming import by_parameter
from meshlens.facts.nodes import Expression, Name

_MODULES = ("jax.numpy.", "numpy.", "jax.nn.", "jax.lax.", "jax.scipy.special.", "jax.ops.", "optax.")

SAME_SHAPE = frozenset(
    (
        "softmax log_softmax standardize flip sort roll tril triu stop_gradient nan_to_num logical_not "
        "exp exp2 log log2 log10 log1p expm1 sqrt cbrt rsqrt square abs sign sin cos tan sinh cosh tanh "
        "arctan arcsin arccos negative reciprocal floor ceil round rint isnan isfinite isinf relu relu6 gelu "
        "silu swish elu selu celu sigmoid "
        "sinc i0 arcsinh arccosh arctanh trunc fix fabs absolute positive angle signbit invert bitwise_not "
        "hard_sigmoid hard_tanh hard_silu hard_swish softplus soft_sign leaky_relu mish erf logistic copy astype "
        "log_sigmoid "
        "real imag conj conjugate fliplr flipud deg2rad rad2deg radians degrees"
    ).split()
)
"""Functions whose result has the shape of their first argument."""

BROADCAST = frozenset(
    (
        "add subtract multiply divide true_divide floor_divide mod remainder power maximum minimum where clip arctan2 "
        "logical_and logical_or logical_xor equal not_equal less less_equal greater greater_equal hypot logaddexp "
        "fmod float_power bitwise_and bitwise_or bitwise_xor complex "
        "huber_loss l2_loss squared_error sigmoid_binary_cross_entropy"
    ).split()
)
"""Functions that combine arrays elementwise, after broadcasting them."""

REDUCTIONS = frozenset(
    (
        "sum mean max min prod any all std var median nansum nanmean nanmax nanmin nanstd nanvar amax amin "
        "logsumexp argmax argmin count_nonzero average"
    ).split()
)
_FIRST: Value = Const(0)
_MOST_PARTS = 16
_CUMULATIVE = frozenset("cumsum cumprod cummax cummin".split())


def shape_of_result(name: str, args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of an array function's result.

    Args:
        name: the function's canonical name.
        args: its arguments; for a method, the array comes first.
    """
    short = name.rpartition(".")[2]
    if name in EINOPS:
        return rearranged(name, args)
    if not name.startswith(_MODULES) or not args or any(arg.label in ("*", "**") for arg in args):
        return None
    if name.startswith("numpy.random."):
        return drawn(short, args)
    special = (OF_LAX.get(short) if name.startswith("jax.lax.") else None) or OF_NUMPY.get(short)
    if special is not None:
        return special(args)
    if short in SAME_SHAPE:
        return shape_or_none(args[0].value)
    if short == "where" and len(args) != 3:
        return None
    if short in BROADCAST:
        return _broadcast(args)
    if short in REDUCTIONS:
        return _reduced(args)
    if short in _CUMULATIVE:
        of_lax, shape = name.startswith("jax.lax."), shape_or_none(args[0].value)
        if of_lax or "axis" in by_parameter(("a", "axis"), args):
            return shape
        return (product(shape),) if shape is not None else None
    if is_transform(name):
        return transformed(name, args)
    found = _KNOWN.get(short)
    return found(args) if found is not None else None


def _broadcast(args: tuple[Arg, ...]) -> Sizes | None:
    shape: Sizes | None = ()
    for arg in args:
        if arg.label in ("dtype", "out"):
            return None
        if isinstance(arg.value, Const) and arg.value.value is None:
            continue
        shape = broadcast(shape, shape_or_none(arg.value))
    return shape


def _axes(value: Value | None, rank: int) -> tuple[int, ...] | None:
    """Returns the axes that an argument names, counted from the front; None if one is unknown or out of range."""
    given = value.items if isinstance(value, Seq) and not value.open else (value,)
    found = []
    for one in given:
        if not isinstance(one, Const) or type(one.value) is not int or not -rank <= one.value < rank:
            return None
        found.append(one.value % rank)
    return tuple(found)


def _axis(value: Value | None, rank: int) -> int | None:
    found = _axes(value, rank) if not isinstance(value, Seq) else None
    return found[0] if found is not None else None


def axes_reduced(args: tuple[Arg, ...], rank: int) -> tuple[tuple[int, ...], bool] | None:
    """Returns the axes that a reduction covers, and whether it keeps them with size 1; None if that is unknown.

    Args:
        args: the array and the other arguments.
        rank: the number of the array's axes.
    """
    said = _reduction(args)
    if said is None:
        return None
    axis, keeps = said
    axes = tuple(range(rank)) if axis == Const(None) else _axes(axis, rank)
    return (axes, keeps) if axes is not None else None


def _reduction(args: tuple[Arg, ...]) -> tuple[Value, bool] | None:
    """Returns the `axis` and `keepdims` of a reduction; None if one is unknown."""
    found = by_parameter(("a", "axis"), args)
    kept = found.get("keepdims")
    keeps = kept.value if kept is not None else Const(False)
    axis = found["axis"].value if "axis" in found else Const(None)
    if not isinstance(keeps, Const) or (len([arg for arg in args if arg.label is None]) > 2):
        return None
    return axis, bool(keeps.value)


def _reduced(args: tuple[Arg, ...]) -> Sizes | None:
    said, shape = _reduction(args), shape_or_none(args[0].value)
    if said is None:
        return None
    axis, keeps = said
    if isinstance(axis, Const) and axis.value is None:
        if keeps:
            return (1,) * len(shape) if shape is not None else None
        return () if is_array(args[0].value) else None
    axes = _axes(axis, len(shape)) if shape is not None else None
    if shape is None or axes is None:
        return None
    if keeps:
        return tuple(1 if place in axes else size for place, size in enumerate(shape))
    return tuple(size for place, size in enumerate(shape) if place not in axes)


def _norm(args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of `norm(x, ord, axis, keepdims)`, a reduction over one axis or all of them."""
    found = by_parameter(("x", "ord", "axis", "keepdims"), args)
    if isinstance(found["axis"].value if "axis" in found else None, Seq):
        return None
    kept = (Arg(name, found[name].value, None, None) for name in ("axis", "keepdims") if name in found)
    return _reduced((args[0], *kept))


def _cross_entropy(args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of a cross entropy over the classes, which are along the last axis."""
    shape = shape_or_none(args[0].value)
    plain = len(args) == 2 and all(arg.label in (None, "labels") for arg in args)
    return shape[:-1] if shape and plain else None


def _transpose(args: tuple[Arg, ...]) -> Sizes | None:
    shape = shape_or_none(args[0].value)
    found = by_parameter(("a", "axes"), args)
    axes = found.get("axes") or found.get("permutation")
    if shape is None:
        return None
    if axes is None or (isinstance(axes.value, Const) and axes.value.value is None):
        return shape[::-1]
    order = _axes(axes.value, len(shape))
    return tuple(shape[place] for place in order) if order is not None and len(order) == len(shape) else None


def _swapaxes(args: tuple[Arg, ...]) -> Sizes | None:
    shape = shape_or_none(args[0].value)
    found = by_parameter(("a", "axis1", "axis2"), args)
    if shape is None or "axis1" not in found or "axis2" not in found:
        return None
    first, second = _axis(found["axis1"].value, len(shape)), _axis(found["axis2"].value, len(shape))
    if first is None or second is None:
        return None
    order = list(shape)
    order[first], order[second] = order[second], order[first]
    return tuple(order)


def _moveaxis(args: tuple[Arg, ...]) -> Sizes | None:
    shape = shape_or_none(args[0].value)
    found = by_parameter(("a", "source", "destination"), args)
    if shape is None or "source" not in found or "destination" not in found:
        return None
    source = _axes(found["source"].value, len(shape))
    destination = _axes(found["destination"].value, len(shape))
    if source is None or destination is None or len(source) != len(destination) or len(set(source)) != len(source):
        return None
    order = [place for place in range(len(shape)) if place not in source]
    for to, place in sorted(zip(destination, source, strict=True)):
        order.insert(to, place)
    return tuple(shape[place] for place in order)


def _expand(args: tuple[Arg, ...]) -> Sizes | None:
    shape = shape_or_none(args[0].value)
    found = by_parameter(("a", "axis"), args)
    axis = found.get("axis") or found.get("dimensions")
    if shape is None or axis is None:
        return None
    count = len(axis.value.items) if isinstance(axis.value, Seq) else 1
    axes = _axes(axis.value, len(shape) + count)
    if axes is None or len(set(axes)) != count:
        return None
    rest = iter(shape)
    return tuple(1 if place in axes else next(rest) for place in range(len(shape) + count))


def _squeeze(args: tuple[Arg, ...]) -> Sizes | None:
    shape = shape_or_none(args[0].value)
    found = by_parameter(("a", "axis"), args)
    axis = found.get("axis") or found.get("dimensions")
    if shape is None:
        return None
    if axis is None or (isinstance(axis.value, Const) and axis.value.value is None):
        return tuple(size for size in shape if size != 1) if None not in shape else None
    axes = _axes(axis.value, len(shape))
    return tuple(size for place, size in enumerate(shape) if place not in axes) if axes is not None else None


def _parts(value: Value) -> list[Sizes] | None:
    if not isinstance(value, Seq) or value.open or not value.items:
        return None
    shapes = [shape_or_none(item) for item in value.items]
    known = [shape for shape in shapes if shape is not None]
    return known if len(known) == len(shapes) and len({len(shape) for shape in known}) == 1 else None


def _alike(shapes: list[Sizes]) -> list[int | None]:
    """Returns the sizes common to all shapes; a size unknown in one is taken from the others."""
    found: list[int | None] = []
    for column in zip(*shapes, strict=True):
        known = {size for size in column if size is not None}
        found.append(known.pop() if len(known) == 1 else None)
    return found


def _concatenate(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("arrays", "axis"), args)
    parts = _parts(args[0].value)
    given = found.get("axis") or found.get("dimension")
    if parts is None or not parts[0]:
        return None
    axis = _axis(given.value if given is not None else Const(0), len(parts[0]))
    if axis is None:
        return None
    alike = _alike(parts)
    along = [shape[axis] for shape in parts]
    alike[axis] = sum(size for size in along if size is not None) if None not in along else None
    return tuple(alike)


def _stack(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("arrays", "axis"), args)
    parts = _parts(args[0].value)
    if parts is None:
        return None
    axis = _axis(found["axis"].value if "axis" in found else Const(0), len(parts[0]) + 1)
    if axis is None:
        return None
    alike = _alike(parts)
    return (*alike[:axis], len(parts), *alike[axis:])


def _reshape(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("a", "shape"), args)
    given = found.get("shape") or found.get("newshape") or found.get("new_sizes")
    return reshaped(shape_or_none(args[0].value), sizes(given.value)) if given is not None else None


def _broadcast_to(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("array", "shape"), args)
    return sizes(found["shape"].value) if "shape" in found else None


def _pad(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("array", "pad_width"), args)
    shape = shape_or_none(args[0].value)
    width = found["pad_width"].value if "pad_width" in found else None
    if shape is None or width is None:
        return None
    if isinstance(width, Const) or (isinstance(width, Seq) and not any(isinstance(one, Seq) for one in width.items)):
        own = sizes(width)
        both = own * 2 if own is not None and len(own) == 1 else own
        pairs = [both] * len(shape)
    else:
        pairs = [sizes(one) for one in width.items] if isinstance(width, Seq) and not width.open else []
        pairs = pairs * len(shape) if len(pairs) == 1 else pairs
    if len(pairs) != len(shape) or any(pair is None or len(pair) != 2 for pair in pairs):
        return None
    given = [(None,) if pair is None else (size, *pair) for size, pair in zip(shape, pairs, strict=True)]
    return tuple([_sum_of(part) for part in given])


def _sum_of(parts: Sizes) -> int | None:
    known = [size for size in parts if size is not None]
    return sum(known) if len(known) == len(parts) else None


def _take_along(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("arr", "indices", "axis"), args)
    shape = shape_or_none(args[0].value)
    indices = shape_or_none(found["indices"].value) if "indices" in found else None
    if shape is None or indices is None or len(shape) != len(indices) or "axis" not in found:
        return None
    axis = _axis(found["axis"].value, len(shape))
    both = broadcast(shape, indices)
    return (*both[:axis], indices[axis], *both[axis + 1 :]) if axis is not None and both is not None else None


def _segments(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("data", "segment_ids", "num_segments"), args)
    shape = shape_or_none(args[0].value)
    count = found["num_segments"].value if "num_segments" in found else None
    if not shape or count is None or "segment_ids" not in found:
        return None
    of_ids = shape_or_none(found["segment_ids"].value)
    if of_ids is None or len(of_ids) != 1:
        return None
    return (count.value if isinstance(count, Const) and type(count.value) is int else None, *shape[1:])


def _one_hot(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("x", "num_classes"), args)
    shape = shape_or_none(args[0].value)
    count = found["num_classes"].value if "num_classes" in found else None
    if shape is None or not _is_last(found.get("axis")):
        return None
    return (*shape, count.value if isinstance(count, Const) and type(count.value) is int else None)


def _top_k(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("operand", "k"), args)
    shape, count = shape_or_none(args[0].value), found["k"].value if "k" in found else None
    if not shape or "axis" in found:
        return None
    return (*shape[:-1], count.value if isinstance(count, Const) and type(count.value) is int else None)


def _is_last(axis: Arg | None) -> bool:
    return axis is None or axis.value == Const(-1)


def _ravel(args: tuple[Arg, ...]) -> Sizes | None:
    shape = shape_or_none(args[0].value)
    return (product(shape),) if shape is not None else None


def _repeat(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("a", "repeats", "axis"), args)
    shape = shape_or_none(args[0].value)
    if shape is None or "repeats" not in found or "total_repeat_length" in found:
        return None
    if "axis" not in found or found["axis"].value == Const(None):
        shape, given = (product(shape),), _FIRST
    else:
        given = found["axis"].value
    axis, times = _axis(given, len(shape)), found["repeats"].value
    if axis is None:
        return None
    size = shape[axis]
    known = isinstance(times, Const) and type(times.value) is int and size is not None
    grown = size * times.value if known and isinstance(times, Const) and size is not None else None
    return (*shape[:axis], grown, *shape[axis + 1 :])


def _tile(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("A", "reps"), args)
    shape, reps = shape_or_none(args[0].value), sizes(found["reps"].value) if "reps" in found else None
    if shape is None or reps is None:
        return None
    rank = max(len(shape), len(reps))
    shape, reps = (1,) * (rank - len(shape)) + shape, (1,) * (rank - len(reps)) + reps
    return tuple(
        size * times if size is not None and times is not None else None
        for size, times in zip(shape, reps, strict=True)
    )


def _square(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("N", "M"), args)
    rows = found.get("N") or found.get("n")
    columns = found.get("M") or rows
    if rows is None or columns is None:
        return None
    given = [one.value.value if isinstance(one.value, Const) else None for one in (rows, columns)]
    return tuple(size if type(size) is int else None for size in given)


def _outer(args: tuple[Arg, ...]) -> Sizes | None:
    shapes = [shape_or_none(arg.value) for arg in args if arg.label is None]
    first, second = shapes if len(shapes) == 2 else (None, None)
    return (product(first), product(second)) if first is not None and second is not None else None


def _number_of(_args: tuple[Arg, ...]) -> Sizes:
    return ()


def _of_query(args: tuple[Arg, ...]) -> Sizes | None:
    found = by_parameter(("query",), args)
    return shape_or_none(found["query"].value) if "query" in found else None


_KNOWN: dict[str, Callable[[tuple[Arg, ...]], Sizes | None]] = {
    "norm": _norm,
    **dict.fromkeys(("softmax_cross_entropy", "softmax_cross_entropy_with_integer_labels"), _cross_entropy),
    "matmul": matmul_of,
    "dot": dot_of,
    "vdot": _number_of,
    "einsum": einsum_of,
    "transpose": _transpose,
    "swapaxes": _swapaxes,
    "moveaxis": _moveaxis,
    "expand_dims": _expand,
    "squeeze": _squeeze,
    "concatenate": _concatenate,
    "stack": _stack,
    "reshape": _reshape,
    "broadcast_to": _broadcast_to,
    "one_hot": _one_hot,
    "top_k": _top_k,
    "pad": _pad,
    "take_along_axis": _take_along,
    **dict.fromkeys(("segment_sum", "segment_max", "segment_min", "segment_prod"), _segments),
    "ravel": _ravel,
    "repeat": _repeat,
    "tile": _tile,
    "eye": _square,
    "identity": _square,
    "outer": _outer,
    "dot_product_attention": _of_query,
}


def shape_of_sum(args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of what Python's `sum` adds up; None if it is unknown or the arrays do not have the same."""
    items = args[0].value if len(args) == 1 else None
    shapes = {shape_or_none(item) for item in items.items} if isinstance(items, Seq) else set()
    return shapes.pop() if len(shapes) == 1 else None


def split_in(name: str, args: tuple[Arg, ...]) -> Value | None:
    """Returns the parts that `split` or `array_split` returns, with their shapes; None if their number is unknown."""
    short = name.rpartition(".")[2]
    if short not in ("split", "array_split") or not name.startswith(("jax.numpy.", "numpy.")):
        return None
    found = by_parameter(("ary", "indices_or_sections", "axis"), args)
    sections = found.get("indices_or_sections")
    array = args[0].value if args else None
    if sections is None or not isinstance(array, Data):
        return None
    shape = shape_or_none(array)
    given = found["axis"].value if "axis" in found else Const(0)
    axis = _axis(given, len(shape)) if shape is not None else None
    if shape is not None and axis is None:
        return None
    parts = _cut(shape[axis] if shape is not None and axis is not None else None, sections.value)
    if parts is None:
        return None
    is_inner = isinstance(given, Const) and type(given.value) is int and given.value not in (0, -len(shape or ()))
    over = across(transfer.arranged if is_inner else transfer.arranged_first, array.over)
    labels = array.labels
    # The parts are distinct values, unlike copies of one array.
    shapes = [(*shape[:axis], part, *shape[axis + 1 :]) if shape and axis is not None else None for part in parts]
    return Seq("list", tuple([Data(labels, part, None, True, over) for part in shapes]))


def _cut(size: int | None, sections: Value) -> Sizes | None:
    """Returns the sizes of the parts of an axis that is split into sections, or before these places; None if unknown.

    The first parts are one longer if the size is not a multiple of their number; `split` then raises.
    """
    if isinstance(sections, Seq):
        bounds = [0, *(item.value for item in sections.items if isinstance(item, Const) and type(item.value) is int)]
        if sections.open or len(bounds) <= len(sections.items) or len(bounds) > _MOST_PARTS:
            return None
        ends = [*bounds[1:], size]
        if size is None:
            return (None,) * len(bounds)
        return tuple([len(range(size)[begin:end]) for begin, end in zip(bounds, ends, strict=True)])
    count = sections.value if isinstance(sections, Const) else None
    if type(count) is not int or not 0 < count <= _MOST_PARTS:
        return None
    return (
        (None,) * count if size is None else tuple([size // count + (place < size % count) for place in range(count)])
    )


def indexed(shape: Sizes, index: Value) -> Sizes | None:
    """Returns the shape of `array[index]` for an index of numbers, slices, None, an ellipsis and arrays of integers."""
    parts = index.items if isinstance(index, Seq) and index.kind == "tuple" and not index.open else (index,)
    taken = sum(not _is(part, None) and not _is(part, Ellipsis) for part in parts)
    if taken > len(shape) or sum(_is(part, Ellipsis) for part in parts) > 1:
        return None
    rest = list(shape)
    found: list[int | None] = []
    picked: Sizes | None = ()
    groups = place_of_picked = 0
    is_picking = False
    picks = any(map(_may_pick, parts))
    for place, part in enumerate(parts):
        was_picking, is_picking = is_picking, False
        if _is(part, None):
            found.append(1)
        elif _is(part, Ellipsis):
            behind = sum(not _is(other, None) for other in parts[place + 1 :])
            found += rest[: len(rest) - behind]
            rest = rest[len(rest) - behind :]
        elif isinstance(part, Seq) and part.kind == "slice":
            found.append(_sliced(rest.pop(0), part))
        else:
            is_number = isinstance(part, Const) and type(part.value) is int
            own = () if is_number else _places_picked(part, rest)
            picked = broadcast(picked, own)
            if picked is None:
                return None
            rest.pop(0)
            # Beside arrays, numbers are arrays, too.
            is_picking = picks
            if is_picking and not was_picking:
                groups, place_of_picked = groups + 1, 0 if groups else len(found)
    return (*found[:place_of_picked], *picked, *found[place_of_picked:], *rest) if picked is not None else None


def _may_pick(part: Value) -> bool:
    """Returns whether an index is an array or a list, which picks entries."""
    return isinstance(part, Data) or (isinstance(part, Seq) and part.kind != "slice")


def _places_picked(part: Value, rest: list[int | None]) -> Sizes | None:
    """Returns the shape of an array of integers; None for an index that may be a mask, or is unknown.

    Args:
        part: the index.
        rest: the sizes of the axes from the one that it indexes on; a mask would have the same sizes.
    """
    if isinstance(part, Seq):
        return literal_shape(part) if part.kind == "list" and _holds_integers(part) else None
    shape = part.shape if isinstance(part, Data) else None
    if shape is None or (isinstance(part, Data) and INTEGERS in part.labels):
        return shape
    may_be_mask = len(shape) <= len(rest) and all(
        size in (None, own) or own is None for size, own in zip(rest, shape, strict=False)
    )
    return None if may_be_mask else shape


def _holds_integers(value: Value) -> bool:
    if isinstance(value, Seq):
        return bool(value.items) and all(map(_holds_integers, value.items))
    return isinstance(value, Const) and type(value.value) is int


def _is(value: Value, constant: object) -> bool:
    return isinstance(value, Const) and value.value is constant


def _sliced(size: int | None, given: Seq) -> int | None:
    lower, upper, step = given.items
    bounds = [part.value if isinstance(part, Const) else "?" for part in given.items]
    if bounds == [None, None, None]:
        return size
    if step == Const(None) and bounds[1] == "?":
        rows = _numbers_between(lower, upper)
        return rows if rows is None or size is None else min(rows, size)
    if size is None or not all(bound is None or type(bound) is int for bound in bounds) or bounds[2] == 0:
        return None
    return len(range(*slice(*bounds).indices(size)))


def _numbers_between(lower: Value, upper: Value) -> int | None:
    """Returns how many numbers there are from `i * 4` to `(i + 1) * 4`, whatever `i` is; None if that is unknown."""
    lines = of_kinds(labels_of(lower), LINE), of_kinds(labels_of(upper), LINE)
    if len(lines[0]) != 1 or len(lines[1]) != 1:
        return None
    (_, *first, start), (_, *second, end) = lines[0][0], lines[1][0]
    return end - start if first == second and end > start else None


def on_line(value: Value, node: Expression) -> Value:
    """Returns a number with a label that says how it is computed from a variable; the variable itself if it is one."""
    if not isinstance(node, Name) or type(value) is not Data or value.shape or of_kinds(value.labels, LINE):
        return value
    return replace(value, labels=value.labels | {(LINE, node.name, 1, 0)})


def moved_line(operator: str, sides: tuple[Expression, Expression], left: Value, right: Value) -> frozenset[Any]:
    """Returns the label of `i + 4`, `i - 4` or `i * 4`, where `i` is an unknown number; no label for anything else.

    Args:
        operator: the operator.
        sides: the expressions of both operands.
        left: the left operand.
        right: the right operand.
    """
    for number, moved, node in ((right, left, sides[0]), (left, right, sides[1])):
        if isinstance(number, Const) and type(number.value) is int and not (operator == "-" and number is left):
            by = number.value
            lines = of_kinds(labels_of(on_line(moved, node)), LINE)
            for _, name, factor, start in lines if len(lines) == 1 else ():
                if operator == "*":
                    return frozenset([(LINE, name, factor * by, start * by)])
                return frozenset([(LINE, name, factor, start + by if operator == "+" else start - by)])
    return NONE
