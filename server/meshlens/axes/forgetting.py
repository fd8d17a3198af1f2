"""Code that is not run, or not often enough: what it may have set is not known any more."""

from __future__ import annotations

from typing import Any

from meshlens.axes.assign import assign
from meshlens.axes.containers import MUTATORS
from meshlens.axes.context import Context
from meshlens.axes.frames import Frame
from meshlens.axes.run import Run
from meshlens.axes.values import UNKNOWN, Value
from meshlens.facts.nodes import Constant, FunctionShape

_TARGETS = frozenset({"name", "attr", "sub", "tuple", "list", "star"})


def forget(run: Run, nodes: tuple[Any, ...], frame: Frame, ctx: Context) -> None:
    """Makes everything unknown that some statements and expressions may set, functions in them left out.

    Args:
        run: the run.
        nodes: the statements and expressions.
        frame: the running frame.
        ctx: the circumstances.
    """
    waiting: list[Any] = list(nodes)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, tuple) or not node or isinstance(node, (Constant, FunctionShape)):
            continue
        tag = node[0]
        if type(tag) is not str:
            waiting.extend(node)
            continue
        for target in _set_by(tag, node):
            _unset(run, target, frame, ctx)
        if tag == "return" and len(node) == 3:
            frame.returned.append(UNKNOWN)
        elif tag == "yield" and len(node) == 3:
            frame.yielded.append(UNKNOWN)
        waiting.extend(node)


def too_deep(run: Run, node: Any, frame: Frame, ctx: Context) -> Value:
    """The value of an expression that lies too deep to be worked out."""
    forget(run, (node,), frame, ctx)
    return UNKNOWN


def _set_by(tag: str, node: Any) -> tuple[Any, ...]:
    """The targets that a node sets, as expressions."""
    size = len(node)
    if tag == "assign" and size == 4:
        return tuple(node[2]) if isinstance(node[2], tuple) else ()
    if (tag in ("ann", "aug") and size == 5) or (tag == "for" and size == 6):
        return (node[2],)
    if tag == "with" and size == 4:
        return tuple([target for _, target in node[2] if target is not None])
    if tag == "walrus" and size == 4:
        return (("name", node[1], node[2]),)
    if tag == "try" and size == 6:
        return tuple([("name", node[1], text) for _, text, _ in node[3] if text is not None])
    if tag == "fn" and size == 3 and isinstance(node[2], FunctionShape):
        return (("name", node[1], node[2][0]),)
    if tag == "def" and size == 3:
        return (("name", node[1], node[2].rsplit(".", 1)[-1].split("~", 1)[0]),)
    if tag == "class" and size == 7:
        return (("name", node[1], node[2]),)
    if tag == "import" and size == 3:
        return tuple([("name", node[1], alias or dotted.split(".")[0]) for dotted, alias, _ in node[2]])
    if tag == "from" and size == 5:
        return tuple([("name", node[1], alias or text) for text, alias, _ in node[4] if text != "*"])
    if tag == "del" and size == 3:
        return tuple(node[2])
    if tag == "call" and size == 4 and node[2][0] == "attr" and node[2][3] in MUTATORS:
        return (node[2][2],)
    if tag == "hole" and size == 4:
        return tuple([("name", node[1], name) for name in node[3]])
    return ()


def _unset(run: Run, target: Any, frame: Frame, ctx: Context) -> None:
    if not isinstance(target, tuple) or target[0] not in _TARGETS:
        return
    tag = target[0]
    if tag == "star":
        _unset(run, target[2], frame, ctx)
    elif tag in ("tuple", "list"):
        for item in target[2]:
            _unset(run, item, frame, ctx)
    elif tag == "sub":
        _unset(run, target[2], frame, ctx)
    elif tag == "name" or _is_plain(target[2]):
        assign(run, target, UNKNOWN, frame, ctx)


def _is_plain(node: Any) -> bool:
    """Whether an expression is a name with attributes, which can be worked out without calls that run bodies."""
    while node[0] == "attr":
        node = node[2]
    return bool(node[0] == "name")
