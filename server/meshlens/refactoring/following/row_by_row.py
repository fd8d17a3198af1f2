"""The functions of NumPy and JAX that work row by row, so that each device can run them on its own rows.

Nothing is known about functions of these libraries that are not in the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from meshlens.facts.nodes import (
    Attribute,
    BinaryOperation,
    Call,
    Constant,
    Expression,
    ListDisplay,
    Slice,
    Starred,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    last_name,
)
from meshlens.jaxapi.operations import OPERATIONS
from meshlens.project.trees import Node
from meshlens.refactoring.following.kinds import Kind, applied, flat, index_of, is_product, over_rows

_LIBRARIES = ("jax.", "numpy.", "scipy.", "optax.", "rlax.", "math.", "builtins.")
_MODULES = frozenset({"jax.numpy", "jax.lax", "jax.nn", "jax.scipy.special", "optax"})
_BY_ELEMENT = frozenset(
    {"rowwise", "curved", "linear", "added", "subtracted", "multiplied", "divided", "bounded", "chosen", "judged"}
)
_OTHERWISE = frozenset("frexp gamma modf one_hot smooth_labels where".split())
"""Functions that have their own entries below, return several results, or draw random numbers in another library."""


def _elementwise() -> frozenset[str]:
    """Returns the names of the functions that work on each element separately in every module that has them."""
    kinds: dict[str, set[str]] = {}
    for dotted, kind in OPERATIONS.items():
        module, _, name = dotted.rpartition(".")
        if module in _MODULES:
            kinds.setdefault(name, set()).add(kind)
    return frozenset(name for name, found in kinds.items() if found <= _BY_ELEMENT) - _OTHERWISE


_ELEMENTWISE = _elementwise() | frozenset(
    "ones_like zeros_like empty_like full_like identity optimization_barrier block_until_ready fix select "
    "checkpoint_name device_put float64 int16 int64 uint32 bool_ sigmoid_focal_loss".split()
)
_ON_LAST_AXIS = frozenset(
    "softmax log_softmax one_hot glu softmax_cross_entropy safe_softmax_cross_entropy "
    "softmax_cross_entropy_with_integer_labels poly_loss_cross_entropy smooth_labels cosine_similarity cosine_distance "
    "kl_divergence kl_divergence_with_log_targets convex_kl_divergence ctc_loss".split()
)
_OF_CLASSES = frozenset({"one_hot", "softmax_cross_entropy_with_integer_labels"})
_AXIS_SECOND = frozenset({"softmax", "log_softmax", "glu"})
_NOWHERE = 99
_ALONG = {
    **dict.fromkeys(
        "cumsum cumprod cummax cummin cumlogsumexp nancumsum nancumprod sort argsort flip standardize normalize "
        "var std nanvar nanstd median nanmedian max min amax amin nanmax nanmin prod nanprod any all argmax argmin "
        "logsumexp ptp nanmean count_nonzero log_normalize".split(),
        1,
    ),
    **dict.fromkeys(
        "roll diff quantile percentile nanquantile nanpercentile norm fft ifft rfft irfft split array_split "
        "take_along_axis take partition argpartition".split(),
        2,
    ),
}
_REDUCE = frozenset(
    "var std nanvar nanstd median nanmedian max min amax amin nanmax nanmin prod nanprod any all logsumexp ptp".split()
)
_EVERYWHERE = frozenset(
    "scan associative_scan while_loop fori_loop dynamic_unroll static_unroll cumsum cumprod cummax cummin cumlogsumexp "
    "nancumsum nancumprod fft ifft rfft irfft fft2 ifft2 fftn ifftn roll diff ediff1d gradient interp trapezoid trapz "
    "sorted reversed flip flipud fliplr rot90 transpose swapaxes moveaxis rollaxis unique unique_values histogram "
    "bincount searchsorted digitize segment_sum segment_mean segment_max segment_min segment_prod convolve correlate "
    "kron cov corrcoef tril triu diag diagonal trace broadcast_to tile reduce meshgrid partition argpartition "
    "nonzero argwhere flatnonzero compress extract choose shuffle permutation clip_by_global_norm safe_norm "
    "per_example_global_norm_clip ntxent shift dot_general".split()
)
_MAKERS = frozenset({"zeros", "ones", "full", "empty"})
_NEVER = frozenset("convolve correlate kron vdot".split())


@dataclass(frozen=True, slots=True)
class Given:
    """The name and the arguments of a called function.

    Attributes:
        name: the function's name, without the module.
        values: the positional arguments; for a method, the array comes first.
        keywords: the other arguments.
        kinds: the kinds of all arguments.
        kind: returns the kind of an expression.
        axes: returns the minimum number of axes of an expression.
    """

    name: str
    values: list[Expression]
    keywords: dict[str, Expression]
    kinds: list[Kind]
    kind: Callable[[Node], Kind]
    axes: Callable[[Node], int]

    @property
    def least(self) -> int:
        """Returns the minimum number of axes of the first argument."""
        return self.axes(self.values[0]) if self.values else 0

    def at(self, place: int, *names: str) -> Expression | None:
        """Returns an argument by position or by one of its names."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        return self.values[place] if 0 <= place < len(self.values) else None


def is_of_library(dotted: str) -> bool:
    """Returns whether these tables cover the library of a function."""
    return dotted.startswith(_LIBRARIES)


def may_couple(name: str) -> bool:
    """Returns whether a function of this name, from any library, is likely to combine rows."""
    return name in _EVERYWHERE


def is_elementwise(name: str) -> bool:
    """Returns whether a function of this name works on each element separately."""
    return name in _ELEMENTWISE


def makes_arrays(name: str) -> bool:
    """Returns whether a function of this name creates an array of a given shape."""
    return name in _MAKERS


def is_of_arrays(name: str) -> bool:
    """Returns whether arrays have a method of this name that is not elementwise."""
    return name in _SHAPING or name in _ALONG


def row_by_row(given: Given) -> str:
    """Returns the kind of a library function's result; "mixed" if it may not work row by row."""
    kinds = {flat(kind) for kind in given.kinds}
    if given.name in _ELEMENTWISE:
        return applied(given.kinds, elementwise=True)
    if given.name in _SHAPING:
        return _SHAPING[given.name](given)
    if "turned" in kinds:
        axis = given.at(1, "axis") if given.name in _REDUCE else None
        is_other = axis is not None and index_of(axis) == 0 and len(given.kinds) == 1 + ("axis" not in given.keywords)
        return "rows" if is_other and kinds <= {"turned", "same"} else "mixed"
    if given.name in _ON_LAST_AXIS:
        axis = given.at(1 if given.name in _AXIS_SECOND else _NOWHERE, "axis")
        return applied(given.kinds) if over_rows(axis, False, given.least) is False else "mixed"
    if given.name in _ALONG:
        axis = given.at(_ALONG[given.name], "axis")
        return applied(given.kinds) if axis is not None and over_rows(axis, axes=given.least) is False else "mixed"
    if is_product(given.name) and given.name not in _NEVER:
        return _product(given)
    return "mixed"


def is_along_last(call: Call) -> bool:
    """Returns whether a call works along the last axis of an array."""
    name = last_name(call.callee)
    said = [value for label, _, value in call.arguments if label == "axis"]
    is_along = name in _ALONG or name in ("sum", "mean", "take_along_axis", "concatenate")
    values = [*said, *(value for label, _, value in call.arguments if label is None and is_along)]
    is_negative = any(
        isinstance(value, UnaryOperation) and value.operator == "-" and isinstance(value.operand, Constant)
        for value in values
    )
    return is_negative or (name in (_ON_LAST_AXIS | {"top_k"}) - _OF_CLASSES and not said)


def tells_classes(name: str) -> bool:
    """Returns whether a function of this name takes a class label for each row."""
    return name in _OF_CLASSES


def turned(kind: str) -> str:
    """Returns the kind of an array whose first two axes are swapped."""
    return {"rows": "turned", "turned": "rows", "same": "same"}.get(kind, "mixed")


def _first(given: Given) -> str:
    return flat(given.kinds[0]) if given.kinds else "same"


def _number(node: Node | None) -> int | None:
    if node is None:
        return None
    if (
        isinstance(node, UnaryOperation)
        and node.operator == "-"
        and isinstance(node.operand, Constant)
        and type(node.operand.value) is int
    ):
        return -int(node.operand.value)
    return int(node.value) if isinstance(node, Constant) and type(node.value) is int else None


def _reshape(given: Given) -> str:
    shape = given.at(1, "shape", "newshape")
    if shape is None or _first(given) != "rows":
        return "mixed"
    first = shape.items[0] if isinstance(shape, (TupleDisplay, ListDisplay)) and shape.items else shape
    if _begins_with_rows(given, _parts(shape)):
        return "rows"
    sizes = shape.items[1:] if isinstance(shape, (TupleDisplay, ListDisplay)) else given.values[2:]
    if _makes_groups(given, given.values[1:] if len(given.values) > 2 else _parts(shape)):
        return "grouped"
    if any(flat(given.kind(size)) not in ("same", "shape") and not _is_own_size(size) for size in sizes):
        return "mixed"
    if given.kind(first) == "count" or (given.kind(first) == "shape" and first is shape and not sizes):
        return "rows"
    return "rows" if _number(first) == -1 and all(map(_is_own_size, sizes)) else "mixed"


def _makes_groups(given: Given, sizes: Sequence[Node]) -> bool:
    """Returns whether a shape begins with a known number of groups and the size of a group: `(4, -1, *x.shape[1:])`."""
    if len(sizes) < 2 or flat(given.kind(sizes[0])) != "same" or _number(sizes[0]) == -1:
        return False
    size = sizes[1]
    is_share = isinstance(size, BinaryOperation) and size.operator == "//" and given.kind(size.left) == "count"
    return (_number(size) == -1 or is_share) and all(map(_is_own_size, sizes[2:]))


def _is_own_size(size: Node) -> bool:
    """Returns whether a size in a reshape merges no rows: it is 1, or the size of an axis other than the first."""
    size = size.value if isinstance(size, Starred) else size
    if (
        isinstance(size, Subscript)
        and isinstance(size.key, Slice)
        and isinstance(size.object, Attribute)
        and size.object.name == "shape"
    ):
        lower = _number(size.key.lower)
        return lower is not None and lower > 0
    if isinstance(size, Subscript) and isinstance(size.object, Attribute) and size.object.name == "shape":
        place = _number(size.key)
        return place is not None and (place > 0 or place == -1)
    return _number(size) == 1


def _parts(shape: Node) -> list[Node]:
    """Returns the parts of a shape: the slice and the numbers of `x.shape[:1] + (7, 7)` or `(*x.shape[:1], 7, 7)`."""
    if isinstance(shape, BinaryOperation) and shape.operator == "+":
        return [*_parts(shape.left), *_parts(shape.right)]
    items = shape.items if isinstance(shape, (TupleDisplay, ListDisplay)) else (shape,)
    return [one.value if isinstance(one, Starred) else one for one in items]


def _begins_with_rows(given: Given, parts: list[Node]) -> bool:
    """Returns whether a shape begins with the number of rows and nothing else in it depends on that number."""
    if not parts or not isinstance(parts[0], Subscript):
        return False
    key = parts[0].key
    if not isinstance(key, Slice) or key.lower is not None or key.step is not None or key.upper is None:
        return False
    upper = _number(key.upper)
    # After the last axes are removed, the row axis remains only if the array has more axes than were removed.
    return (
        (upper is None or upper > 0 or given.least > -upper)
        and given.kind(parts[0].object) == "shape"
        and all(flat(given.kind(one)) in ("same", "shape") for one in parts[1:])
    )


def _flat_rows(given: Given) -> str:
    return "mixed" if "order" in given.keywords else applied(given.kinds)


def _expand_dims(given: Given) -> str:
    axis = _number(given.at(1, "axis"))
    if axis is None or _first(given) != "rows" or -axis > max(given.least, 1):
        return "mixed"
    return "turned" if axis == 0 else "rows"


def _swapaxes(given: Given) -> str:
    # Axis -n is not the first one if the array has more than n axes.
    axes = {
        axis if axis is None or axis >= 0 or -axis >= given.least else given.least
        for axis in (_number(given.at(1, "axis1", "source")), _number(given.at(2, "axis2", "destination")))
    }
    if axes == {0, 1}:
        return turned(_first(given))
    return (
        _first(given)
        if _first(given) == "rows" and None not in axes and all(one and one > 0 for one in axes)
        else "mixed"
    )


def _transpose(given: Given) -> str:
    axes = given.at(1, "axes")
    items = axes.items if axes is not None and isinstance(axes, (TupleDisplay, ListDisplay)) else given.values[1:]
    numbers = [_number(item) for item in items]
    if numbers[:2] == [1, 0]:
        return turned(_first(given))
    return _first(given) if numbers[:1] == [0] and _first(given) == "rows" else "mixed"


def _stack(given: Given) -> str:
    if _first(given) != "rows":
        return "mixed"
    axis = given.at(1, "axis")
    return "turned" if over_rows(axis, True) else "rows" if over_rows(axis) is False else "mixed"


def _concatenate(given: Given) -> str:
    parts = given.kinds[0] if given.kinds else "mixed"
    axis = given.at(1, "axis")
    if axis is not None and over_rows(axis) is False and given.name != "hstack":
        return applied(given.kinds)
    every = isinstance(parts, tuple) and all(flat(part) == "rows" for part in parts)
    return "rows" if every and over_rows(axis, True) is not None else "mixed"


def _take(given: Given) -> str:
    axis = over_rows(given.at(2, "axis"), None)
    kinds = [flat(kind) for kind in given.kinds[:2]]
    if kinds == ["same", "rows"]:
        return "rows" if axis is not None else "mixed"
    return applied(given.kinds) if axis is False else "mixed"


def _where(given: Given) -> str:
    return applied(given.kinds, elementwise=True) if len(given.values) > 1 else "mixed"


def _pad(given: Given) -> str:
    width = given.at(1, "pad_width")
    first = (
        width.items[0] if width is not None and isinstance(width, (TupleDisplay, ListDisplay)) and width.items else None
    )
    is_none = (
        first is not None
        and isinstance(first, (TupleDisplay, ListDisplay))
        and [_number(one) for one in first.items] == [0, 0]
    )
    return "rows" if is_none and set(map(flat, given.kinds)) <= {"rows", "same"} else "mixed"


def _window(given: Given) -> str:
    window = given.at(3, "window_dimensions")
    is_one = (
        window is not None
        and isinstance(window, (TupleDisplay, ListDisplay))
        and window.items
        and _number(window.items[0]) == 1
    )
    return "rows" if is_one and _first(given) == "rows" else "mixed"


def _convolution(given: Given) -> str:
    layout = given.at(6 if given.name == "conv_general_dilated" else _NOWHERE, "dimension_numbers")
    if layout is not None:
        texts = (
            [one.value for one in layout.items if isinstance(one, Constant)] if isinstance(layout, TupleDisplay) else []
        )
        if len(texts) != 3 or not all(isinstance(text, str) and text[:1] == "N" for text in (texts[0], texts[2])):
            return "mixed"
    return "rows" if [flat(kind) for kind in given.kinds[:2]] == ["rows", "same"] else "mixed"


def _product(given: Given) -> str:
    """Returns the kind of a product, whose first axis is that of the first operand unless that axis is contracted."""
    kinds = [flat(kind) for kind in given.kinds]
    if given.name == "matmul" and kinds == ["rows", "rows"] and all(given.axes(value) > 2 for value in given.values):
        return "rows"
    axes = given.at(2, "axes") if given.name == "tensordot" else None
    own = axes.items[0] if isinstance(axes, (TupleDisplay, ListDisplay)) and axes.items else None
    is_summed = given.name == "tensordot" and (
        over_rows(own, None) is not False if own is not None else _number(axes) != 1
    )
    return "mixed" if is_summed or "rows" in kinds[1:] else applied(kinds)


def _einsum(given: Given) -> str:
    written = given.values[0] if given.values else None
    text = written.value if written is not None and isinstance(written, Constant) else None
    if not isinstance(text, str) or "->" not in text:
        return "mixed"
    before, _, after = text.replace(" ", "").partition("->")
    operands = before.split(",")
    kinds = [flat(kind) for kind in given.kinds[1 : len(operands) + 1]]
    if len(kinds) != len(operands) or not set(kinds) <= {"rows", "same"}:
        return "mixed"
    pairs = list(zip(operands, kinds, strict=True))
    if any(
        kind == "rows" and one.startswith("...") and given.axes(value) < len(one) - 2
        for (one, kind), value in zip(pairs, given.values[1:], strict=False)
    ):
        # The ellipsis may stand for zero axes.
        return "mixed"
    leading = {one[:3] if one.startswith("...") else one[:1] for one, kind in pairs if kind == "rows"}
    if len(leading) != 1:
        return "mixed"
    (first,) = leading
    others = any(first in one[len(first) * (kind == "rows") :] for one, kind in pairs)
    if not first or others:
        return "mixed"
    # Axes that are not in the result are summed over.
    return "rows" if after.startswith(first) else "mixed" if first[-1] in after or len(first) > 1 else "total"


def _top_k(given: Given) -> str:
    is_of_last = len(given.values) == 2 and "axis" not in given.keywords and given.least > 1
    return applied(given.kinds) if is_of_last else "mixed"


def _attention(given: Given) -> str:
    """Returns the kind of attention over arrays with a batch axis; without one, their first axis is the sequence."""
    kinds = [flat(kind) for kind in given.kinds]
    is_batched = kinds[:3] == ["rows"] * 3 and any(given.axes(value) > 3 for value in given.values[:3])
    return "rows" if is_batched and set(kinds[3:]) <= {"same"} else "mixed"


def _segment_sum(given: Given) -> str:
    """Returns the kind of segment sums, whose number must be given because it would otherwise depend on the rows."""
    kinds = [flat(kind) for kind in given.kinds]
    has_size = given.at(2, "num_segments") is not None
    return "total" if has_size and kinds[:2] == ["rows", "rows"] and set(kinds[2:]) <= {"same"} else "mixed"


def _vdot(given: Given) -> str:
    return "total" if [flat(kind) for kind in given.kinds] == ["rows", "rows"] else "mixed"


def _made(given: Given) -> str:
    shape = given.kinds[0] if given.kinds else "same"
    first = shape[0] if isinstance(shape, tuple) and shape else shape
    rest = shape[1:] if isinstance(shape, tuple) else ()
    others = {flat(kind) for kind in (*rest, *given.kinds[1:])}
    return "rows" if first in ("count", "shape") and others <= {"same", "shape"} else "mixed"


def _repeat(given: Given) -> str:
    return _first(given) if [flat(kind) for kind in given.kinds] == ["rows", "same"] else "mixed"


_SHAPING: dict[str, Callable[[Given], str]] = {
    "reshape": _reshape,
    "ravel": _flat_rows,
    "flatten": _flat_rows,
    "atleast_1d": _flat_rows,
    "squeeze": _flat_rows,
    "leaves": _flat_rows,
    "column_stack": _flat_rows,
    "batch_matmul": _flat_rows,
    "expand_dims": _expand_dims,
    "swapaxes": _swapaxes,
    "moveaxis": _swapaxes,
    "transpose": _transpose,
    "stack": _stack,
    "concatenate": _concatenate,
    "concat": _concatenate,
    "hstack": _concatenate,
    "take": _take,
    "where": _where,
    "pad": _pad,
    "reduce_window": _window,
    "conv": _convolution,
    "conv_with_general_padding": _convolution,
    "conv_general_dilated": _convolution,
    "dot_product_attention": _attention,
    "top_k": _top_k,
    "einsum": _einsum,
    "zeros": _made,
    "ones": _made,
    "full": _made,
    "empty": _made,
    "repeat": _repeat,
    "segment_sum": _segment_sum,
    "vdot": _vdot,
}
