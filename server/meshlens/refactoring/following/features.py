"""Reshapes that only split the features of each row of a layer's result, such as `x.reshape(-1, 7, 7, 64)`."""

from __future__ import annotations

from math import prod

from meshlens.facts.nodes import (
    Attribute,
    BinaryOperation,
    Call,
    Constant,
    Expression,
    ListDisplay,
    Name,
    Starred,
    TupleDisplay,
    UnaryOperation,
    last_name,
)
from meshlens.project.trees import Node
from meshlens.project.view import FileView
from meshlens.refactoring.following.following import Follow
from meshlens.refactoring.reading.functions import dotted_name

_LAYERS = {"haiku.Linear": ("output_size", 0), "flax.linen.Dense": ("features", 0)}
"""The layers that take the size of their result's last axis as an argument, with the argument's name and position."""
_BY_ENTRY = frozenset("relu leaky_relu gelu silu swish tanh sigmoid elu selu softplus exp".split())
_PRODUCTS = frozenset({"numpy.prod", "jax.numpy.prod", "math.prod"})
Size = int | str
"""The size of an axis: a number, or the name of a sequence whose product is the size."""


def features_of(follow: Follow, value: Node) -> Size | None:
    """Returns the size of the last axis of an expression's value, if a layer in the expression determines it."""
    if isinstance(value, Name):
        return follow.features.get(value.name)
    if not isinstance(value, Call):
        return None
    if isinstance(value.callee, Call):
        known = _LAYERS.get(follow.dotted(value.callee.callee))
        named = {label: one for label, _, one in value.callee.arguments}
        positional = [one for label, _, one in value.callee.arguments if label is None]
        if known is None:
            return None
        size = named.get(known[0], positional[known[1]] if len(positional) > known[1] else None)
        return _size(follow.view, size) if size is not None else None
    is_by_entry = last_name(value.callee) in _BY_ENTRY and bool(follow.dotted(value.callee))
    return features_of(follow, value.arguments[0].value) if is_by_entry and value.arguments else None


def takes_features_apart(follow: Follow, node: Call) -> bool:
    """Returns whether a reshape splits only the last axis of each row into several axes."""
    is_function = bool(follow.dotted(node.callee))
    given: list[Expression] = [value for label, _, value in node.arguments if label in (None, "shape")]
    if is_function:
        array: Node | None = given.pop(0) if given else None
    else:
        array = node.callee.object if isinstance(node.callee, Attribute) else None
    if array is None or any(label not in (None, "shape") for label, _, _ in node.arguments):
        return False
    size = features_of(follow, array)
    items = given[0].items if len(given) == 1 and isinstance(given[0], (TupleDisplay, ListDisplay)) else tuple(given)
    if size is None or len(items) < 2 or _number(items[0]) != -1:
        return False
    if isinstance(size, str):
        return len(items) == 2 and isinstance(items[1], Starred) and _name(items[1].value) == size
    numbers = [_number(one) for one in items[1:]]
    sizes = [one for one in numbers if one is not None and one > 0]
    return len(sizes) == len(numbers) and size % prod(sizes) == 0


def _size(view: FileView, node: Node) -> Size | None:
    if isinstance(node, BinaryOperation) and node.operator == "*":
        left, right = _size(view, node.left), _size(view, node.right)
        return left * right if isinstance(left, int) and isinstance(right, int) else None
    if isinstance(node, Call) and dotted_name(view, node.callee) in _PRODUCTS and len(node.arguments) == 1:
        return _name(node.arguments[0].value) or None
    return _number(node)


def _name(node: Node) -> str:
    """Returns `self.shape` or `shape` as text; "" for other expressions."""
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Attribute) and isinstance(node.object, Name):
        return f"{node.object.name}.{node.name}"
    return ""


def _number(node: Node) -> int | None:
    if isinstance(node, UnaryOperation) and node.operator == "-":
        inner = _number(node.operand)
        return -inner if inner is not None else None
    return int(node.value) if isinstance(node, Constant) and type(node.value) is int else None
