"""Coordinates that each device computes from the size of its part of an array, without the offset of the part.

`arange(n)`, `linspace(0, 1, n)` or `fftfreq(n)` are the same on every device if `n` is the size of a part. Combined
with a dimension that is split over the devices, they treat every part as if it were the first, or the whole.

Two labels meet: that of an array's dimension which is split over an axis, and that of such coordinates. Dimensions of
arrays are counted from the front, because specs and collectives count them so and the rank is often unknown; those of
coordinates are counted from the back, because broadcasting aligns them so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from meshlens.axes.data.arrays import is_array, shape_of
from meshlens.axes.data.collected_shapes import integer
from meshlens.axes.data.shapes import BROADCAST, SAME_SHAPE
from meshlens.axes.domain.axis_sizes import SOME_COUNT, size_along
from meshlens.axes.domain.joining import labels_of, variation_of
from meshlens.axes.domain.labels import COORDINATES, COUNT, FROM_ZERO, IMAGINARY, NONE, PART_SIZE, SPLIT_ALONG, of_kinds
from meshlens.axes.domain.values import STATIC, Arg, Const, Data, Part, Seq, Site, Spec, Value
from meshlens.axes.domain.variation import ZERO, is_different, is_given, is_same
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run
from meshlens.facts.nodes import Constant, Expression

_SET, _TURNED, _TURNED_SUM = "set-by-part", "turned-by-part", "turned-sum"
_SIZES = "sizes-of-part"
_KINDS = frozenset({SPLIT_ALONG, COORDINATES, _SET, _TURNED})

Form = Literal["index", "grid", "phase", "curved", "frequency"]
"""How coordinates depend on the position: not yet scaled, linearly, linearly and times an imaginary number (or as the
exponential of that), in another way; or Fourier frequencies."""


class _Coordinates(NamedTuple):
    """A label of coordinates.

    Attributes:
        kind: the kind of the label.
        axis: the axis over which the dimension is split whose size was taken.
        back: the dimension along which they change, counted from the back; 1 is the last.
        rank: the number of their dimensions.
        form: how they depend on the position.
        site: the place to report.
        is_read: whether the size was read from an array's shape, not computed from the number of devices.
    """

    kind: str
    axis: str
    back: int
    rank: int
    form: Form
    site: Site
    is_read: bool


_MAKERS: dict[str, tuple[tuple[str, ...], str, Form]] = {
    "fft.fftfreq": (("n", "d"), "n", "frequency"),
    "fft.rfftfreq": (("n", "d"), "n", "frequency"),
    "linspace": (("start", "stop", "num"), "num", "grid"),
    "arange": (("stop",), "stop", "index"),
}
_COUNTED = {f"{module}.{name}": row for module in ("jax.numpy", "numpy") for name, row in _MAKERS.items()}
"""For each function that makes coordinates: its parameters, the one that gives their number, and their form."""

_MOVED = frozenset({"sort", "flip", "roll", "fliplr", "flipud", "softmax", "log_softmax", "standardize"})
_LIKE = frozenset(
    "astype asarray array copy negative real imag conj conjugate stop_gradient float32 nan_to_num round".split()
)
_ELEMENTWISE = (SAME_SHAPE - _MOVED) | _LIKE | {"expand_dims", "reshape"}
_EXPONENTIALS = frozenset({"exp", "exp2", "expm1"})
_TRANSFORMS = frozenset("fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn".split())
_SUMS = frozenset({"sum", "mean", "average", "nansum", "nanmean", "cumsum", "trapezoid"})
_MODULI = frozenset({"abs", "absolute", "vdot"})
_SHIFTED_FREQUENCIES = frozenset({"fftshift", "ifftshift"})
_OPERATORS = {
    **{"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "true_divide": "/", "power": "**"},
    **{"mod": "%", "remainder": "%", "floor_divide": "//", "equal": "==", "not_equal": "!="},
    **{"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="},
}
_COMPARISONS = frozenset({"<", "<=", ">", ">="})
_EQUALITIES = frozenset({"==", "!="})
_RELATIVE = _COMPARISONS | _EQUALITIES | {"-"}
_REPEATING = frozenset({"%", "//"})

Move = Callable[[int, int | None], int | None]
"""Returns where a dimension goes, counted from the front, given the rank; None if it is gone or unknown."""


def split_by(spec: Value, names: Iterable[str]) -> frozenset[Any]:
    """Returns the labels of the dimensions that a spec splits over some of the given axes."""
    if not isinstance(spec, Spec) or spec.open:
        return NONE
    found = set()
    for place, entry in enumerate(spec.entries):
        for name in entry.items if isinstance(entry, Seq) else (entry,):
            if isinstance(name, Const) and name.value in names:
                found.add((SPLIT_ALONG, name.value, place))
    return frozenset(found)


def shape_in_part(array: Data, found: Value, site: Site) -> Value:
    """Returns `array.shape`, where the size of each dimension that is split over devices is known as that of a part."""
    split: dict[int, tuple[str, ...]] = {}
    for _, axis, place in of_kinds(array.labels, SPLIT_ALONG):
        split[place] = (*split.get(place, ()), axis)
    if not split:
        return found
    if isinstance(found, Seq):
        parts = [_size(size, split.get(place, ()), site) for place, size in enumerate(found.items)]
        return Seq("tuple", tuple(parts))
    if not isinstance(found, Data):
        return found
    return replace(found, labels=found.labels | {(_SIZES, axes, place, site) for place, axes in split.items()})


def _size(size: Value, axes: tuple[str, ...], site: Site) -> Value:
    if not axes:
        return size
    if isinstance(size, Const):
        return Const(size.value, size.origin, size.via, Part(site, axes))
    return replace(STATIC, labels=frozenset([(PART_SIZE, axis, site) for axis in axes]))


def size_at(sizes: Value, found: Data, index: Value) -> frozenset[Any]:
    """Returns the labels of one size of an array, given all of them and the size without these labels."""
    if not isinstance(sizes, Data):
        return frozenset(of_kinds(found.labels, PART_SIZE))
    sized = [(axes, site) for _, axes, place, site in of_kinds(sizes.labels, _SIZES) if index == Const(place)]
    return frozenset([(PART_SIZE, axis, site) for axes, site in sized for axis in axes])


def each_size(sizes: Value, count: int) -> list[Value] | None:
    """Returns the sizes that are unpacked from the shape of an array of unknown rank; None for any other value."""
    if not isinstance(sizes, Data) or not of_kinds(sizes.labels, _SIZES):
        return None
    return [replace(STATIC, labels=size_at(sizes, STATIC, Const(place))) for place in range(count)]


def after_collective(name: str, value: Value, found: dict[str, Arg], names: tuple[str, ...]) -> frozenset[Any]:
    """Returns the labels of a collective's result.

    A tiled `all_to_all` completes one dimension and splits another one; a tiled `psum_scatter` splits a dimension.
    """
    labels = labels_of(value)
    split = of_kinds(labels, SPLIT_ALONG)
    is_tiled = "tiled" in found and found["tiled"].value == Const(True)
    if "axis_index_groups" in found or not names:
        return NONE
    if name in ("ppermute", "pshuffle", "pvary", "pcast"):
        return frozenset(split)
    if name in ("psum", "pmean", "pmax", "pmin"):
        return frozenset([label for label in split if label[1] not in names])
    completed = {"all_to_all": "concat_axis", "all_gather": "axis"}.get(name)
    divided = {"all_to_all": "split_axis", "psum_scatter": "scatter_dimension"}.get(name)
    if not is_tiled or (completed is None and divided is None):
        return NONE
    gone = _dimension(found, completed, 0 if name == "all_gather" else None) if completed is not None else None
    new = _dimension(found, divided, 0 if name == "psum_scatter" else None) if divided is not None else None
    if (gone is None) != (completed is None) or (new is None) != (divided is None):
        return NONE
    kept = [label for label in split if label[1] not in names or label[2] not in (gone, new)]
    return frozenset([*kept, *[(SPLIT_ALONG, axis, new) for axis in names if new is not None]])


def _dimension(found: dict[str, Arg], parameter: str, default: int | None) -> int | None:
    """Returns a dimension that a collective works along, counted from the front; None if it is unknown."""
    place = integer(found, parameter, default)
    return place if place is not None and place >= 0 else None


def quotient(operator: str, right: Value, divisor: Expression, site: Site) -> Part | None:
    """Returns what is known of `left // right` if the divisor may be a number of devices, which code seldom writes."""
    if operator != "//" or isinstance(divisor, Constant):
        return None
    counts = [label[1] for label in of_kinds(labels_of(right), COUNT)]
    count = right.value if isinstance(right, Const) else counts[0] if len(counts) == 1 else None
    return Part(site, (), count) if type(count) is int and count > 1 else None


def unknown_quotient(operator: str, right: Value, site: Site) -> frozenset[Any]:
    """Returns the labels of `left // right` if the divisor is the number of devices along an axis."""
    labels = labels_of(right) if operator == "//" else NONE
    if SOME_COUNT not in labels:
        return NONE
    return frozenset([(PART_SIZE, label[1], site) for label in of_kinds(labels, "size-of", "over")])


def of_call(run: Run, name: str, args: tuple[Arg, ...], found: Data, site: Site, ctx: Context) -> Data:
    """Returns a function's or method's result with the labels of coordinates and of split dimensions.

    Args:
        run: the run.
        name: the function.
        args: its arguments; for a method, the array comes first.
        found: its result without the labels.
        site: the call.
        ctx: the context.
    """
    if name in _COUNTED:
        made = _made(name, args, site, ctx)
        return replace(found, labels=found.labels | made) if made else found
    short = name.rpartition(".")[2]
    if not args or not any(_concerned(labels_of(arg.value)) for arg in args):
        return found
    if short in BROADCAST:
        values = [arg.value for arg in args if arg.label is None]
        kept = combined(run, _OPERATORS.get(short, short), values, ctx)
        return replace(found, labels=found.labels | kept) if kept else found
    if short == "take" and len(args) == 3 and isinstance(args[0].value, Data) and args[2].value == Const(0):
        rows = of_rows(args[0].value, args[1].value, site, ctx)
        return replace(found, labels=found.labels | rows) if rows else found
    kept = _of_one(short, args, found)
    if short in _SUMS:
        kept |= {(_TURNED_SUM, *label[1:]) for label in of_kinds(labels_of(args[0].value), _TURNED)}
    if short in _MODULI or short in ("conj", "conjugate"):
        _note_modulus(run, short, labels_of(args[0].value), ctx)
    if short in _TRANSFORMS:
        _note_segments(run, labels_of(args[0].value), kept, ctx)
    return replace(found, labels=found.labels | kept) if kept else found


def unchanged(value: Value) -> frozenset[Any]:
    """Returns the labels of `-x`."""
    return frozenset(of_kinds(labels_of(value), SPLIT_ALONG, COORDINATES))


def _concerned(labels: frozenset[Any]) -> bool:
    for label in labels:
        if isinstance(label, tuple) and label[0] in _KINDS:
            return True
    return False


def _made(name: str, args: tuple[Arg, ...], site: Site, ctx: Context) -> frozenset[Any]:
    """Returns the labels of coordinates whose number is the size of a part."""
    parameters, counter, form = _COUNTED[name]
    given = by_parameter(parameters, args)
    size = given.get(counter)
    if form == "index" and len([arg for arg in args if arg.label is None]) != 1:
        return NONE
    if size is None or not given.keys() <= {*parameters, "dtype", "endpoint"}:
        return NONE
    others = [arg.value for key, arg in given.items() if key not in (counter, "dtype", "endpoint")]
    return frozenset(
        [
            _Coordinates(COORDINATES, axis, 1, 1, form, _place(site, read, ctx), is_read)
            for axis, read, is_read in _split_sizes(size.value, ctx)
            if not any(_may_shift(other, axis) for other in others)
        ]
    )


def _split_sizes(size: Value, ctx: Context) -> list[tuple[str, Site, bool]]:
    """Returns the axes over which the dimension is split whose size a number is, and where the size was taken."""
    if not isinstance(size, Const):
        return [(axis, site, True) for _, axis, site in of_kinds(labels_of(size), PART_SIZE)]
    if size.part is None or size.part.is_less:
        return []
    read, axes, count, _ = size.part
    counted = [axis for axis in ctx.env.names if size_along(ctx.env, axis) == count] if count is not None else []
    return [*[(axis, read, True) for axis in axes], *[(axis, read, False) for axis in counted]]


def _place(site: Site, read: Site, ctx: Context) -> Site:
    """Returns the place to report: the call that makes coordinates, or that of the helper which was given the size."""
    if (site.path, site.block) == (read.path, read.block):
        return site
    calls = [step.site for step in ctx.route if (step.site.path, step.site.block) == (read.path, read.block)]
    return calls[-1] if calls else site


def combined(run: Run, operator: str, values: Sequence[Value], ctx: Context) -> frozenset[Any]:
    """Returns the labels of an elementwise operation's result; notes coordinates that meet a split dimension."""
    labels = [labels_of(value) for value in values]
    if not any(map(_concerned, labels)):
        return NONE
    ranks = [len(shape) if (shape := shape_of(value)) is not None else None for value in values]
    known = [rank for rank in ranks if rank is not None]
    rank = max(known) if len(known) == len(ranks) else None
    found: set[Any] = set()
    for own, own_rank in zip(labels, ranks, strict=True):
        shift = rank - own_rank if rank is not None and own_rank is not None else 0
        found.update((SPLIT_ALONG, axis, place + shift) for _, axis, place in of_kinds(own, SPLIT_ALONG))
    if operator in ("+", "-", "*", "/"):
        _note_shifted(run, labels, ctx)
    for place, own in enumerate(labels):
        others = [*values[:place], *values[place + 1 :]]
        for label in _coordinates(own):
            if label.form == "phase":
                _note_turned_back(run, label, others, ctx)
            if _is_met(label, others):
                found.update(_note_met(run, operator, label, ctx))
            elif (kept := _kept(operator, label, place, others)) is not None:
                found.add(kept._replace(rank=max([label.rank, *known])))
    return frozenset(found)


def _note_met(run: Run, operator: str, label: _Coordinates, ctx: Context) -> frozenset[Any]:
    # A phase that is added may be a response to a state from another device, whose phase has the offset.
    if label.form == "index" or (label.form == "phase" and operator not in ("*", "/")):
        return NONE
    run.records.gradient_uses.append(GradientUse("own-coordinates", label.site, None, ctx, label.axis))
    return frozenset([(_TURNED if label.form == "phase" else _SET, label.axis, label.site)])


def _note_shifted(run: Run, labels: list[frozenset[Any]], ctx: Context) -> None:
    """Notes that a value which depends on the device's index is combined with an array set by a part's coordinates.

    If the array was multiplied by phases, only another phase shifts it; its sums may be multiplied by that phase later.
    """
    for one, other in (labels, labels[::-1]) if len(labels) == 2 else ():
        if "index" in other and "index" not in one:
            turned = of_kinds(one, _TURNED if "complex" in other else _TURNED_SUM)
            for _, axis, site in [*of_kinds(one, _SET), *turned]:
                run.records.gradient_uses.append(GradientUse("positions-shifted", site, None, ctx, axis))


def _note_turned_back(run: Run, label: _Coordinates, others: list[Value], ctx: Context) -> None:
    """Notes that an array is multiplied by phases twice: if it is turned back, the phases were relative on purpose."""
    for other in others:
        for _, axis, site in of_kinds(labels_of(other), _TURNED):
            if axis == label.axis:
                run.records.gradient_uses.append(GradientUse("positions-shifted", site, None, ctx, axis))
                run.records.gradient_uses.append(GradientUse("positions-shifted", label.site, None, ctx, axis))


def note_exchanged(run: Run, labels: frozenset[Any], ctx: Context) -> None:
    """Notes that devices send each other sums over their parts; the receiver may multiply them by the missing phase."""
    for _, axis, site in of_kinds(labels, _TURNED_SUM):
        run.records.gradient_uses.append(GradientUse("positions-shifted", site, None, ctx, axis))


def _note_modulus(run: Run, short: str, labels: frozenset[Any], ctx: Context) -> None:
    """Notes a modulus, which does not depend on the phase."""
    for _, axis, site in of_kinds(labels, _TURNED if short in _MODULI else _TURNED_SUM):
        run.records.gradient_uses.append(GradientUse("positions-shifted", site, None, ctx, axis))


def _note_segments(run: Run, labels: frozenset[Any], kept: frozenset[Any], ctx: Context) -> None:
    """Notes a transform along a split dimension: each part is a signal of its own, so a window in it was right."""
    whole = {label[1] for label in of_kinds(labels, SPLIT_ALONG)} - {label[1] for label in of_kinds(kept, SPLIT_ALONG)}
    for _, axis, site in of_kinds(labels, _SET, _TURNED):
        if axis in whole:
            run.records.gradient_uses.append(GradientUse("positions-shifted", site, None, ctx, axis))


def _coordinates(labels: frozenset[Any]) -> list[_Coordinates]:
    return [label for label in of_kinds(labels, COORDINATES) if isinstance(label, _Coordinates)]


def _is_met(label: _Coordinates, others: list[Value]) -> bool:
    """Returns whether coordinates change along a dimension of another operand that is split over the same axis."""
    for other in others:
        shape = shape_of(other)
        for _, axis, place in of_kinds(labels_of(other), SPLIT_ALONG):
            if axis != label.axis:
                continue
            if shape is not None and place == len(shape) - label.back:
                return True
            # An array of unknown rank has at least as many dimensions as coordinates made to fit it.
            if shape is None and place >= label.rank - label.back and (label.is_read or label.rank > 1):
                return True
    return False


def _kept(operator: str, label: _Coordinates, place: int, others: list[Value]) -> _Coordinates | None:
    """Returns the label of coordinates after an operation; None if they may be right or relative from there on."""
    is_frequency = label.form == "frequency"
    if any(_may_shift(other, label.axis) for other in others) or operator in _REPEATING:
        return None
    if is_frequency:
        return label
    if operator in _RELATIVE and any(_is_along(other, label.axis) for other in others):
        # The offsets cancel, also those of positions around a part.
        return None
    if operator in ("+", "-") and not all(is_same(variation_of(other).over(label.axis).truth) for other in others):
        return None
    if operator == "**":
        return label._replace(form="curved") if place == 0 else None
    if operator in _COMPARISONS | _EQUALITIES:
        return label._replace(form="curved") if label.form != "index" or _are_lengths(operator, others) else None
    if operator not in ("+", "-", "*", "/"):
        return label._replace(form="curved") if label.form != "index" else None
    is_turned = operator in ("*", "/") and any(IMAGINARY in labels_of(other) for other in others)
    if is_turned and label.form != "curved":
        return label._replace(form="phase")
    is_scaled = operator in ("*", "/") and not all(isinstance(one, Const) and type(one.value) is int for one in others)
    return label._replace(form="grid") if is_scaled and label.form == "index" else label


def _are_lengths(operator: str, others: list[Value]) -> bool:
    """Returns whether positions are compared with arrays, such as the lengths of sequences, not with a local bound."""
    return operator in _COMPARISONS and all(is_array(other) and shape_of(other) != () for other in others)


def _is_along(value: Value, axis: str) -> bool:
    """Returns whether a value contains coordinates of a part, or other positions that are counted from zero."""
    labels = labels_of(value)
    return FROM_ZERO in labels or any(label.axis == axis for label in _coordinates(labels))


def _may_shift(value: Value, axis: str) -> bool:
    """Returns whether a value may contain the offset of a part, because it differs between devices."""
    return "index" in labels_of(value) or is_different(variation_of(value).over(axis).truth)


def _of_one(short: str, args: tuple[Arg, ...], found: Data) -> frozenset[Any]:
    """Returns the labels of the result of a function of one array."""
    array = args[0].value
    labels = labels_of(array)
    if short in _TRANSFORMS:
        axes = _transformed(short, args)
        return frozenset([one for one in of_kinds(labels, SPLIT_ALONG) if axes is not None and one[2] not in axes])
    if short in _SHIFTED_FREQUENCIES:
        return frozenset([label for label in _coordinates(labels) if label.form == "frequency"])
    if short == "reshape":
        return _reshaped(labels, found)
    if short == "expand_dims":
        axis = by_parameter(("a", "axis"), args).get("axis")
        place = axis.value.value if axis is not None and isinstance(axis.value, Const) else None
        return _inserted(labels, shape_of(array), place) if type(place) is int else NONE
    if short == "swapaxes":
        return _swapped(labels, args)
    if short not in _ELEMENTWISE:
        return NONE
    kept: set[Any] = set(of_kinds(labels, SPLIT_ALONG))
    for label in _coordinates(labels):
        if short in _LIKE or label.form == "frequency":
            kept.add(label)
        elif short not in _EXPONENTIALS or label.form == "curved":
            # An exponential of an index is relative: its offset is a factor, as in a recurrence over the parts.
            kept.add(label._replace(form="curved"))
        elif label.form == "phase":
            kept.add(label)
    return frozenset(kept)


def _transformed(short: str, args: tuple[Arg, ...]) -> tuple[int, ...] | None:
    """Returns the axes of a Fourier transform, counted from the front; None if they are unknown."""
    several = short.rstrip("2").endswith("n") or short.endswith("2")
    said = by_parameter(("a", "s", "axes") if several else ("a", "n", "axis"), args)
    given = said.get("axes" if several else "axis")
    shape = shape_of(args[0].value)
    rank = len(shape) if shape is not None else None
    if given is None:
        if rank is None or short.endswith("n"):
            return None
        return (rank - 2, rank - 1) if several else (rank - 1,)
    value = given.value
    items = value.items if isinstance(value, Seq) and not value.open else (value,)
    places = [item.value for item in items if isinstance(item, Const) and type(item.value) is int]
    if len(places) < len(items) or (rank is None and min(places, default=0) < 0):
        return None
    return tuple([place % rank if rank else place for place in places])


def _reshaped(labels: frozenset[Any], found: Data) -> frozenset[Any]:
    """Returns the labels of a vector of coordinates that gets dimensions of size 1."""
    shape = found.shape
    if shape is None:
        return NONE
    places = [place for place, size in enumerate(shape) if size != 1]
    if len(places) != 1:
        return NONE
    made = [label for label in _coordinates(labels) if label.rank == 1]
    return frozenset([label._replace(back=len(shape) - places[0], rank=len(shape)) for label in made])


def of_grids(args: tuple[Arg, ...], grids: Seq) -> Seq:
    """Returns the arrays that `meshgrid` returns, one for each of its arguments, with the labels of coordinates."""
    given = [arg.value for arg in args if arg.label is None]
    indexing = next((arg.value for arg in args if arg.label == "indexing"), Const("xy"))
    if len(grids.items) != len(given) or indexing not in (Const("xy"), Const("ij")):
        return grids
    order = [1, 0, *range(2, len(given))] if indexing == Const("xy") and len(given) > 1 else list(range(len(given)))
    items: list[Value] = []
    for place, value, grid in zip(order, given, grids.items, strict=True):
        made = [label for label in _coordinates(labels_of(value)) if label.rank == 1]
        kept = {label._replace(back=len(given) - place, rank=len(given)) for label in made}
        items.append(replace(grid, labels=grid.labels | kept) if kept and isinstance(grid, Data) else grid)
    return replace(grids, items=tuple(items))


def _inserted(labels: frozenset[Any], shape: Sequence[object] | None, axis: int) -> frozenset[Any]:
    """Returns the labels of an array that gets a new dimension of size 1."""

    def move(place: int, rank: int | None) -> int | None:
        if axis < 0 and rank is None:
            return None
        at = axis if axis >= 0 else axis + (rank or 0) + 1
        return place + 1 if place >= at else place

    return _moved(labels, len(shape) if shape is not None else None, move, 1)


def _swapped(labels: frozenset[Any], args: tuple[Arg, ...]) -> frozenset[Any]:
    given = by_parameter(("a", "axis1", "axis2"), args)
    axes = [given[key].value for key in ("axis1", "axis2") if key in given]
    places = [axis.value for axis in axes if isinstance(axis, Const) and type(axis.value) is int]
    shape = shape_of(args[0].value)
    if len(places) != 2 or (shape is None and min(places) < 0):
        return NONE
    one, other = [place % len(shape) if shape else place for place in places]
    to = {one: other, other: one}
    return _moved(labels, len(shape) if shape is not None else None, lambda place, _: to.get(place, place), 0)


def transposed(labels: frozenset[Any], shape: Sequence[object] | None) -> frozenset[Any]:
    """Returns the labels of `x.T`."""
    if not _concerned(labels):
        return NONE

    def move(place: int, rank: int | None) -> int | None:
        return rank - 1 - place if rank is not None else None

    return _moved(labels, len(shape) if shape is not None else None, move, 0)


def _moved(labels: frozenset[Any], rank: int | None, move: Move, added: int) -> frozenset[Any]:
    """Returns labels after the dimensions of an array moved, and `added` dimensions were added."""
    found: set[Any] = set()
    for _, axis, place in of_kinds(labels, SPLIT_ALONG):
        to = move(place, rank)
        if to is not None:
            found.add((SPLIT_ALONG, axis, to))
    for label in _coordinates(labels):
        to = move(label.rank - label.back, label.rank)
        if to is not None:
            found.add(label._replace(back=label.rank + added - to, rank=label.rank + added))
    return frozenset(found)


def of_item(array: Data, index: Value) -> frozenset[Any]:
    """Returns the labels of `array[index]` that dimensions keep: whole slices, new dimensions, keys of a tree."""
    if not _concerned(array.labels):
        return NONE
    if isinstance(index, Const) and isinstance(index.value, str):
        return frozenset(of_kinds(array.labels, SPLIT_ALONG))
    parts = index.items if isinstance(index, Seq) and index.kind == "tuple" and not index.open else (index,)
    if any(isinstance(part, Data) for part in parts):
        return NONE
    added = sum(_is(part, None) for part in parts) - sum(map(_is_number, parts))
    shape = array.shape
    rank = len(shape) if shape is not None else None
    return _moved(array.labels, rank, lambda place, rank: _place_after(parts, place, rank), added)


def of_rows(table: Data, index: Value, site: Site, ctx: Context) -> frozenset[Any]:
    """Returns the labels of rows that every device takes from the front of a table, as many as its part has.

    Both `table[:n]` and `table[arange(n)]` take the rows that belong to the first part. The table must be the same on
    all devices, and its rows must not be equal.
    """
    if "uniform" in table.labels or of_kinds(table.labels, SPLIT_ALONG):
        return NONE
    rank = len(table.shape) if table.shape is not None else 2
    if type(index) is Data:
        rows = [label for label in _coordinates(index.labels) if label.rank == 1 and label.is_read]
        taken = [label._replace(back=rank, rank=rank, form="curved") for label in rows]
        return frozenset([label for label in taken if _is_alike(table, label.axis)])
    parts = index.items if isinstance(index, Seq) and index.kind == "tuple" and not index.open else (index,)
    new = sum(_is(part, None) for part in parts)
    sliced = [place for place, part in enumerate(parts) if not _is_whole(part) and not _is(part, None)]
    part = parts[sliced[0]] if len(sliced) == 1 else None
    if not isinstance(part, Seq) or part.kind != "slice" or part.items[0] not in (Const(None), Const(0)):
        return NONE
    sizes = _split_sizes(part.items[1], ctx) if _is(part.items[2], None) else []
    rank = max(rank + new, len(parts))
    return frozenset(
        [
            _Coordinates(COORDINATES, axis, rank - sliced[0], rank, "curved", _place(site, read, ctx), True)
            for axis, read, is_read in sizes
            if is_read and _is_alike(table, axis)
        ]
    )


def _is_alike(table: Data, axis: str) -> bool:
    """Returns whether all devices have the table; the front of what they gathered is the part of the first device."""
    along = table.over.over(axis).truth
    return is_given(along) and along != ZERO


def _is_whole(index: Value) -> bool:
    return isinstance(index, Seq) and index.kind == "slice" and all(_is(bound, None) for bound in index.items)


def _place_after(parts: Sequence[Value], place: int, rank: int | None) -> int | None:
    """Returns where an index moves a dimension; None if it takes only a part of it, or if that is unknown."""
    ellipsis = next((at for at, part in enumerate(parts) if _is(part, Ellipsis)), None)
    if ellipsis is not None:
        behind = parts[ellipsis + 1 :]
        front = place + sum(not _is(part, None) for part in behind)
        if any(not _is(part, None) for part in behind) and (rank is None or front >= rank):
            return None
        parts = parts[:ellipsis]
    before = after = 0
    for part in parts:
        if _is(part, None):
            after += 1
            continue
        if before == place:
            return after if _is_whole(part) else None
        before += 1
        after += not _is_number(part)
    return after + place - before


def _is_number(value: Value) -> bool:
    return isinstance(value, Const) and type(value.value) is int


def _is(value: Value, constant: object) -> bool:
    return isinstance(value, Const) and value.value is constant
