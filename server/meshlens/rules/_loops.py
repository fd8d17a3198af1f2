"""Loops as the source has them: which loop encloses a place, whether it turns often, what changes in it."""

from __future__ import annotations

from collections.abc import Iterable

from meshlens.axes.values import Seq, Site
from meshlens.project.trees import Node, definitions, names_bound, names_used, tree, walk
from meshlens.project.view import FileView

_DISPLAYS = frozenset({"tuple", "list", "set", "dict", "const"})
_FEW = frozenset({"items", "values", "keys", "product", "permutations", "combinations", "sorted", "dict"})
_THROUGH = frozenset({"enumerate", "zip", "reversed", "tqdm", "trange", "list", "iter"})
_SOMETIMES = frozenset({"if", "try", "ifexp", "bool", "match"})


def enclosing_loop(path: tuple[Node, ...]) -> tuple[Node, ...] | None:
    """The innermost loop of the running function around the last node of a path, with the nodes inside it.

    Returns:
        The loop and what leads from it to the place; None without a loop, or where the place is passed only
        sometimes, or belongs to the loop's head.
    """
    for place in range(len(path) - 2, -1, -1):
        node, inner = path[place], path[place + 1]
        if node[0] == "lambda" or (node[0] == "fn" and inner in node[2][4]):
            return None
        if node[0] in _SOMETIMES:
            return None
        if node[0] in ("for", "while"):
            return path[place:] if inner in node[-2] and not _leaves(node[-2]) else None
        if node[0] == "comp":
            element = node[3] if node[2] != "dict" else None
            return path[place:] if inner is element else None
    return None


def _leaves(body: tuple[Node, ...]) -> bool:
    return bool(body) and body[-1][0] in ("break", "return", "raise")


def turns_often(view: FileView, loop: Node, site: Site) -> bool:
    """Whether a loop goes over steps or data rather than over a few cases written out.

    Args:
        view: the file.
        loop: the loop.
        site: a place in its block.
    """
    if loop[0] == "while":
        return True
    iterable = loop[3] if loop[0] == "for" else loop[4][0][1]
    return _is_long(view, iterable, site)


def _is_long(view: FileView, iterable: Node, site: Site) -> bool:
    tag = iterable[0]
    if tag in _DISPLAYS or tag == "comp":
        return False
    if tag == "call":
        callee = iterable[2]
        name = callee[3] if callee[0] == "attr" else callee[2] if callee[0] == "name" else ""
        if name in _FEW:
            return False
        arguments = [argument[2] for argument in iterable[3]]
        if name == "range":
            last = arguments[0] if len(arguments) == 1 else None
            return not (last is not None and last[0] == "const" and isinstance(last[2], int) and last[2] < 2)
        if name in _THROUGH and arguments:
            return all(_is_long(view, argument, site) for argument in arguments[:2])
        return True
    if tag == "name":
        return not iterable[2].isupper() and not _is_written_out(view, iterable[2], site)
    return bool(tag == "attr")


def _is_written_out(view: FileView, name: str, site: Site) -> bool:
    root = tree(view, site.path, site.block)
    for node in walk(root) if root is not None else ():
        if node[0] == "assign" and any(target[0] == "name" and target[2] == name for target in node[2]):
            return node[3][0] in _DISPLAYS
    state = view.solution.modules.get(site.path)
    value = state.frame.vars.get(name) if state is not None else None
    return isinstance(value, Seq) and not value.open


def changing_names(view: FileView, site: Site, nodes: tuple[Node, ...], parameters: Iterable[str] = ()) -> set[str]:
    """The names that may differ from turn to turn; a function defined in there counts only if it uses such a name.

    Args:
        view: the file.
        site: a place in the block.
        nodes: the loop, or the body of a function that a loop calls.
        parameters: the parameters of that function.
    """
    uses: dict[str, set[str]] = {}
    for node in definitions(nodes):
        function = node if node[0] == "fn" else tree(view, site.path, node[2])
        if function is not None:
            uses[function[2][0]] = names_used(function)
    changing = (names_bound(nodes) | set(parameters)) - set(uses)
    while True:
        more = {name for name, used in uses.items() if name not in changing and used & changing}
        if not more:
            return changing
        changing |= more
