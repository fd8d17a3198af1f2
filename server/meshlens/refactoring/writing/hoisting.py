"""Moves expressions into variables above their statement, so that they are reduced only if there is an axis name."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    AugAssign,
    BoolOperation,
    Call,
    Comprehension,
    Constant,
    DictDisplay,
    ExpressionStatement,
    IfExpression,
    Lambda,
    Name,
    Return,
    Walrus,
    last_name,
)
from meshlens.project.trees import Node, names_bound, names_used, path_to, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.grad_calls import takes
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.functions import Target, line_of
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import lines_before
from meshlens.text import Edit, FileEdit

_Statement: TypeAlias = Return | Assign | AnnAssign | AugAssign | ExpressionStatement
_STATEMENTS = (Return, Assign, AnnAssign, AugAssign, ExpressionStatement)
# Code in these may never run, or may run more than once.
_NOT_ONCE = (Lambda, Comprehension, IfExpression, BoolOperation)
_NAMES = {"pmean": "mean", "psum": "total", "all_gather": "gathered", "numbered": "numbers"}


def hoisted(
    view: FileView, target: Target, inside: Sequence[tuple[Node, str]], spelling: Spelling, axis: str
) -> list[FileEdit]:
    """Returns the edits that compute expressions before their statement, and reduce them if there is an axis.

    Args:
        view: the file.
        target: the function.
        inside: the expressions, each with its collective.
        spelling: spells the names of the collectives.
        axis: the variable that holds the name of the axis, or None.

    Raises:
        Obstacle: an expression cannot be computed earlier.
    """
    statements: dict[int, tuple[_Statement, list[tuple[Node, str, str]]]] = {}
    taken = names_used(target.node) | names_bound(target.body) | {one.name for one in target.node.function.parameters}
    for node, how in inside:
        path = path_to(view, target.at(node.site))
        statement = next((one for one in reversed(path) if isinstance(one, _STATEMENTS)), None)
        if statement is None or how not in _NAMES or not _runs_once(statement, node, path, [one for one, _ in inside]):
            line = line_of(view, target.at(node.site))
            message = (
                f"line {line} reduces inside an expression, so calls without an axis name could not skip the reduction"
            )
            raise Obstacle("reduction-inside", f"{message}; assign it to a variable first")
        name = _own_name(statement, node) or next(one for one in _names_for(view, node, how, path) if one not in taken)
        taken.add(name)
        statements.setdefault(statement.site, (statement, []))[1].append((node, how, name))
    edits: list[FileEdit] = []
    for statement, found in statements.values():
        start = start_of_own_line(view, target, statement)
        fresh = [(node, name) for node, _, name in found if not (isinstance(node, Name) and node.name == name)]
        lines = [f"{name} = {_text(view, target, node)}" for node, name in fresh]
        lines.append(f"if {axis} is not None:")
        for how in dict.fromkeys(how for _, how, _ in found):
            names = tuple(name for _, one, name in found if one == how)
            if how == "numbered":
                index = f"{spelling.of('jax', 'lax.axis_index')}({axis})"
                lines += [f"    {name} = {name} + {index} * {name}.shape[0]" for name in names]
                continue
            lines.append(f"    {reduction(names, how, spelling, axis)}")
        edits.append(lines_before(view, statement, start, lines))
        edits += [FileEdit(view.path, Edit(view.span(target.at(node.site)), name)) for node, name in fresh]
    return edits


def start_of_own_line(view: FileView, target: Target, statement: Node) -> int:
    """Returns where a statement of a function starts.

    Raises:
        Obstacle: another statement is before it on its line.
    """
    start = view.span(target.at(statement.site)).start
    if view.source[view.source.rfind(b"\n", 0, start) + 1 : start].strip():
        line = line_of(view, target.at(statement.site))
        raise Obstacle("no-place", f"line {line} contains more than one statement; put each on its own line")
    return start


def reduction(names: tuple[str, ...], how: str, spelling: Spelling, axis: str) -> str:
    """Returns the statement that reduces variables over devices."""
    joined = ", ".join(names)
    value = f"({joined})" if len(names) > 1 else joined
    rest = ", tiled=True" if how == "all_gather" else ""
    return f"{joined} = {spelling.of('jax', f'lax.{how}')}({value}, axis_name={axis}{rest})"


def _runs_once(statement: _Statement, node: Node, path: tuple[Node, ...], every: list[Node]) -> bool:
    """Returns whether an expression runs exactly once per run of its statement, and can run before the statement."""
    between = path[path.index(statement) + 1 : -1]
    if any(isinstance(one, _NOT_ONCE) or any(one is other for other in every) for one in between):
        return False
    return not any(isinstance(one, Walrus) for one in walk(statement)) and node is not statement


def _own_name(statement: _Statement, node: Node) -> str:
    """Returns the name of a variable that a `return` reads exactly once and that can be reduced directly, else ""."""
    if not isinstance(node, Name) or not isinstance(statement, Return):
        return ""
    is_only = sum(isinstance(one, Name) and one.name == node.name for one in walk(statement)) == 1
    return node.name if is_only else ""


def _names_for(view: FileView, node: Node, how: str, path: tuple[Node, ...]) -> Iterator[str]:
    """Yields names for a variable that holds an expression, best first."""
    above = path[-2] if len(path) > 1 else None
    if isinstance(above, DictDisplay):
        key = next((key for key, value in above.pairs if value is node), None)
        if isinstance(key, Constant) and isinstance(key.value, str) and re.fullmatch(r"[a-z_][a-z0-9_]*", key.value):
            yield key.value
    if isinstance(node, Call) and takes(view, node.callee):
        yield "grads"
    owner = _operand(node)
    base = _NAMES[how]
    if isinstance(owner, Name):
        yield f"{owner.name}_{'sum' if how == 'psum' else base}"
    yield base
    yield from (f"{base}{number}" for number in itertools.count(2))


def _operand(node: Node) -> Node | None:
    """Returns the operand of a mean or a sum, such as `x` in `x.mean()` or `jnp.sum(x)`; None for other expressions."""
    if not isinstance(node, Call) or last_name(node.callee) not in ("mean", "sum"):
        return None
    if not node.arguments and isinstance(node.callee, Attribute):
        return node.callee.object
    return node.arguments[0].value if len(node.arguments) == 1 else None


def _text(view: FileView, target: Target, node: Node) -> str:
    """Returns the source of an expression, in parentheses if it spans several lines without brackets of its own."""
    span = view.span(target.at(node.site))
    text = view.source[span.start : span.end].decode("utf-8", "replace")
    return f"({text})" if "\n" in text and not isinstance(node, Call) else text
