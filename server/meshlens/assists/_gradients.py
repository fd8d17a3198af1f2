"""Where a function takes gradients, and the line that averages them over the devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.assists._functions import Target, dotted_name, functions, line_of
from meshlens.assists._pmap import Obstacle
from meshlens.facts.walking import nodes
from meshlens.project.trees import Node, names_used, walk
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span

_TAKES = {"jax.grad": False, "jax.value_and_grad": True}


@dataclass(frozen=True, slots=True)
class Taken:
    """A statement that takes gradients.

    Attributes:
        statement: it.
        names: what it binds that has to be averaged: the gradients, and the value of the loss.
        wrt: the names of the variables that the gradients are taken for, as far as that is plain.
        is_mean: whether the loss says that it is a mean over its rows.
    """

    statement: Node
    names: tuple[str, ...]
    wrt: tuple[str, ...]
    is_mean: bool


def gradients_in(view: FileView, target: Target) -> tuple[Taken, ...]:
    """Every statement of a function that takes gradients.

    Raises:
        Obstacle: one is written in a way that is better changed by hand, or its loss is no mean.
    """
    named: dict[str, Node] = {}
    for key in view.facts.top:
        named |= _named(view, view.facts.blocks[key].shape)
    found = []
    for statement in _statements(target):
        named |= _named(view, statement)
        if statement[0] != "assign" or len(statement[2]) != 1 or statement[3][0] != "call":
            continue
        callee = statement[3][2]
        maker = _maker(view, callee, named)
        if maker is not None:
            found.append(_taken(view, target, statement, maker))
    reduced = [
        node for statement in target.body for node in walk(statement) if node[0] == "call" and is_reduction(node)
    ]
    _must_be_found(view, target, [*(one.statement[3] for one in found), *reduced], named)
    done = {name for call in reduced for argument in call[3] for name in names_used(argument[2])}
    return tuple(one for one in found if one.names[-1] not in done)


def is_reduction(call: Node) -> bool:
    """Whether a call is spelled like a reduction over devices."""
    return call[2][-1] in ("pmean", "psum")


def _maker(view: FileView, callee: Node, named: dict[str, Node]) -> Node | None:
    """The `grad(…)` that made what is called."""
    if _takes(view, callee):
        return callee
    return named.get(callee[2]) if callee[0] == "name" else None


def _must_be_found(view: FileView, target: Target, found: list[Node], named: dict[str, Node]) -> None:
    """Makes sure that no gradient of a function is taken inside an expression other than those that are known."""
    known = {node[1] for one in found for node in walk(one)}
    for statement in target.body:
        for node in walk(statement):
            if node[0] == "call" and node[1] not in known and _maker(view, node[2], named) is not None:
                line = line_of(view, target.at(node[1]))
                raise Obstacle(
                    "gradient-target", f"line {line} puts the gradients where they cannot be averaged by name"
                )


def averaging(view: FileView, target: Target, taken: Taken, pmean: str, axis: str, guard: str = "") -> FileEdit:
    """The edit that averages gradients in the line below the one that takes them.

    Args:
        view: the file.
        target: the function.
        taken: where it takes them.
        pmean: how the file calls `pmean`.
        axis: the axis name as it is written.
        guard: the head of the statement under which it is done; "" for always.
    """
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
    line = f"{names} = {pmean}({value}, axis_name={axis})"
    text = f"\n{head}{guard}\n{head}    {line}" if guard else f"\n{head}{line}"
    return FileEdit(view.path, Edit(Span(end, end), text))


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


def _takes(view: FileView, node: Node) -> bool:
    return node[0] == "call" and dotted_name(view, node[2]) in _TAKES


def _named(view: FileView, statement: Node) -> dict[str, Node]:
    if statement[0] != "assign" or not _takes(view, statement[3]):
        return {}
    return {one[2]: statement[3] for one in statement[2] if one[0] == "name"}


def _taken(view: FileView, target: Target, statement: Node, maker: Node) -> Taken:
    with_value = _TAKES[dotted_name(view, maker[2])]
    aux = any(label == "has_aux" and value[-1] is not False for label, _, value in maker[3])
    names = _names(statement[2][0], with_value, aux)
    if names is None:
        line = line_of(view, target.at(statement[1]))
        raise Obstacle("gradient-target", f"line {line} puts the gradients where they cannot be averaged by name")
    first = [value for label, _, value in statement[3][3] if label is None][:1]
    plain = all(label != "argnums" for label, _, _ in maker[3])
    wrt = tuple(node[2] for one in first for node in walk(one) if node[0] == "name" and plain)
    return Taken(statement, names, wrt, _is_mean(view, maker))


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


def _is_mean(view: FileView, maker: Node) -> bool:
    """Whether the loss of a `grad` certainly takes a mean; a bare sum is refused.

    Raises:
        Obstacle: it adds up its rows and divides by nothing.
    """
    operand = next((value for label, _, value in maker[3] if label is None), None)
    if operand is None:
        return False
    named = [one.node for one in functions(view) if operand[0] == "name" and one.name == operand[2]]
    shape = (operand, *named)
    words = {node[-1] for node in nodes(shape) if node[0] in ("attr", "name") and isinstance(node[-1], str)}
    if words & {"mean", "average", "pmean"}:
        return True
    divides = any(node[0] == "bin" and len(node) == 5 and node[2] == "/" for node in nodes(shape))
    if "sum" in words and not divides:
        name = operand[2] if operand[0] == "name" else "the loss"
        raise Obstacle("summed-loss", f'"{name}" sums over its rows, so its gradients are to be summed as well')
    return False
