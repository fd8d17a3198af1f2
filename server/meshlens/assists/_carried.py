"""The state that a loop carries through its calls, and the lines before the loop that place it."""

from __future__ import annotations

from collections.abc import Iterable

from meshlens.assists._graph_objects import is_graph_object
from meshlens.assists._host_calls import HostCall
from meshlens.assists._roles import Given
from meshlens.assists._spelling import Spelling
from meshlens.assists._writing import around, width_of
from meshlens.axes.values import Site
from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    AugAssign,
    Constant,
    For,
    FunctionDef,
    Lambda,
    Name,
    Walrus,
    While,
    With,
)
from meshlens.project.trees import Node, names_bound, path_to, walk
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span


def carried_state(view: FileView, call: HostCall, given: tuple[Given, ...]) -> list[tuple[int, str, bool]]:
    """Returns which variables are to be copied to all devices, and where: before the outermost loop around a call.

    Each comes with whether it is an object of flax.nnx, which keeps its identity.
    """
    path = path_to(view, call.site)
    inner = next(
        (place for place in range(len(path) - 1, -1, -1) if isinstance(path[place], (FunctionDef, Lambda))), -1
    )
    loop = next((node for node in path[inner + 1 :] if isinstance(node, (For, While))), None)
    if loop is None or (inner >= 0 and isinstance(path[inner], Lambda)):
        return []
    start = view.span(Site(call.site.path, call.site.block, loop.site)).start
    if view.source[view.source.rfind(b"\n", 0, start) + 1 : start].strip():
        return []
    bound = _bound_before(view, path, inner, start)
    found = []
    for one in given:
        if one.role != "state" or not isinstance(one.node, Name) or one.node.name not in bound:
            continue
        is_graph = is_graph_object(view, call, one.node.name)
        if not _is_made_in(loop, one.node.name, call) and (is_graph or b"nnx" not in view.source):
            found.append((start, str(one.node.name), is_graph))
    return found


def _bound_before(view: FileView, path: tuple[Node, ...], inner: int, start: int) -> set[str]:
    """Returns the names that certainly have a value before a loop, of the function that runs it or of the top level."""
    if inner >= 0:
        function = path[inner].function
        parameters = {parameter.name for parameter in function.parameters}
        return parameters | names_bound(node for node in function.body if not any(node is one for one in path))
    blocks = (view.facts.blocks[key] for key in view.facts.top)
    return names_bound(
        block.shape
        for block in blocks
        if block.span(0).end <= start and isinstance(block.shape, (Assign, AnnAssign, With))
    )


def _is_made_in(loop: Node, name: str, call: HostCall) -> bool:
    """Returns whether a loop gives a variable a value in another way than by this call."""
    return any(
        name in names_bound([node])
        and not any(inner is call.node for inner in walk(node))
        and isinstance(node, (Assign, AnnAssign, AugAssign, With, Walrus, For))
        for node in walk(loop)
        if node is not loop
        or name in names_bound([For("for", loop.site, loop.target, Constant("const", 0, None), (), ())])
    )


def placing_lines(
    view: FileView, copied: list[tuple[int, str, bool]], replicate: str, spelling: Spelling
) -> Iterable[FileEdit]:
    """Yields the lines before a loop that put copies of its state on all devices."""
    places: dict[int, dict[str, bool]] = {}
    for at, name, is_graph in copied:
        places.setdefault(at, {})[name] = is_graph
    for at, names in places.items():
        indent, _ = around(view, Span(at, at))
        plain = [name for name, is_graph in names.items() if not is_graph]
        joined = ", ".join(plain)
        lines = [f"{joined} = {replicate}({f'({joined})' if len(plain) > 1 else joined})"] if plain else []
        if lines and len(indent) + len(lines[0]) > width_of(view):
            lines = [f"{name} = {replicate}({name})" for name in plain]
        if len(plain) < len(names):
            update, state = (spelling.of("flax.nnx", name) for name in ("update", "state"))
            lines += [f"{update}({name}, {replicate}({state}({name})))" for name in names if names[name]]
        yield FileEdit(view.path, Edit(Span(at, at), "".join(f"{line}\n{indent}" for line in lines)))
