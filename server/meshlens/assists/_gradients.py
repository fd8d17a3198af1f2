"""Where a function takes gradients, and the line that averages them over the devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.assists._functions import Target, line_of
from meshlens.assists._pmap import Obstacle
from meshlens.axes.records import ApiCall
from meshlens.axes.values import Const, Function, Site, Value, Wrapped
from meshlens.facts.walking import nodes
from meshlens.jaxapi.names import canonical
from meshlens.project.trees import Node, walk
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span

_TAKES = {"jax.grad": False, "jax.value_and_grad": True}


@dataclass(frozen=True, slots=True)
class Taken:
    """A statement that takes gradients.

    Attributes:
        statement: it.
        names: what it binds that has to be averaged: the gradients, and the value of the loss.
        wrt: the names of the variables that the gradients are taken for.
    """

    statement: Node
    names: tuple[str, ...]
    wrt: tuple[str, ...]


def gradients_in(view: FileView, target: Target) -> tuple[Taken, ...]:
    """Every statement of a function that takes gradients.

    Raises:
        Obstacle: one is written in a way that is better changed by hand, or its loss is no mean.
    """
    makers = {call.call: call for call in view.records.calls if canonical(call.dotted) in _TAKES}
    named: dict[str, ApiCall] = {}
    for key in view.facts.top:
        named |= _named(target, view.facts.blocks[key].shape, makers, key)
    found = []
    for statement in _statements(target):
        named |= _named(target, statement, makers, target.site.block)
        if statement[0] != "assign" or len(statement[2]) != 1 or statement[3][0] != "call":
            continue
        callee = statement[3][2]
        maker = makers.get(target.at(callee[1])) or (named.get(callee[2]) if callee[0] == "name" else None)
        if maker is not None:
            _must_be_a_mean(view, maker)
            found.append(_taken(view, target, statement, maker))
    return tuple(found)


def averaging(view: FileView, target: Target, taken: Taken, pmean: str, axis: str) -> FileEdit:
    """The edit that averages gradients in the line below the one that takes them."""
    span = view.span(target.at(taken.statement[1]))
    end = view.source.find(b"\n", span.end)
    end = end if end >= 0 else len(view.source)
    rest = view.source[span.end : end].strip()
    start = view.source.rfind(b"\n", 0, span.start) + 1
    head = view.source[start : span.start].decode("utf-8", "replace")
    if head.strip() or (rest and not rest.startswith(b"#")):
        raise Obstacle("gradient-line", f"line {_line(view, target, taken)} holds more than one statement")
    names = ", ".join(taken.names)
    value = f"({names})" if len(taken.names) > 1 else names
    return FileEdit(view.path, Edit(Span(end, end), f"\n{head}{names} = {pmean}({value}, axis_name={axis})"))


def _line(view: FileView, target: Target, taken: Taken) -> int:
    return line_of(view, target.at(taken.statement[1]))


def _statements(target: Target) -> Iterator[Node]:
    waiting = list(reversed(target.body))
    while waiting:
        node = waiting.pop()
        if node[0] in ("fn", "class", "lambda"):
            continue
        if node[0] in ("assign", "expr", "return", "aug", "ann"):
            yield node
        elif node[0] in ("if", "for", "while", "with", "try"):
            below = [part for part in node[2:] if isinstance(part, tuple)]
            inner = [
                one for part in below for one in part if isinstance(one, tuple) and one and isinstance(one[0], str)
            ]
            waiting.extend(reversed(inner))


def _named(target: Target, statement: Node, makers: dict[Site, ApiCall], key: str) -> dict[str, ApiCall]:
    if statement[0] != "assign" or statement[3][0] != "call":
        return {}
    maker = makers.get(target.site._replace(block=key, index=statement[3][1]))
    return {one[2]: maker for one in statement[2] if one[0] == "name"} if maker is not None else {}


def _taken(view: FileView, target: Target, statement: Node, maker: ApiCall) -> Taken:
    with_value = _TAKES[canonical(maker.dotted)]
    aux = any(arg.label == "has_aux" and arg.value != Const(False) for arg in maker.args)
    names = _names(statement[2][0], with_value, aux)
    if names is None:
        line = line_of(view, target.at(statement[1]))
        raise Obstacle("gradient-target", f"line {line} puts the gradients where they cannot be averaged by name")
    first = [argument[2] for argument in statement[3][3] if argument[0] is None][:1]
    wrt = tuple(node[2] for one in first for node in walk(one) if node[0] == "name")
    return Taken(statement, names, wrt)


def _names(bound: Node, with_value: bool, aux: bool) -> tuple[str, ...] | None:
    """The names to average: gradients alone, or the loss and the gradients; what comes beside the loss is left."""
    if bound[0] == "name":
        return None if aux else (bound[2],)
    if bound[0] != "tuple" or len(bound[2]) != 2:
        return None
    first, second = bound[2]
    if not with_value:
        return (first[2],) if aux and first[0] == "name" else None
    if second[0] != "name":
        return None
    if aux:
        inner = first[2][0] if first[0] in ("tuple", "list") and len(first[2]) == 2 else None
        return (inner[2], second[2]) if inner is not None and inner[0] == "name" else None
    return (first[2], second[2]) if first[0] == "name" else None


def _must_be_a_mean(view: FileView, maker: ApiCall) -> None:
    operand: Value | None = maker.args[0].value if maker.args else None
    while isinstance(operand, Wrapped):
        operand = operand.operand
    if not isinstance(operand, Function):
        return
    shape = operand.body or view.solution.facts[operand.path].blocks[operand.block].shape
    words = {node[-1] for node in nodes(shape) if node[0] in ("attr", "name") and isinstance(node[-1], str)}
    divides = any(node[0] == "bin" and len(node) == 5 and node[2] == "/" for node in nodes(shape))
    if "sum" in words and not divides and not words & {"mean", "average", "pmean"}:
        raise Obstacle("summed-loss", f'"{operand.name}" sums over its rows, so its gradients are to be summed as well')
