"""The minimum number of axes of an array, from the code that creates it and from uses of its shape.

Axis -n is not the row axis if the array has more than n axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

from meshlens.facts.nodes import (
    Assign,
    Attribute,
    BinaryOperation,
    Call,
    Comprehension,
    Constant,
    Expression,
    ListDisplay,
    Name,
    Pair,
    Slice,
    Starred,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    last_name,
)
from meshlens.project.trees import Node
from meshlens.refactoring.following.row_by_row import is_elementwise

Least: TypeAlias = "int | tuple[Least, ...]"
"""The minimum number of axes of a value, or of each of several values; 0 if unknown."""
AxesByPlace: TypeAlias = "dict[tuple[Path, int], Least]"


@dataclass(frozen=True, slots=True)
class AxesSeen:
    """The minimum number of axes of arrays at known calls, in all functions that were followed, by file and place.

    Attributes:
        networks: the axes of the results of networks.
        along_last: the axes of arrays that are processed along their last axis.
        groups: the numbers of groups into which rows are reshaped; None for unknown ones.
        entries: the axes of the arrays that calls pass to the step under each key of a dictionary.
        moved: the calls that put the rows of one array after those of another.
    """

    networks: AxesByPlace = field(default_factory=dict)
    along_last: AxesByPlace = field(default_factory=dict)
    groups: dict[tuple[Path, int], int | None] = field(default_factory=dict)
    entries: Mapping[str, int] = field(default_factory=dict)
    moved: set[tuple[Path, int]] = field(default_factory=set)


def note_axes(known: AxesByPlace, place: tuple[Path, int], least: Least) -> None:
    """Records the number of axes of an array at a call; keeps the lowest number recorded there."""
    known[place] = fewest([least, *([known[place]] if place in known else [])])


class Axes(NamedTuple):
    """The facts about the axes of arrays that are known at an expression.

    Attributes:
        of: returns the minimum number of axes of a variable; 0 if unknown.
        dotted: returns the dotted name that imports give an expression; "" if unknown.
        called: returns the minimum number of axes of a call's result, if the called code has been followed.
        entry: returns the minimum number of axes of the arrays stored under a key.
    """

    of: Callable[[str], int]
    dotted: Callable[[Node], str]
    called: Callable[[Call], Least]
    entry: Callable[[str], int]


_DEPTH = 12
_AS_THEY_ARE = frozenset(
    "astype asarray array stop_gradient checkpoint_name with_sharding_constraint softmax log_softmax where tril triu "
    "pad roll flip sort argsort cumsum cumprod repeat swapaxes moveaxis take_along_axis split array_split clip copy "
    "zeros_like ones_like full_like dot_product_attention top_k".split()
)
_SPLITS = frozenset({"split", "array_split", "top_k"})
"""The functions that return arrays with as many axes as their argument."""
_ONE_MORE = frozenset("expand_dims one_hot".split())
_SAME_AXES = (
    "Dense Linear Conv Conv1D Conv2D Conv3D ConvTranspose LayerNorm RMSNorm GroupNorm BatchNorm InstanceNorm Dropout "
    "MultiHeadDotProductAttention SelfAttention MultiHeadAttention"
).split()
_LAYERS = {
    **{f"{library}.{name}": 0 for library in ("flax.linen", "flax.nnx", "haiku") for name in _SAME_AXES},
    **{f"{library}.Embed": 1 for library in ("flax.linen", "flax.nnx", "haiku")},
    "haiku.nets.MLP": 0,
}
"""The layers whose result is an array, with how many more axes the result has than the argument."""
_LIBRARIES = ("jax.", "numpy.", "flax.linen.", "flax.nnx.", "optax.")
_LOSSES = frozenset(
    "squared_error l2_loss huber_loss log_cosh hinge_loss sigmoid_binary_cross_entropy sigmoid_focal_loss".split()
)
"""The losses of optax that have a value for each element."""
_LOSSES_OF_CLASSES = frozenset("softmax_cross_entropy softmax_cross_entropy_with_integer_labels".split())
"""The losses of optax that have a value for each group of classes, which lie along the last axis."""
_SIZED = frozenset({"reshape", "transpose"})
_MADE = frozenset("zeros ones full empty".split())
_REDUCED = frozenset("mean sum max min std var prod argmax argmin logsumexp any all".split())


def axes_added(layer: str) -> int | None:
    """Returns how many more axes a layer's result has than the layer's argument; None if unknown."""
    return _LAYERS.get(layer)


def least_of(node: Node, axes: Axes) -> Least:
    """Returns the minimum number of axes of a value, or of each value in a tuple or in a call's result."""
    if isinstance(node, TupleDisplay):
        return tuple(least_of(item, axes) for item in node.items)
    known = axes.called(node) if isinstance(node, Call) else 0
    return known if isinstance(known, tuple) else least_axes(node, axes)


def fewest(found: Sequence[Least]) -> Least:
    """Returns the minimum number of axes of a value, given the minimum for each value that it may be."""
    first = found[0] if found else 0
    if isinstance(first, tuple) and all(isinstance(one, tuple) and len(one) == len(first) for one in found):
        return tuple(fewest(parts) for parts in zip(*(one for one in found if isinstance(one, tuple)), strict=True))
    return min((one if isinstance(one, int) else 0 for one in found), default=0)


def least_axes(node: Node, axes: Axes, depth: int = _DEPTH) -> int:
    """Returns the minimum number of axes of an array; 0 if unknown.

    Args:
        node: the expression.
        axes: the known axes of variables.
        depth: the maximum depth to which nested expressions are read.
    """
    if depth == 0:
        return 0

    def of(part: Node) -> int:
        return least_axes(part, axes, depth - 1)

    if isinstance(node, Name):
        return axes.of(node.name)
    if isinstance(node, UnaryOperation):
        return of(node.operand)
    if isinstance(node, BinaryOperation):
        left, right = of(node.left), of(node.right)
        return _of_product(left, right) if node.operator == "@" else max(left, right)
    if isinstance(node, Subscript) and isinstance(node.key, Constant) and isinstance(node.key.value, str):
        return axes.entry(node.key.value)
    if isinstance(node, Subscript):
        return _of_part(of(node.object), node.key, of)
    if isinstance(node, Attribute):
        return of(node.object) if node.name in ("T", "mT") else 0
    if not isinstance(node, Call):
        return 0
    known = axes.called(node)
    return max(known if isinstance(known, int) else 0, _of_call(node, axes.dotted, of))


def _of_part(whole: int, index: Node, of: Callable[[Node], int]) -> int:
    items = index.items if isinstance(index, TupleDisplay) else (index,)
    if len(items) > 1:
        # Every index except new axes and an ellipsis consumes an axis, which must exist.
        whole = max(whole, sum(not (isinstance(one, Constant) and one.value in (None, ...)) for one in items))
    for item in items:
        if isinstance(item, Constant) and item.value is None:
            whole += 1
        elif not isinstance(item, Slice) and not (isinstance(item, Constant) and item.value is ...):
            whole -= 1
    # Indexing with an array replaces the indexed axis with the axes of the index array.
    return max(whole, 0) + max(map(of, items), default=0)


def _of_call(node: Call, dotted: Callable[[Node], str], of: Callable[[Node], int]) -> int:
    callee, name = node.callee, last_name(node.callee)
    positional = [value for label, _, value in node.arguments if label is None]
    named: dict[str | None, Expression] = {label: value for label, _, value in node.arguments}
    is_free = isinstance(callee, Attribute) and not dotted(callee)
    is_method = is_free and isinstance(callee, Attribute) and (name in _SIZED or of(callee.object) > 0)
    if isinstance(callee, Call):
        more = _LAYERS.get(dotted(callee.callee))
        # A layer that works on features needs a feature axis in addition to the row axis.
        return max(of(positional[0]) + more, 2) if more is not None and positional else 0
    if not is_method and not dotted(callee).startswith(_LIBRARIES):
        return 0
    given: list[Node] = [*([callee.object] if is_method and isinstance(callee, Attribute) else []), *positional]
    if name in _SIZED or name in _MADE:
        return _of_sizes(name, given, node, is_method, of)
    if name == "einsum":
        written = positional[0] if positional else None
        text = written.value if isinstance(written, Constant) and isinstance(written.value, str) else ""
        return _of_einsum(text, [of(value) for value in positional[1:]])
    if name in ("concatenate", "stack") and given and isinstance(given[0], (ListDisplay, TupleDisplay)):
        return max((of(item) for item in given[0].items), default=0) + (name == "stack")
    if name in ("dot", "matmul") and len(given) == 2:
        return _of_product(of(given[0]), of(given[1]))
    if name == "reduce_window":
        return max(of(given[0]), _of_window(given)) if given else 0
    if name == "conv_general_dilated":
        return max(of(given[0]), _of_convolution(named, given)) if given else 0
    if name in _REDUCED:
        return _of_reduced(of(given[0]) if given else 0, named, given)
    if name in _ONE_MORE:
        return of(given[0]) + 1 if given and of(given[0]) else 0
    if name in _LOSSES_OF_CLASSES:
        return max(of(given[0]) - 1, 0) if given else 0
    if name in _AS_THEY_ARE or name in _LOSSES or is_elementwise(name):
        return max((of(value) for value in given), default=0)
    return 0


def _of_product(left: int, right: int) -> int:
    return max(left, right) if min(left, right) > 1 else max(left - 1, 0)


def _of_window(given: list[Node]) -> int:
    """Returns the number of axes of an array, from the window that `reduce_window` slides over it."""
    window = given[3] if len(given) > 3 else None
    return len(window.items) if isinstance(window, TupleDisplay) else 0


def _of_convolution(named: Mapping[str | None, Expression], given: list[Node]) -> int:
    """Returns the number of axes of an array, from a layout such as `("NHWC", "HWIO", "NHWC")`."""
    layout = named.get("dimension_numbers", given[6] if len(given) > 6 else None)
    first = layout.items[0] if isinstance(layout, TupleDisplay) and layout.items else None
    return len(first.value) if isinstance(first, Constant) and isinstance(first.value, str) else 0


def _of_einsum(text: str, operands: list[int]) -> int:
    before, _, after = text.partition("->")
    pairs = zip(before.split(","), operands, strict=False)
    more = max((least - _letters(one) for one, least in pairs if "..." in one), default=0)
    return _letters(after) + (max(more, 0) if "..." in after else 0)


def _letters(text: str) -> int:
    return sum(letter.isalpha() for letter in text)


def _of_sizes(name: str, given: list[Node], node: Call, is_method: bool, of: Callable[[Node], int]) -> int:
    """Returns the number of sizes or axes that are passed to a call."""
    sizes = next((value for label, _, value in node.arguments if label in ("shape", "axes")), None)
    rest = given[1:] if name not in _MADE else given[:1]
    starred = [value for label, _, value in node.arguments if label == "*"]
    if sizes is None and len(rest) == 1 and not starred:
        sizes = rest[0] if isinstance(rest[0], (TupleDisplay, ListDisplay)) else None
    items = sizes.items if isinstance(sizes, (TupleDisplay, ListDisplay)) else rest if is_method else ()
    starred += [item.value for item in items if isinstance(item, Starred)]
    return sum(not isinstance(item, Starred) for item in items) + sum(_of_shape(one, of) for one in starred)


def _of_shape(node: Node, of: Callable[[Node], int]) -> int:
    """Returns the minimum length of a shape or of a part of one."""
    if isinstance(node, Attribute) and node.name == "shape":
        return of(node.object)
    if not isinstance(node, Subscript) or not isinstance(node.key, Slice) or node.key.step is not None:
        return 0
    whole, lower, upper = _of_shape(node.object, of), _number(node.key.lower, 0), _number(node.key.upper, None)
    if lower is None or lower < 0 or (node.key.upper is not None and upper is None):
        return 0
    until = whole if upper is None else whole + upper if upper < 0 else min(upper, whole)
    return max(until - lower, 0)


def _number(node: Node | None, default: int | None) -> int | None:
    if node is None:
        return default
    if isinstance(node, UnaryOperation) and node.operator == "-":
        inner = _number(node.operand, None)
        return -inner if inner is not None else None
    return node.value if isinstance(node, Constant) and type(node.value) is int else None


def _of_reduced(whole: int, named: Mapping[str | None, Expression], given: list[Node]) -> int:
    if (kept := named.get("keepdims")) is not None:
        return whole if isinstance(kept, Constant) and kept.value is True else 0
    axis = named.get("axis", given[1] if len(given) > 1 else None)
    several = axis.items if isinstance(axis, TupleDisplay) else (axis,) if axis is not None else ()
    is_known = bool(several) and all(_number(one, None) is not None for one in several)
    return max(whole - len(several), 0) if is_known else 0


def axes_assigned(node: Assign, axes: Axes) -> dict[str, int]:
    """Returns the minimum number of axes of each variable that a statement assigns, by name."""
    found: dict[str, int] = {}
    for target in node.targets:
        if isinstance(target, Name):
            found[target.name] = least_axes(node.value, axes)
        elif isinstance(target, TupleDisplay):
            values = node.value.items if isinstance(node.value, TupleDisplay) else ()
            is_split = isinstance(node.value, Call) and last_name(node.value.callee) in _SPLITS
            if isinstance(node.value, Comprehension) and not isinstance(node.value.element, Pair):
                each = least_axes(node.value.element, axes)
                found |= {item.name: each for item in target.items if isinstance(item, Name)}
                continue
            known = axes.called(node.value) if isinstance(node.value, Call) else 0
            if isinstance(known, tuple) and len(known) == len(target.items):
                pairs = zip(target.items, known, strict=True)
                found |= {item.name: least for item, least in pairs if isinstance(item, Name) and type(least) is int}
                continue
            for place, item in enumerate(target.items):
                if isinstance(item, Name) and (is_split or len(values) == len(target.items)):
                    found[item.name] = least_axes(node.value if is_split else values[place], axes)
    return found
