"""Loops in which blocks go around a ring of devices, and a sum over them that already contains the device's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import (
    Argument,
    Assign,
    AugAssign,
    BinaryOperation,
    Call,
    FunctionDef,
    Name,
    TupleDisplay,
)
from meshlens.project.trees import Node, names_bound, path_to, walk
from meshlens.project.view import FileView

_INIT = frozenset({"init", "init_val"})
_CARRIES: dict[str, int] = {"scan": 1, "fori_loop": 3}
"""The place of the carry among the arguments of each loop."""
_COUNTERS: dict[str, int] = {"scan": 1, "fori_loop": 0}
"""The place of the counter among the parameters of each loop's body."""


def adds_own_again(view: FileView, steps: Site, body: Site) -> bool:
    """Returns whether a loop adds `f(…, block)` in each step, and its carry begins with `f(…, own_block)`.

    The step must be the same for all blocks, so it must not use the loop's counter.

    Args:
        view: the file.
        steps: the number of steps, an argument of the loop.
        body: the function that makes a step, another argument.
    """
    path = path_to(view, steps)
    loop = _loop_of(path, body)
    callee: str = getattr(loop.callee, "name", "") if loop is not None else ""
    if loop is None or callee not in _CARRIES:
        return False
    named = _argument_at(loop, body)
    nodes = list(walk(path[0]))
    steppers = [one for one in nodes if isinstance(one, FunctionDef) and _is_named(named, one.function.name)]
    carry = _carry_of(loop, _CARRIES[callee])
    if len(steppers) != 1 or carry is None:
        return False
    (stepper,) = steppers
    inside = [node for statement in stepper.function.body for node in walk(statement)]
    parameters = [one.name for one in stepper.function.parameters]
    if len(parameters) != 2 or any(_is_named(node, parameters[_COUNTERS[callee]]) for node in inside):
        return False
    sites = {node.site for node in inside}
    outside = [node for node in nodes if node.site not in sites]
    begin = _value_of(outside, carry)
    bound = names_bound(stepper.function.body) | {*parameters}
    for term in _terms(inside):
        alike = [one for one in outside if isinstance(one, Call) and _is_alike(one.callee, term.callee)]
        if len(alike) == 1 and _is_of_own(view, steps, (term, alike[0]), bound) and _is_begun(outside, begin, alike[0]):
            return True
    return False


def _loop_of(path: Sequence[Node], body: Site) -> Call | None:
    """Returns the innermost call with an argument at a site."""
    for node in reversed(path):
        if isinstance(node, Call) and _argument_at(node, body) is not None:
            return node
    return None


def _argument_at(call: Call, site: Site) -> Node | None:
    for one in call.arguments:
        if one.value.site == site.index:
            return one.value
    return None


def _carry_of(loop: Call, expected: int) -> Node | None:
    """Returns the argument of a loop that is carried from step to step."""
    for place, one in enumerate(loop.arguments):
        if one.label in _INIT or (one.label is None and place == expected):
            return one.value
    return None


def _is_named(node: object, name: str) -> bool:
    return isinstance(node, Name) and node.name == name


def _is_alike(one: object, other: object) -> bool:
    return isinstance(one, Name) and isinstance(other, Name) and one.name == other.name


def _terms(inside: list[Node]) -> Iterator[Call]:
    """Yields the calls of plain functions whose results are added in a step."""
    for node in inside:
        sides: tuple[Node, ...] = ()
        if isinstance(node, BinaryOperation) and node.operator == "+":
            sides = node.left, node.right
        elif isinstance(node, AugAssign) and node.operator == "+":
            sides = (node.value,)
        for side in sides:
            value = _value_of(inside, side)
            if isinstance(value, Call) and isinstance(value.callee, Name):
                yield value


def _value_of(nodes: list[Node], node: Node) -> Node:
    """Returns the expression that a name stands for if it is assigned only once; any other expression unchanged."""
    if not isinstance(node, Name):
        return node
    values = [
        one.value for one in nodes if isinstance(one, Assign) and any(_is_named(to, node.name) for to in one.targets)
    ]
    return values[0] if len(values) == 1 else node


def _is_of_own(view: FileView, steps: Site, calls: tuple[Call, Call], bound: set[str]) -> bool:
    """Returns whether two calls differ only in the arguments for which the first one gets what a step binds."""
    term, own = calls
    if [one.label for one in term.arguments] != [one.label for one in own.arguments]:
        return False
    is_moved = [isinstance(one.value, Name) and one.value.name in bound for one in term.arguments]
    pairs = zip(term.arguments, own.arguments, is_moved, strict=True)
    return any(is_moved) and all(
        isinstance(other.value, Name) if moved else _text(view, steps, one) == _text(view, steps, other)
        for one, other, moved in pairs
    )


def _text(view: FileView, near: Site, argument: Argument) -> str:
    return view.text(near._replace(index=argument.value.site))


def _is_begun(outside: list[Node], begin: Node, own: Call) -> bool:
    """Returns whether the carry holds the blocks that a call gets and its result, which nothing else uses."""
    if not isinstance(begin, TupleDisplay):
        return False
    rest = [part for part in begin.items if _value_of(outside, part).site != own.site]
    results = [part for part in begin.items if part not in rest]
    held = [node for part in rest for node in walk(part) if not isinstance(node, TupleDisplay)]
    blocks = {node.name for node in held if isinstance(node, Name)}
    given = {one.value.name for one in own.arguments if isinstance(one.value, Name)}
    if len(results) != 1 or not held or not all(isinstance(node, Name) for node in held) or not blocks <= given:
        return False
    (result,) = results
    return not isinstance(result, Name) or sum(_is_named(node, result.name) for node in outside) == 2
