"""Variables that are outside the maps and hold one copy of the same value per device."""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.axes.domain.values import Data, Dict, Seq, Site, Value
from meshlens.axes.runs.records import MappedCall
from meshlens.facts.nodes import (
    NOTHING,
    Assign,
    Attribute,
    Call,
    Constant,
    For,
    FunctionDef,
    FunctionShape,
    ListDisplay,
    Name,
    Subscript,
    Try,
    TupleDisplay,
    While,
    last_name,
)
from meshlens.jaxapi.names import canonical
from meshlens.project.trees import Node, bound_by, path_to, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.reading.assigned import name_at
from meshlens.refactoring.reading.scopes import outermost
from meshlens.text import Span

_TAKES_ONE = ("unreplicate", "first", "get_first", "tree_map", "map")


@dataclass(frozen=True, slots=True)
class Replica:
    """An expression that reads a variable with one copy per device, or a part of that variable.

    Attributes:
        span: the expression.
        is_array: whether it is certainly one array.
    """

    span: Span
    is_array: bool


def replica_at(view: FileView, span: Span) -> Replica | None:
    """Returns the expression at a cursor if its value is certainly the same on all devices."""
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
    above = path[place - 1] if place else NOTHING
    if _takes_one(above) or any(isinstance(node, Call) and _calls(view, site, node) for node in path):
        return None
    if not all(_is_same(value) or (_is_state(value) and _is_carried(call, name)) for value in values):
        return None
    at = view.span(Site(site.path, site.block, path[place].site))
    return Replica(at, all(isinstance(value, Data) and value.array for value in values))


def _results(view: FileView, site: Site, name: str) -> tuple[Call, list[Value]] | None:
    """Returns the last pmap call that sets a variable before a given place, and the variable's value on each route.

    Returns None if something else is assigned to the variable in between.
    """
    here = view.span(site).start
    last: tuple[int, Site, Node] | None = None
    root = outermost(view, site.block)
    for key in view.facts.blocks:
        top = tree(view, site.path, key) if _is_around(view, key, root) else None
        for node in walk(top) if top is not None else ():
            if name not in bound_by(node):
                continue
            at = view.span(Site(site.path, key, node.site)).start
            if at < here and (last is None or at > last[0]):
                last = (at, Site(site.path, key, node.site), node)
    if last is None:
        return None
    _, statement, node = last
    if not isinstance(node, Assign) or len(node.targets) != 1 or not isinstance(node.value, Call):
        return None
    calls = [
        call
        for call in view.records.mapped_calls
        if call.call == Site(statement.path, statement.block, node.value.site) and _is_pmap(call)
    ]
    values = [value for call in calls for value in _bound(node.targets[0], call.returned, name)]
    return (node.value, values) if values and len(values) == len(calls) else None


def _is_around(view: FileView, key: str, root: str) -> bool:
    block = view.facts.blocks[root]
    if isinstance(block.shape, (FunctionDef, FunctionShape, For, While, Try)):
        # On the next iteration, assignments at the end of a loop come before reads at its start.
        return outermost(view, key) == root
    # At the top level every statement may assign the variable, but functions have their own variables.
    return key in view.facts.top and not isinstance(view.facts.blocks[key].shape, FunctionDef)


def _is_pmap(call: MappedCall) -> bool:
    return call.visible and canonical(call.binder.dotted) == "jax.pmap" and call.binder.argument("out_axes") is None


def _bound(target: Node, value: Value, name: str) -> list[Value]:
    if isinstance(target, Name):
        return [value] if target.name == name else []
    if (
        isinstance(target, (TupleDisplay, ListDisplay))
        and isinstance(value, Seq)
        and len(value.items) == len(target.items)
    ):
        return [one for item, part in zip(target.items, value.items, strict=True) for one in _bound(item, part, name)]
    return []


def _is_part(above: Node, node: Node) -> bool:
    """Returns whether an expression selects a named part of another expression."""
    if isinstance(above, Subscript) and not (isinstance(above.key, Constant) and isinstance(above.key.value, str)):
        return False
    return isinstance(above, (Attribute, Subscript)) and above.object.site == node.site


def _part(value: Value, node: Node) -> Value:
    if isinstance(node, Subscript) and isinstance(value, Dict):
        return value.get(node.key.value if isinstance(node.key, Constant) else None) or Data()
    return value


def _takes_one(above: Node) -> bool:
    if isinstance(above, Subscript):
        return True
    return isinstance(above, Call) and any(word in last_name(above.callee) for word in _TAKES_ONE)


def _calls(view: FileView, site: Site, node: Node) -> bool:
    at = Site(site.path, site.block, node.site)
    return any(call.call == at for call in view.records.mapped_calls)


def _is_same(value: Value) -> bool:
    if isinstance(value, Data):
        return "reduced" in value.labels and "varying" not in value.labels
    if isinstance(value, Seq):
        return bool(value.items) and all(map(_is_same, value.items))
    return isinstance(value, Dict) and bool(value.items) and all(_is_same(item) for _, item in value.items)


def _is_state(value: Value) -> bool:
    """Returns whether a value was updated with reduced values, and so differs between devices only as its input did."""
    if isinstance(value, (Seq, Dict)) and not value.open and value.items:
        return all(_is_state(item[1] if isinstance(item, tuple) else item) for item in value.items)
    return isinstance(value, Data) and "met" in value.labels


def _is_carried(call: Call, name: str) -> bool:
    """Returns whether a call receives the variable that it assigns to, as a step does with its state."""
    return any(isinstance(value, Name) and value.name == name for _, _, value in call.arguments)
