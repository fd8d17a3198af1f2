"""The state that a loop carries through its calls, and the lines before the loop that copy it to the devices."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    AugAssign,
    Constant,
    For,
    FunctionDef,
    If,
    Lambda,
    Name,
    Walrus,
    While,
    With,
)
from meshlens.project.trees import Node, names_bound, path_to, walk
from meshlens.project.view import FileView
from meshlens.project.writing.new_imports import end_of_line
from meshlens.refactoring.following.roles import Given
from meshlens.refactoring.reading.graph_objects import is_graph_object
from meshlens.refactoring.reading.host_calls import HostCall
from meshlens.refactoring.reading.mentions import bound_at_top
from meshlens.refactoring.reading.object_kinds import kind_of_argument
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import around, width_of
from meshlens.text import Edit, FileEdit, Span

_TRANSFORMATIONS = frozenset({"optimizer", "optim", "opt", "tx"})


def carried_state(view: FileView, call: HostCall, given: tuple[Given, ...]) -> list[tuple[int, str, bool]]:
    """Returns the variables to copy to all devices, each with the offset at which to copy it and a flag.

    They are copied before the outermost loop around the call, except that flax.nnx objects that the top level creates
    for a function are copied after they are created. The flag marks flax.nnx objects, which keep their identity.
    """
    path = path_to(view, call.site)
    inner = next(
        (place for place in range(len(path) - 1, -1, -1) if isinstance(path[place], (FunctionDef, Lambda))), -1
    )
    function = path[inner] if inner >= 0 else None
    if isinstance(function, Lambda):
        return []
    made_above = _made_above(view, call, given, function) if isinstance(function, FunctionDef) else []
    loop = next((node for node in path[inner + 1 :] if isinstance(node, (For, While))), None)
    if loop is None:
        return made_above
    start = view.span(Site(call.site.path, call.site.block, loop.site)).start
    if view.source[view.source.rfind(b"\n", 0, start) + 1 : start].strip():
        return made_above
    bound = _bound_before(view, path, function, start)
    found = made_above
    for one in given:
        if one.role != "state" or not isinstance(one.node, Name) or one.node.name not in bound:
            continue
        is_graph = is_graph_object(view, call, one.node.name)
        if not is_graph and not one.is_carried and _transforms_gradients(view, call, one):
            continue
        if not _is_made_in(loop, one.node.name, call) and (is_graph or b"nnx" not in view.source):
            found.append((start, one.node.name, is_graph))
    return found


def _bound_before(view: FileView, path: tuple[Node, ...], around: Node | None, start: int) -> set[str]:
    """Returns the names that certainly have a value before a loop in a function or at the top level."""
    if isinstance(around, FunctionDef):
        parameters = {parameter.name for parameter in around.function.parameters}
        return parameters | names_bound(node for node in around.function.body if not any(node is one for one in path))
    blocks = (view.facts.blocks[key] for key in view.facts.top)
    above = [block.shape for block in blocks if block.span(0).end <= start]
    for node in path:
        if isinstance(node, If) and any(one is other for one in node.body for other in path):
            above += itertools.takewhile(lambda one: not any(one is other for other in path), node.body)
    return names_bound(node for node in above if isinstance(node, (Assign, AnnAssign, With)))


def _made_above(
    view: FileView, call: HostCall, given: tuple[Given, ...], function: FunctionDef
) -> list[tuple[int, str, bool]]:
    """Returns the top-level flax.nnx objects that a function uses, in the form that `carried_state` returns."""
    own = {parameter.name for parameter in function.function.parameters} | names_bound(function.function.body)
    names = {one.node.name for one in given if one.role == "state" and isinstance(one.node, Name)} - own
    ends = {
        name: end_of_line(view, block.span(0).end)
        for block in (view.facts.blocks[key] for key in view.facts.top)
        if isinstance(block.shape, Assign)
        for name in names & names_bound([block.shape])
        if bound_at_top(view, name) == 1 and is_graph_object(view, call, name)
    }
    placed = {name for name in ends if f"state({name})))".encode() in view.source}
    return [(max(ends.values()), name, True) for name in sorted(ends.keys() - placed, key=lambda one: ends[one])]


def _transforms_gradients(view: FileView, call: HostCall, given: Given) -> bool:
    """Returns whether an argument is a gradient transformation, a function or a Linen module, and so has no arrays."""
    kind = kind_of_argument(view, call, given.node)
    return kind in ("optax", "function", "linen") or (kind is None and given.name in _TRANSFORMATIONS)


def _is_made_in(loop: Node, name: str, call: HostCall) -> bool:
    """Returns whether a loop assigns a variable anything other than the result of this call."""
    return any(
        name in names_bound([node])
        and not any(inner is call.node for inner in walk(node))
        and isinstance(node, (Assign, AnnAssign, AugAssign, With, Walrus, For))
        for node in walk(loop)
        if node is not loop
        or (
            isinstance(loop, For)
            and name in names_bound([For("for", loop.site, loop.target, Constant("const", 0, None), (), ())])
        )
    )


def placing_lines(
    view: FileView, copied: list[tuple[int, str, bool]], replicate: str, spelling: Spelling
) -> Iterable[FileEdit]:
    """Yields the lines before a loop that copy its state to all devices."""
    places: dict[int, dict[str, bool]] = {}
    for at, name, is_graph in copied:
        places.setdefault(at, {})[name] = is_graph
    for at, names in places.items():
        indent, _ = around(view, Span(at, at))
        is_below = view.source[at : at + 1] in (b"", b"\r", b"\n")
        plain = [name for name, is_graph in names.items() if not is_graph]
        joined = ", ".join(plain)
        lines = [f"{joined} = {replicate}({f'({joined})' if len(plain) > 1 else joined})"] if plain else []
        if lines and len(indent) + len(lines[0]) > width_of(view):
            lines = [f"{name} = {replicate}({name})" for name in plain]
        if len(plain) < len(names):
            update, state = (spelling.of("flax.nnx", name) for name in ("update", "state"))
            lines += [f"{update}({name}, {replicate}({state}({name})))" for name in names if names[name]]
        text = "".join(f"\n{indent}{line}" if is_below else f"{line}\n{indent}" for line in lines)
        yield FileEdit(view.path, Edit(Span(at, at), text))
