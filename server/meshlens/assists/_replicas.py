"""Variables outside the maps that hold, for each device, a copy of the same."""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.assists._assigned import name_at
from meshlens.assists._scopes import outermost
from meshlens.axes.records import MappedCall
from meshlens.axes.values import Data, Dict, Seq, Site, Value
from meshlens.jaxapi.names import canonical
from meshlens.project.trees import Node, bound_by, path_to, tree, walk
from meshlens.project.view import FileView
from meshlens.text import Span

_TAKES_ONE = ("unreplicate", "first", "get_first", "tree_map", "map")


@dataclass(frozen=True, slots=True)
class Replica:
    """An expression that reads a variable with copies, or a part of it.

    Attributes:
        span: the expression.
        is_array: whether it is certainly one array.
    """

    span: Span
    is_array: bool


def replica_at(view: FileView, span: Span) -> Replica | None:
    """The expression under a cursor, if all devices certainly hold the same of it."""
    named = name_at(view, span)
    if named is None:
        return None
    site, name = named
    path = path_to(view, site)
    found = _results(view, site, name)
    if found is None:
        return None
    call, values = found
    place = len(path) - 1
    while place and _is_part(path[place - 1], path[place]):
        place -= 1
        values = [_part(value, path[place]) for value in values]
    above = path[place - 1] if place else ("", 0)
    if _takes_one(above) or any(node[0] == "call" and _calls(view, site, node) for node in path):
        return None
    if not all(_is_same(value) or (_is_state(value) and _is_carried(call, name)) for value in values):
        return None
    at = view.span(Site(site.path, site.block, path[place][1]))
    return Replica(at, all(isinstance(value, Data) and value.array for value in values))


def _results(view: FileView, site: Site, name: str) -> tuple[Node, list[Value]] | None:
    """The last call of a pmap above a place that binds a variable, and what it is bound to on each route.

    None if something else binds it between the two.
    """
    here = view.span(site).start
    last: tuple[int, Site, Node] | None = None
    root = outermost(view, site.block)
    for key in view.facts.blocks:
        top = tree(view, site.path, key) if _is_around(view, key, root) else None
        for node in walk(top) if top is not None else ():
            if name not in bound_by(node):
                continue
            at = view.span(Site(site.path, key, node[1])).start
            if at < here and (last is None or at > last[0]):
                last = (at, Site(site.path, key, node[1]), node)
    if last is None or last[2][0] != "assign" or len(last[2][2]) != 1 or last[2][3][0] != "call":
        return None
    _, statement, node = last
    calls = [
        call
        for call in view.records.mapped_calls
        if call.call == Site(statement.path, statement.block, node[3][1]) and _is_pmap(call)
    ]
    values = [value for call in calls for value in _bound(node[2][0], call.returned, name)]
    return (node[3], values) if values and len(values) == len(calls) else None


def _is_around(view: FileView, key: str, root: str) -> bool:
    block = view.facts.blocks[root]
    if block.shape[0] == "fn" or len(block.shape) == 6:
        return outermost(view, key) == root
    # At the top level every statement may bind the variable; functions have their own.
    return key in view.facts.top and view.facts.blocks[key].shape[0] != "fn"


def _is_pmap(call: MappedCall) -> bool:
    return call.visible and canonical(call.binder.dotted) == "jax.pmap" and call.binder.argument("out_axes") is None


def _bound(target: Node, value: Value, name: str) -> list[Value]:
    if target[0] == "name":
        return [value] if target[2] == name else []
    if target[0] in ("tuple", "list") and isinstance(value, Seq) and len(value.items) == len(target[2]):
        return [one for item, part in zip(target[2], value.items, strict=True) for one in _bound(item, part, name)]
    return []


def _is_part(above: Node, node: Node) -> bool:
    """Whether an expression takes a named part of another one."""
    if above[0] == "attr":
        return bool(above[2][1] == node[1])
    is_key = above[0] == "sub" and above[3][0] == "const" and isinstance(above[3][2], str)
    return is_key and bool(above[2][1] == node[1])


def _part(value: Value, node: Node) -> Value:
    if node[0] == "sub" and isinstance(value, Dict):
        return value.get(node[3][2]) or Data()
    return value


def _takes_one(above: Node) -> bool:
    if above[0] == "sub":
        return True
    return above[0] == "call" and any(word in str(above[2][-1]) for word in _TAKES_ONE)


def _calls(view: FileView, site: Site, node: Node) -> bool:
    at = Site(site.path, site.block, node[1])
    return any(call.call == at for call in view.records.mapped_calls)


def _is_same(value: Value) -> bool:
    if isinstance(value, Data):
        return "reduced" in value.labels and "varying" not in value.labels
    if isinstance(value, Seq):
        return bool(value.items) and all(map(_is_same, value.items))
    return isinstance(value, Dict) and bool(value.items) and all(_is_same(item) for _, item in value.items)


def _is_state(value: Value) -> bool:
    """Whether a value differs only in so far as what came in did, and was changed by something that was reduced."""
    return isinstance(value, Data) and "met" in value.labels


def _is_carried(call: Node, name: str) -> bool:
    """Whether a call takes what it binds, as a step does with its state."""
    return any(value[0] == "name" and value[2] == name for _, _, value in call[3])
