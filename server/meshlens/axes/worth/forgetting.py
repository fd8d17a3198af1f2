"""Code that is not run, or not often enough: the variables that it may set become unknown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from meshlens.axes.domain.values import UNKNOWN, Value
from meshlens.axes.python.assign import assign
from meshlens.axes.python.containers import MUTATORS
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import NOT_CLEAR, Frame
from meshlens.axes.runs.run import Run
from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    AugAssign,
    Call,
    ClassDef,
    Constant,
    Delete,
    Expression,
    For,
    FunctionDef,
    FunctionShape,
    Hole,
    Import,
    ImportFrom,
    ListDisplay,
    Name,
    Return,
    SeparateDef,
    Starred,
    Subscript,
    Try,
    TupleDisplay,
    Walrus,
    With,
    Yield,
)


def forget(run: Run, nodes: tuple[Any, ...], frame: Frame, ctx: Context) -> None:
    """Marks as unknown every variable that statements and expressions may set, except in nested functions.

    Args:
        run: the run.
        nodes: the statements and expressions.
        frame: the running frame.
        ctx: the context.
    """
    waiting: list[Any] = list(nodes)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, tuple) or isinstance(node, (Constant, FunctionShape)):
            continue
        for target in _set_by(node):
            _unset(run, target, frame, ctx)
        if isinstance(node, Return):
            frame.returned.append(UNKNOWN)
        elif isinstance(node, Yield):
            frame.yielded.append(UNKNOWN)
            frame.yields_all = False
            frame.current.append(NOT_CLEAR)
        waiting.extend(node)


def too_deep(run: Run, node: Expression, frame: Frame, ctx: Context) -> Value:
    """Returns an unknown value for an expression that is nested too deeply; forgets the variables that it may set."""
    forget(run, (node,), frame, ctx)
    return UNKNOWN


def _set_by(node: Any) -> Iterator[Expression]:
    """Yields the targets that a node sets, as expressions."""
    if isinstance(node, (Assign, Delete)):
        yield from node.targets
    elif isinstance(node, (AnnAssign, AugAssign, For)):
        yield node.target
    elif isinstance(node, With):
        yield from (item.target for item in node.items if item.target is not None)
    elif isinstance(node, Try):
        yield from (Name("name", node.site, one.name) for one in node.handlers if one.name is not None)
    elif isinstance(node, (Walrus, ClassDef)):
        yield Name("name", node.site, node.name)
    elif isinstance(node, FunctionDef):
        yield Name("name", node.site, node.function.name)
    elif isinstance(node, SeparateDef):
        yield Name("name", node.site, node.key.rsplit(".", 1)[-1].split("~", 1)[0])
    elif isinstance(node, Import):
        yield from (Name("name", node.site, one.alias or one.name.split(".")[0]) for one in node.names)
    elif isinstance(node, ImportFrom):
        yield from (Name("name", node.site, one.alias or one.name) for one in node.names if one.name != "*")
    elif isinstance(node, Call) and isinstance(node.callee, Attribute) and node.callee.name in MUTATORS:
        yield node.callee.object
    elif isinstance(node, Hole):
        yield from (Name("name", node.site, name) for name in node.unsettled)


def _unset(run: Run, target: Expression, frame: Frame, ctx: Context) -> None:
    if isinstance(target, Starred):
        _unset(run, target.value, frame, ctx)
    elif isinstance(target, (TupleDisplay, ListDisplay)):
        for item in target.items:
            _unset(run, item, frame, ctx)
    elif isinstance(target, Subscript):
        _unset(run, target.object, frame, ctx)
    elif isinstance(target, Name) or (isinstance(target, Attribute) and _is_plain(target.object)):
        assign(run, target, UNKNOWN, frame, ctx)


def _is_plain(node: Expression) -> bool:
    """Returns whether an expression is a name with attributes, which is evaluated without running bodies."""
    while isinstance(node, Attribute):
        node = node.object
    return isinstance(node, Name)
