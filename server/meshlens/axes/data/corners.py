"""The corners of a halo in two dimensions, which stay zero if neither exchange fills them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from meshlens.axes.data.exchanges import RECEIVED
from meshlens.axes.domain.joining import labels_of, leaves
from meshlens.axes.domain.labels import BORDER, CORNER_WEIGHT, DIAGONAL, NONE, WEIGHS_CORNERS, of_kinds
from meshlens.axes.domain.values import Arg, Const, Data, Seq, Site, Value
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run
from meshlens.facts.nodes import Constant, Expression, Slice, TupleDisplay, UnaryOperation

_SIDE = "at-side"
"""The kind of the label of `x.at[…]` for a side of a padded array."""

_MAKE = frozenset({"numpy.array", "jax.numpy.array", "numpy.asarray", "jax.numpy.asarray"})
_CONVOLVE = frozenset({"jax.scipy.signal.convolve2d", "jax.scipy.signal.convolve", "jax.scipy.signal.correlate2d"})
_ENDS = frozenset({0, 2, -1})
_SIZE = 3


class _Border(NamedTuple):
    """An array that was padded with zeros in its first two dimensions.

    Attributes:
        kind: the kind of the label.
        width: the number of rows and columns at each side.
        filled: the dimensions whose sides hold what neighbors sent, apart from the corners.
        axis: the axis of the last exchange.
        site: where its result was written.
    """

    kind: str
    width: int
    filled: tuple[int, ...]
    axis: str
    site: Site


def of_call(name: str, args: tuple[Arg, ...], site: Site, ctx: Context) -> frozenset[Any]:
    """Returns the labels of a function's result if it is padded with zeros or holds the weights of a stencil."""
    if name in _MAKE:
        return NONE | {WEIGHS_CORNERS} if args and _weighs_corners(args[0].value) else NONE
    width = _width(args) if name == "jax.numpy.pad" and ctx.env.maps else None
    return NONE | {_Border(BORDER, width, (), "", site)} if width is not None else NONE


def note_convolved(run: Run, name: str, args: tuple[Arg, ...], site: Site, ctx: Context) -> None:
    """Notes the convolution of a padded array with weights, if the result has no cells for the padding itself."""
    if name not in _CONVOLVE or len(args) < 2 or WEIGHS_CORNERS not in labels_of(args[1].value):
        return
    mode = by_parameter(("in1", "in2", "mode"), args).get("mode")
    for border in _unfilled(args[0].value) if mode is not None and mode.value == Const("valid") else ():
        _note(run, border, site, ctx)


def _weighs_corners(value: Value) -> bool:
    if isinstance(value, Data):
        return WEIGHS_CORNERS in value.labels
    rows = value.items if isinstance(value, Seq) and not value.open else ()
    if len(rows) != _SIZE or not all(isinstance(row, Seq) and len(row.items) == _SIZE for row in rows):
        return False
    outer = [row.items for place, row in enumerate(rows) if place != 1 and isinstance(row, Seq)]
    ends = [one for items in outer for place, one in enumerate(items) if place != 1]
    return all(isinstance(one, Const) and isinstance(one.value, (int, float)) and one.value != 0 for one in ends)


def _width(args: tuple[Arg, ...]) -> int | None:
    """Returns the width of a border of zeros around an array; None for any other padding."""
    found = by_parameter(("array", "pad_width"), args)
    if len(args) != 2 or "pad_width" not in found:
        return None
    given = list(leaves(found["pad_width"].value))
    widths = {one.value if isinstance(one, Const) else None for one in given}
    width = widths.pop() if len(widths) == 1 and len(given) in (1, 2, 4) else None
    return width if type(width) is int and width > 0 else None


def _borders(value: Value) -> list[_Border]:
    return [label for label in of_kinds(labels_of(value), BORDER) if isinstance(label, _Border)]


def _unfilled(value: Value) -> list[_Border]:
    """Returns the borders whose sides are filled in both dimensions, but not their corners."""
    return [border for border in _borders(value) if border.filled == (0, 1)]


def _note(run: Run, border: _Border, site: Site, ctx: Context) -> None:
    run.records.gradient_uses.append(GradientUse("corners-read", border.site, site, ctx, border.axis))


def at_side(array: Data, index: Value) -> Data:
    """Returns `array.at[index]`, labeled if this is a side of a border without its corners."""
    borders = _borders(array)
    sides = {_side_of(index, border.width) for border in borders}
    side = sides.pop() if len(sides) == 1 else None
    return replace(array, labels=array.labels | {(_SIDE, side)}) if side is not None else array


def _side_of(index: Value, width: int) -> int | None:
    """Returns the dimension at whose end an index such as `[0, 1:-1]` selects; None for another index."""
    if not isinstance(index, Seq) or index.kind != "tuple" or len(index.items) != 2:
        return None
    inner = [_bounds(part) == (width, -width) for part in index.items]
    ends = [_is_end(part, width) for part in index.items]
    return {(True, False): 1, (False, True): 0}.get((inner[0], inner[1])) if ends == inner[::-1] else None


def _bounds(part: Value) -> tuple[object, object] | None:
    if not isinstance(part, Seq) or part.kind != "slice" or len(part.items) != _SIZE:
        return None
    lower, upper, step = (one.value if isinstance(one, Const) else "?" for one in part.items)
    return (lower, upper) if step is None else None


def _is_end(part: Value, width: int) -> bool:
    if isinstance(part, Const):
        return width == 1 and part.value in (0, -1)
    return _bounds(part) in ((None, width), (0, width), (-width, None))


def set_at(array: Data, args: tuple[Arg, ...], site: Site) -> frozenset[Any]:
    """Returns the label of `array.at[index].set(value)` if it fills a side of a border with what a neighbor sent."""
    sides = of_kinds(array.labels, _SIDE)
    received = of_kinds(labels_of(args[0].value), RECEIVED) if len(args) == 1 else ()
    if len(sides) != 1 or len(received) != 1:
        return NONE
    (_, side), (_, axis) = sides[0], received[0]
    return frozenset(
        [one._replace(filled=tuple(sorted({*one.filled, side})), axis=axis, site=site) for one in _borders(array)]
    )


def of_item(run: Run, array: Data, index: Value, key: Expression, site: Site, ctx: Context) -> frozenset[Any]:
    """Returns the labels of an item of a padded array or of weights; notes a stencil that is written out."""
    if not isinstance(index, Seq) or index.kind != "tuple" or len(index.items) != 2:
        return NONE
    if WEIGHS_CORNERS in array.labels:
        is_corner = all(isinstance(part, Const) and part.value in _ENDS for part in index.items)
        return NONE | {CORNER_WEIGHT} if is_corner else NONE
    found = [one for one in _unfilled(array) if all(_is_shifted(part, one.width) for part in index.items)]
    if isinstance(key, TupleDisplay) and all(map(_is_written, key.items)):
        for border in found:
            _note(run, border, site, ctx)
        return NONE
    return frozenset([border._replace(kind=DIAGONAL) for border in found])


def _is_shifted(part: Value, width: int) -> bool:
    """Returns whether a slice of a padded dimension begins or ends with its border, and covers more than the border."""
    bounds = _bounds(part)
    if bounds is None:
        return False
    lower, upper = bounds
    if lower in (None, 0):
        return upper is not None and not (isinstance(upper, int) and 0 <= upper <= 2 * width)
    return lower == 2 * width and not (isinstance(upper, int) and upper < 0)


def _is_written(key: Expression) -> bool:
    """Returns whether the bounds of a slice are written as numbers."""
    bounds = (key.lower, key.upper) if isinstance(key, Slice) else ()
    return bool(bounds) and all(one is None or isinstance(one, (Constant, UnaryOperation)) for one in bounds)


def of_operation(run: Run, operator: str, sides: tuple[Value, Value], site: Site, ctx: Context) -> frozenset[Any]:
    """Returns the labels of weights that are scaled; notes neighbors at an angle that are weighted."""
    if operator not in ("*", "/"):
        return NONE
    for one, other in (sides, sides[::-1]):
        labels = labels_of(one)
        if not labels:
            continue
        if WEIGHS_CORNERS in labels and _is_factor(other) and (operator == "*" or one is sides[0]):
            return NONE | {WEIGHS_CORNERS}
        for border in of_kinds(labels, DIAGONAL):
            if isinstance(border, _Border) and (CORNER_WEIGHT in labels_of(other) or _is_factor(other)):
                _note(run, border, site, ctx)
    return NONE


def _is_factor(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, (int, float)) and value.value != 0
