"""Reads the shapes of arrays from the code that creates them, if that code shows the shapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from meshlens.facts.nodes import (
    Assign,
    Attribute,
    BinaryOperation,
    Call,
    Comparison,
    Constant,
    Expression,
    FunctionDef,
    ListDisplay,
    Name,
    SeparateDef,
    Slice,
    Starred,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    last_name,
)
from meshlens.project.trees import Node, bound_by, names_used, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.row_by_row import is_elementwise
from meshlens.refactoring.reading.functions import Use

Shape: TypeAlias = "tuple[int | None, ...] | None"
"""The size of each axis, or None for an axis of unknown size; None if the number of axes is unknown."""
Shapes: TypeAlias = Callable[[str], Shape]
"""A function that returns the shape of a variable."""

_DEPTH = 6
_MADE_BY_SIZE = frozenset("zeros ones empty full".split())
_DRAWN = frozenset("normal uniform integers randint truncated_normal bernoulli rand randn random".split())
_AS_ARRAYS = frozenset("asarray array device_put stop_gradient".split())
_ELEMENTWISE = frozenset("+ - * / ** // %".split())


def nothing_known(_: str) -> Shape:
    """Returns None as the shape of a variable about which nothing is known."""
    return None


def shape_of(node: Node, shapes: Shapes, depth: int = _DEPTH) -> Shape:
    """Returns the shape of an expression.

    Args:
        node: the expression.
        shapes: the shapes of the variables.
        depth: the maximum depth to which nested expressions are read.
    """
    if depth == 0:
        return None

    def of(part: Node) -> Shape:
        return shape_of(part, shapes, depth - 1)

    if isinstance(node, Constant):
        return () if type(node.value) in (int, float, bool) else None
    if isinstance(node, Name):
        return shapes(node.name)
    if isinstance(node, UnaryOperation):
        return of(node.operand)
    if isinstance(node, BinaryOperation):
        left, right = of(node.left), of(node.right)
        if left is None or right is None:
            return None
        if node.operator == "@":
            return (
                (*left[:-1], *right[-1:]) if len(left) and len(right) == 2 else left[:-1] if len(right) == 1 else None
            )
        return _together(left, right) if node.operator in _ELEMENTWISE else None
    if isinstance(node, Comparison):
        return _all_together(map(of, node.operands))
    if isinstance(node, (ListDisplay, TupleDisplay)):
        inner = {of(item) for item in node.items}
        first = inner.pop() if len(inner) == 1 else None
        return (len(node.items), *first) if first is not None else None
    if isinstance(node, Attribute):
        whole = of(node.object) if node.name == "T" else None
        return whole[::-1] if whole is not None else None
    if isinstance(node, Subscript):
        return _part(of(node.object), node.key)
    return _made(node, of) if isinstance(node, Call) else None


def _together(left: tuple[int | None, ...], right: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Returns the shape of the result of an elementwise operation on two arrays."""
    longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
    lead = len(longer) - len(shorter)
    tail = (
        other if one == 1 else one if other in (1, one) else None
        for one, other in zip(longer[lead:], shorter, strict=True)
    )
    return (*longer[:lead], *tail)


def _all_together(shapes: Iterable[Shape]) -> Shape:
    found: tuple[int | None, ...] = ()
    for one in shapes:
        if one is None:
            return None
        found = _together(found, one)
    return found


def _part(whole: Shape, index: Node) -> Shape:
    if whole is None:
        return None
    found: list[int | None] = []
    left = list(whole)
    for item in index.items if isinstance(index, TupleDisplay) else (index,):
        if isinstance(item, Constant) and item.value is None:
            found.append(1)
        elif isinstance(item, Slice) and left:
            size = left.pop(0)
            found.append(size if all(part is None for part in (item.lower, item.upper, item.step)) else None)
        elif isinstance(item, Constant) and type(item.value) is int and left:
            left.pop(0)
        else:
            return None
    return (*found, *left)


def _made(node: Call, of: Callable[[Node], Shape]) -> Shape:
    """Returns the shape of the array that a call creates."""
    name = last_name(node.callee)
    given = [value for label, _, value in node.arguments if label is None]
    named = {label: value for label, _, value in node.arguments if label is not None}
    size = named.get("shape", named.get("size"))
    if name == "astype" and isinstance(node.callee, Attribute):
        return of(node.callee.object)
    if name == "reshape" and isinstance(node.callee, Attribute):
        return _reshaped(given, is_method=of(node.callee.object) is not None)
    if name in _MADE_BY_SIZE:
        size = size if size is not None else given[0] if given else None
    elif name in ("rand", "randn") and size is None:
        return _sizes(given)
    elif name in _DRAWN and size is None:
        only = given[0] if name == "random" and len(given) == 1 else None
        size = next((one for one in given if isinstance(one, TupleDisplay)), only)
    elif name in ("arange", "linspace"):
        return (_number(given[0]) if len(given) == 1 else None,)
    elif name in _AS_ARRAYS and given:
        return of(given[0])
    elif size is None and (is_elementwise(name) or name == "where") and given:
        return _all_together(map(of, given))
    if size is None or not (name in _MADE_BY_SIZE or name in _DRAWN):
        return None
    return _sizes(size.items if isinstance(size, (TupleDisplay, ListDisplay)) else (size,))


def _reshaped(given: list[Expression], *, is_method: bool) -> Shape:
    """Returns the shape of the result of `reshape`, as a method or as a function whose first argument is the array."""
    last = given[-1] if given and len(given) <= 2 else None
    if isinstance(last, (TupleDisplay, ListDisplay)):
        return _sizes(last.items)
    # Only a known array distinguishes `x.reshape(rows, -1)` from `jnp.reshape(x, -1)`.
    return _sizes(given) if is_method or len(given) != 2 else None


def _sizes(nodes: Iterable[Node]) -> Shape:
    return tuple(_number(node) for node in nodes)


def _number(node: Node) -> int | None:
    if not isinstance(node, Constant) or type(node.value) not in (int, float) or node.value != int(node.value):
        return None
    return int(node.value)


def shapes_inside(body: Iterable[Node], parameters: Mapping[str, Shape], outside: Shapes) -> Shapes:
    """Returns the shapes of the variables of a function.

    A variable that is bound twice has no known shape, unless it is updated from itself, as a training state is.

    Args:
        body: its statements.
        parameters: the shapes of its arguments.
        outside: the shapes of the variables around it.
    """
    every = [node for statement in body for node in walk(statement)]
    bound = Counter(name for node in every for name in bound_by(node))
    counted = bound - Counter(
        name for node in every if isinstance(node, Assign) for name in bound_by(node) & _used(node)
    )
    values = {name: value for name, value in _assigned(every) if name not in names_used(value)}
    busy: set[str] = set()

    def find(name: str) -> Shape:
        if name in busy:
            return None
        if bound[name] == 0:
            return parameters[name] if name in parameters else outside(name)
        if counted[name] != 1 or name in parameters or name not in values:
            return None
        busy.add(name)
        found = shape_of(values[name], find)
        busy.discard(name)
        return found

    return find


def _used(statement: Assign) -> set[str]:
    return names_used(statement.value)


def _assigned(nodes: Iterable[Node]) -> Iterator[tuple[str, Node]]:
    """Yields each name that is assigned an expression, with that expression; `a, b = x, y` yields two pairs."""
    for node in nodes:
        if not isinstance(node, Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        if isinstance(target, Name):
            yield target.name, value
        elif isinstance(target, TupleDisplay) and isinstance(value, TupleDisplay):
            pairs = zip(target.items, value.items, strict=False)
            is_plain = not any(isinstance(one, Starred) for one in (*target.items, *value.items))
            yield from ((one.name, part) for one, part in pairs if is_plain and isinstance(one, Name))


def around_call(view: FileView, use: Use) -> Shapes:
    """Returns the shapes of the variables at a call: those of its scope, then those of the top level."""

    def at_the_top() -> Shapes:
        plain = [node for node in view.facts.statements if not isinstance(node, (FunctionDef, SeparateDef))]
        return shapes_inside(plain, {}, nothing_known)

    at_top: Shapes = view.solution.once(f"assists: shapes at the top of {view.path}", lambda _: at_the_top())
    root = tree(view, use.site.path, use.site.block)
    if not isinstance(root, FunctionDef):
        return at_top
    return shapes_inside(root.function.body, dict.fromkeys(one.name for one in root.function.parameters), at_top)


def shapes_given(view: FileView, names: Iterable[str], uses: Iterable[Use]) -> dict[str, Shape]:
    """Returns the shape of each parameter, if all calls agree on it.

    Args:
        view: the file.
        names: the parameters in order.
        uses: the calls, with every argument by position.
    """
    names = tuple(names)
    said: dict[str, set[Shape]] = {name: set() for name in names}
    for use in uses:
        shapes = around_call(view, use)
        for name, one in zip(names, use.call.arguments if use.call is not None else (), strict=False):
            said[name].add(shape_of(one.value, shapes))
    return {name: found.pop() if len(found) == 1 else None for name, found in said.items()}
