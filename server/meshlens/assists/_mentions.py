"""Every mention and every binding of a name or an attribute in a file, looked up by name."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from meshlens.assists._scopes import outermost
from meshlens.axes.values import Site
from meshlens.project.trees import Node, bound_by, children, tree
from meshlens.project.view import FileView


@dataclass(frozen=True, slots=True)
class Mention:
    """A place that reads a name or an attribute.

    Attributes:
        site: the place.
        root: the block of the outermost function around it, or the block itself.
        node: the "name" or "attr" node.
        call: the call of it, if it is called there.
    """

    site: Site
    root: str
    node: Node
    call: Node | None


@dataclass(frozen=True, slots=True)
class Mentions:
    """The mentions of a file.

    Attributes:
        names, attributes: by the name, in the order of the file.
        bound_at_top: how often the top level binds a name.
        bound_inside: how often a function binds a name, with what is nested in it, by the block of the outermost one.
        stored_attributes: the functions that store an attribute, by their names, "" for the top level.
        made_of: the names that are bound to a new object of a class, by the name of the class.
    """

    names: dict[str, list[Mention]] = field(default_factory=lambda: defaultdict(list))
    attributes: dict[str, list[Mention]] = field(default_factory=lambda: defaultdict(list))
    bound_at_top: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    bound_inside: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(int)))
    stored_attributes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    made_of: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


def mentions_in(view: FileView) -> Mentions:
    """The mentions of a file, worked out once for a state of the workspace."""
    return view.solution.once(f"assists: mentions in {view.path}", lambda _: _collected(view))


def _collected(view: FileView) -> Mentions:
    found = Mentions()
    for key in view.facts.blocks:
        root = tree(view, str(view.path), key)
        if root is not None:
            _collect(view, found, key, root)
    return found


def _collect(view: FileView, found: Mentions, key: str, top: Node) -> None:
    path, root = str(view.path), outermost(view, key)
    parent = view.facts.blocks.get(key.rpartition(".")[0])
    called: dict[int, Node] = {}
    stored: set[int] = set()
    waiting: list[tuple[Node, str]] = [(top, "top" if parent is None else "block")]
    while waiting:
        node, where = waiting.pop()
        tag = node[0]
        if tag == "call":
            called[node[2][1]] = node
        elif tag == "name" and node[1] not in stored:
            found.names[node[2]].append(Mention(Site(path, key, node[1]), root, node, called.get(node[1])))
        elif tag == "attr" and node[1] not in stored:
            found.attributes[node[3]].append(Mention(Site(path, key, node[1]), root, node, called.get(node[1])))
        for target in _targets(node):
            stored.add(target[1])
            if target[0] == "attr":
                found.stored_attributes[target[3]].add(top[2][0] if top[0] == "fn" else "")
        for name in bound_by(node):
            _bind(found, root, where, name)
        if tag == "assign" and node[3][0] == "call" and node[3][2][0] == "name":
            found.made_of[node[3][2][2]].update(target[2] for target in node[2] if target[0] == "name")
        if tag in ("fn", "lambda"):
            for parameter in node[2][2] if tag == "fn" else node[2]:
                _bind(found, root, "inside", parameter[0])
        below = "inside" if tag in ("fn", "lambda") else "member" if tag == "class" and where != "inside" else where
        below = "inside" if where == "inside" else "top" if below == "block" else below
        waiting.extend((child, below) for child in reversed(list(children(node))))


def _bind(found: Mentions, root: str, where: str, name: str) -> None:
    if where == "top":
        found.bound_at_top[name] += 1
    elif where == "inside":
        found.bound_inside[name][root] += 1


def _targets(node: Node) -> tuple[Node, ...]:
    """What a statement stores into."""
    if node[0] == "assign":
        return tuple(inner for target in node[2] for inner in _flat(target))
    return _flat(node[2]) if node[0] in ("ann", "for", "aug") else ()


def _flat(target: Node) -> tuple[Node, ...]:
    if target[0] in ("tuple", "list"):
        return tuple(inner for item in target[2] for inner in _flat(item))
    return (target,)
