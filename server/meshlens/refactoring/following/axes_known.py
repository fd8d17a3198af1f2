"""How many axes an array has at least, read from the code that makes it and from what is asked of its shape.

An axis that is counted from the end is not that of the rows if there are more axes than it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from meshlens.facts.nodes import (
    Assign,
    Attribute,
    BinaryOperation,
    Call,
    Constant,
    Expression,
    ListDisplay,
    Name,
    Slice,
    Starred,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    last_name,
)
from meshlens.project.trees import Node
from meshlens.refactoring.following.row_by_row import is_elementwise


class Axes(NamedTuple):
    """The knowledge of arrays at the place of an expression.

    Attributes:
        of: returns how many axes a variable has at least; 0 if nothing is known.
        dotted: returns the dotted name that imports give an expression; "" if unknown.
    """

    of: Callable[[str], int]
    dotted: Callable[[Node], str]


_DEPTH = 12
_AS_THEY_ARE = frozenset(
    "astype asarray array stop_gradient checkpoint_name with_sharding_constraint softmax log_softmax where tril triu "
    "pad roll flip sort argsort cumsum cumprod repeat swapaxes moveaxis take_along_axis split array_split clip copy "
    "zeros_like ones_like full_like".split()
)
_ONE_MORE = frozenset("expand_dims one_hot".split())
_LAYERS = {
    **{
        f"{library}.{name}": 0
        for library in ("flax.linen", "haiku")
        for name in "Dense Linear Conv Conv1D Conv2D Conv3D LayerNorm RMSNorm GroupNorm BatchNorm Dropout "
        "MultiHeadDotProductAttention SelfAttention MultiHeadAttention".split()
    },
    "flax.linen.Embed": 1,
    "haiku.Embed": 1,
}
"""The layers whose result has as many axes as their first argument, or one more."""
_SIZED = frozenset({"reshape", "transpose"})
_MADE = frozenset("zeros ones full empty".split())
_REDUCED = frozenset("mean sum max min std var prod argmax argmin logsumexp any all".split())


def least_axes(node: Node, axes: Axes, depth: int = _DEPTH) -> int:
    """Returns how many axes an array has at least; 0 if nothing is known.

    Args:
        node: the expression.
        axes: those of the variables.
        depth: how many parts of parts are read.
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
        if node.operator == "@":
            return max(left, right) if min(left, right) > 1 else max(left - 1, 0)
        return max(left, right)
    if isinstance(node, Subscript):
        return _of_part(of(node.object), node.key)
    if isinstance(node, Attribute):
        return of(node.object) if node.name in ("T", "mT") else 0
    return _of_call(node, axes.dotted, of) if isinstance(node, Call) else 0


def _of_part(whole: int, index: Node) -> int:
    for item in index.items if isinstance(index, TupleDisplay) else (index,):
        if isinstance(item, Constant) and item.value is None:
            whole += 1
        elif not isinstance(item, Slice) and not (isinstance(item, Constant) and item.value is ...):
            whole -= 1
    return max(whole, 0)


def _of_call(node: Call, dotted: Callable[[Node], str], of: Callable[[Node], int]) -> int:
    callee, name = node.callee, last_name(node.callee)
    positional = [value for label, _, value in node.arguments if label is None]
    named: dict[str | None, Expression] = {label: value for label, _, value in node.arguments}
    is_free = isinstance(callee, Attribute) and not dotted(callee)
    is_method = is_free and isinstance(callee, Attribute) and (name in _SIZED or of(callee.object) > 0)
    if isinstance(callee, Call):
        more = _LAYERS.get(dotted(callee.callee))
        # A layer that works on features needs them beside the rows.
        return max(of(positional[0]) + more, 2) if more is not None and positional else 0
    if not is_method and not dotted(callee).startswith(("jax.", "numpy.")):
        return 0
    given: list[Node] = [*([callee.object] if is_method and isinstance(callee, Attribute) else []), *positional]
    if name in _SIZED or name in _MADE:
        return _of_sizes(name, given, named, is_method)
    if name == "einsum":
        written = positional[0] if positional else None
        text = written.value if isinstance(written, Constant) and isinstance(written.value, str) else ""
        return sum(letter.isalpha() for letter in text.partition("->")[2])
    if name in ("concatenate", "stack") and given and isinstance(given[0], (ListDisplay, TupleDisplay)):
        return max((of(item) for item in given[0].items), default=0) + (name == "stack")
    if name in _REDUCED:
        return _of_reduced(of(given[0]) if given else 0, named, given)
    if name in _ONE_MORE:
        return of(given[0]) + 1 if given and of(given[0]) else 0
    if name in _AS_THEY_ARE or is_elementwise(name):
        return max((of(value) for value in given), default=0)
    return 0


def _of_sizes(name: str, given: list[Node], named: Mapping[str | None, Expression], is_method: bool) -> int:
    """Returns the number of sizes, or of axes, that a call names."""
    sizes = named.get("shape", named.get("axes"))
    rest = given[1:] if name not in _MADE else given[:1]
    if sizes is None and len(rest) == 1:
        sizes = rest[0] if isinstance(rest[0], (TupleDisplay, ListDisplay)) else None
    items = sizes.items if isinstance(sizes, (TupleDisplay, ListDisplay)) else rest if is_method else ()
    return sum(not isinstance(item, Starred) for item in items)


def _of_reduced(whole: int, named: Mapping[str | None, Expression], given: list[Node]) -> int:
    if (kept := named.get("keepdims")) is not None:
        return whole if isinstance(kept, Constant) and kept.value is True else 0
    axis = named.get("axis", given[1] if len(given) > 1 else None)
    is_one = isinstance(axis, UnaryOperation) or (isinstance(axis, Constant) and type(axis.value) is int)
    return max(whole - 1, 0) if is_one else 0


def axes_assigned(node: Assign, axes: Axes) -> dict[str, int]:
    """Returns how many axes the variables that a statement assigns have at least."""
    found: dict[str, int] = {}
    for target in node.targets:
        if isinstance(target, Name):
            found[target.name] = least_axes(node.value, axes)
        elif isinstance(target, TupleDisplay):
            values = node.value.items if isinstance(node.value, TupleDisplay) else ()
            is_split = isinstance(node.value, Call) and last_name(node.value.callee) in ("split", "array_split")
            for place, item in enumerate(target.items):
                if isinstance(item, Name) and (is_split or len(values) == len(target.items)):
                    found[item.name] = least_axes(node.value if is_split else values[place], axes)
    return found
