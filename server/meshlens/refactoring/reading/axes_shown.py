"""The minimum number of axes that a function's arrays must have, because its code would fail if they had fewer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from meshlens.facts.nodes import (
    NOTHING,
    AnnAssign,
    Assert,
    Assign,
    Attribute,
    BinaryOperation,
    BoolOperation,
    Call,
    Comprehension,
    Constant,
    DictDisplay,
    ExpressionStatement,
    FunctionDef,
    IfExpression,
    Lambda,
    Name,
    Raise,
    Return,
    SeparateDef,
    Slice,
    Starred,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    last_name,
    parameters_of,
)
from meshlens.project.trees import Node, bound_by, children, nodes_of_block, walk
from meshlens.project.view import FileView

_PLAIN = (AnnAssign, Assert, Assign, ExpressionStatement)
_MAY_NOT_RUN = (BoolOperation, Comprehension, FunctionDef, IfExpression, Lambda, SeparateDef)


Dotted: TypeAlias = "Callable[[Node], str]"
_OF_FEATURES = frozenset(
    f"{library}.{name}"
    for library in ("flax.linen", "flax.nnx", "haiku")
    for name in "Dense Linear Conv Conv1D Conv2D Conv3D ConvTranspose LayerNorm RMSNorm GroupNorm BatchNorm".split()
)
"""The layers that work on the features of each row."""
_MADE_OF_SIZES = ("zeros", "ones", "full", "empty", "normal", "uniform", "orthogonal", "init", "initializer")


def axes_shown(function: Node, dotted: Dotted) -> dict[str, int]:
    """Returns the minimum number of axes of each array that a function binds once, by name.

    Only code that certainly runs on every call of the function counts.

    Args:
        function: the function.
        dotted: returns the dotted name that imports give an expression; "" if unknown.
    """
    if not isinstance(function, FunctionDef):
        return {}
    bound = Counter(name for one in function.function.body for node in walk(one) for name in bound_by(node))
    bound.update(one.name for one in parameters_of(function))
    return _most((name, count) for name, count, _ in _certainly_shown(function, dotted) if bound[name] == 1)


def axes_given(function: Node, dotted: Dotted) -> dict[str, int]:
    """Returns the minimum number of axes of a function's arguments, by parameter; see `axes_shown`."""
    if not isinstance(function, FunctionDef):
        return {}
    names = {one.name for one in parameters_of(function)}
    shown = _certainly_shown(function, dotted)
    return _most((name, count) for name, count, again in shown if name in names - again)


def axes_of_entries(view: FileView) -> Mapping[str, int]:
    """Returns the minimum number of axes of the arrays stored under each key, as in `{"w": jnp.ones((3, 4))}`."""
    key = f"assists: axes of entries in {view.path}"
    found: Mapping[str, int] = view.solution.once(key, lambda _: _entries(view))
    return found


def _entries(view: FileView) -> dict[str, int]:
    found: dict[str, list[int]] = {}
    for block in view.facts.blocks:
        nodes = tuple(nodes_of_block(view, str(view.path), block))
        values: dict[str, list[Node]] = {}
        for node in nodes:
            if isinstance(node, Assign):
                for name in bound_by(node):
                    values.setdefault(name, []).append(node.value if isinstance(node.targets[0], Name) else NOTHING)
        for name, value in (pair for node in nodes for pair in _put(node)):
            found.setdefault(name, []).append(_axes_made(value, values))
    return {name: min(axes) for name, axes in found.items()}


def _put(node: Node) -> Iterator[tuple[str, Node]]:
    """Yields the keys that code stores values under, with the values."""
    if isinstance(node, DictDisplay):
        keys = ((pair.key, pair.value) for pair in node.pairs)
        yield from ((one.value, value) for one, value in keys if isinstance(one, Constant) and type(one.value) is str)
    elif isinstance(node, Call) and isinstance(node.callee, Name) and node.callee.name == "dict":
        yield from ((label, value) for label, _, value in node.arguments if label not in (None, "*", "**"))
    elif isinstance(node, Assign):
        for target in node.targets:
            key = target.key if isinstance(target, Subscript) else None
            if isinstance(key, Constant) and type(key.value) is str:
                yield key.value, node.value


def _axes_made(value: Node, values: Mapping[str, list[Node]], depth: int = 4) -> int:
    """Returns the number of axes in the shape that an array is created with; 0 if unknown."""
    if depth == 0:
        return 0
    if isinstance(value, Name):
        made = values.get(value.name, ())
        return _axes_made(made[0], values, depth - 1) if len(made) == 1 else 0
    if isinstance(value, BinaryOperation) and value.operator != "@":
        return max(_axes_made(side, values, depth - 1) for side in (value.left, value.right))
    if not isinstance(value, Call):
        return 0
    if isinstance(value.callee, Attribute) and value.callee.name == "astype":
        return _axes_made(value.callee.object, values, depth - 1)
    # `jax.nn.initializers.he_normal()(key, (3, 4))`
    name = last_name(value.callee.callee if isinstance(value.callee, Call) else value.callee)
    if not name.endswith(_MADE_OF_SIZES):
        return 0
    shapes = [one.value for one in value.arguments if isinstance(one.value, TupleDisplay)]
    is_known = len(shapes) == 1 and not any(isinstance(item, Starred) for item in shapes[0].items)
    return len(shapes[0].items) if is_known else 0


def _most(shown: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, count in shown:
        found[name] = max(found.get(name, 0), count)
    return found


def _certainly_shown(function: FunctionDef, dotted: Dotted) -> Iterator[tuple[str, int, frozenset[str]]]:
    """Yields the name of each array, its minimum number of axes, and the names bound by earlier statements."""
    before: frozenset[str] = frozenset()
    for statement in function.function.body:
        if isinstance(statement, Return):
            parts: tuple[Node, ...] = (statement.value,) if statement.value is not None else ()
        elif isinstance(statement, _PLAIN):
            parts = (statement,)
        elif not isinstance(statement, (FunctionDef, SeparateDef)) and any(
            isinstance(node, (Return, Raise)) for node in walk(statement)
        ):
            # This statement may leave the function.
            return
        else:
            parts = ()
        yield from ((*shown, before) for part in parts for node in _certain(part) for shown in _shown(node, dotted))
        if isinstance(statement, Return):
            return
        before |= {name for node in walk(statement) for name in bound_by(node)}


def _certain(node: Node) -> Iterator[Node]:
    yield node
    if not isinstance(node, _MAY_NOT_RUN):
        for one in children(node):
            yield from _certain(one)


def _shown(node: Node, dotted: Dotted) -> Iterator[tuple[str, int]]:
    """Yields the name of each array whose minimum number of axes a node shows, with that number."""
    if isinstance(node, Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, TupleDisplay) and _of_shape(node.value):
            yield _of_shape(node.value), sum(not isinstance(one, Starred) for one in target.items)
        if isinstance(target, Name):
            yield target.name, _made_with(node.value)
    if isinstance(node, Call) and isinstance(node.callee, Call) and dotted(node.callee.callee) in _OF_FEATURES:
        yield from ((one.value.name, 2) for one in node.arguments[:1] if isinstance(one.value, Name))
    if isinstance(node, Call) and last_name(node.callee) == "param" and not dotted(node.callee):
        # The shape of a model's parameter cannot depend on the batch size, so the last axis is not the row axis.
        sizes = (part for one in node.arguments for part in walk(one.value) if isinstance(part, Subscript))
        yield from ((_of_shape(one.object), 2) for one in sizes if _of_shape(one.object) and _integer(one.key) == -1)
    if isinstance(node, Subscript):
        if _of_shape(node.object) and (place := _integer(node.key)) is not None:
            yield _of_shape(node.object), place + 1 if place >= 0 else -place
        if isinstance(node.object, Name) and isinstance(node.key, TupleDisplay):
            items = node.key.items
            is_plain = all(isinstance(one, Slice) or _integer(one) is not None for one in items)
            yield node.object.name, len(items) if is_plain else 0


def _of_shape(node: Node) -> str:
    """Returns the name of the array whose shape an expression reads."""
    if isinstance(node, Attribute) and node.name == "shape" and isinstance(node.object, Name):
        return str(node.object.name)
    if isinstance(node, Call) and last_name(node.callee) == "shape" and len(node.arguments) == 1:
        array = node.arguments[0].value
        return array.name if isinstance(array, Name) else ""
    return ""


def _made_with(value: Node) -> int:
    """Returns the number of axes of the result of an `einsum` call; 0 for other expressions."""
    if not isinstance(value, Call) or last_name(value.callee) != "einsum" or not value.arguments:
        return 0
    text = value.arguments[0].value
    written = text.value if isinstance(text, Constant) else None
    after = written.partition("->")[2] if isinstance(written, str) else ""
    return sum(letter.isalpha() for letter in after)


def _integer(node: Node) -> int | None:
    if isinstance(node, UnaryOperation) and node.operator == "-":
        inner = _integer(node.operand)
        return -inner if inner is not None else None
    return int(node.value) if isinstance(node, Constant) and type(node.value) is int else None
