"""The names that one block of a file reads, binds and defines."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    AugAssign,
    Call,
    ClassDef,
    For,
    FunctionDef,
    Lambda,
    ListDisplay,
    Name,
    TupleDisplay,
    parameters_of,
)
from meshlens.project.trees import Node, bound_by, children


@dataclass(frozen=True, slots=True)
class BlockNames:
    """The names in one block; sites are relative to the block.

    Attributes:
        names, attributes: for each name, the nodes that read it, each with the call to it if it is called.
        bound_at_top: how many times each name is bound outside all functions.
        bound_inside: how many times each name is bound inside functions.
        stored_attributes: the attributes that are assigned to somewhere.
        made_of: the names that are assigned a new instance of a class, by class name.
        functions: the function nodes, with whether each is directly in a class of this block.
        name: the function's name if the block is a function, else "".
    """

    names: dict[str, list[tuple[Name, Call | None]]] = field(default_factory=lambda: defaultdict(list))
    attributes: dict[str, list[tuple[Attribute, Call | None]]] = field(default_factory=lambda: defaultdict(list))
    bound_at_top: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    bound_inside: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    stored_attributes: set[str] = field(default_factory=set)
    made_of: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    functions: list[tuple[FunctionDef, bool]] = field(default_factory=list)
    name: str = ""


def names_in_block(top: Node, is_below: bool) -> BlockNames:
    """Returns the names in a block.

    Args:
        top: the block's tree.
        is_below: whether the block is a method or a nested function, whose name is bound in the block around it.
    """
    found = BlockNames(name=top.function.name if isinstance(top, FunctionDef) else "")
    called: dict[int, Call] = {}
    stored: set[int] = set()
    waiting: list[tuple[Node, str]] = [(top, "below" if is_below else "top")]
    while waiting:
        node, where = waiting.pop()
        if isinstance(node, Call):
            called[node.callee.site] = node
        elif isinstance(node, Name) and node.site not in stored:
            found.names[node.name].append((node, called.get(node.site)))
        elif isinstance(node, Attribute) and node.site not in stored:
            found.attributes[node.name].append((node, called.get(node.site)))
        for target in _targets(node):
            stored.add(target.site)
            if isinstance(target, Attribute):
                found.stored_attributes.add(target.name)
        for name in bound_by(node) if where in ("top", "inside") else ():
            (found.bound_at_top if where == "top" else found.bound_inside)[name] += 1
        if isinstance(node, Assign) and isinstance(node.value, Call) and isinstance(node.value.callee, Name):
            found.made_of[node.value.callee.name].update(
                target.name for target in node.targets if isinstance(target, Name)
            )
        if isinstance(node, (FunctionDef, Lambda)):
            for parameter in parameters_of(node):
                found.bound_inside[parameter.name] += 1
        if isinstance(node, FunctionDef):
            found.functions.append((node, where == "member"))
        waiting.extend((child, _below(node, where)) for child in reversed(list(children(node))))
    return found


def _below(node: Node, where: str) -> str:
    """Returns the context of a node's children: a function, a class body, or the top level."""
    if isinstance(node, (FunctionDef, Lambda)):
        return "inside"
    return "member" if isinstance(node, ClassDef) else where


def _targets(node: Node) -> tuple[Node, ...]:
    """Returns the targets that a statement assigns to."""
    if isinstance(node, Assign):
        return tuple(inner for target in node.targets for inner in _flat(target))
    return _flat(node.target) if isinstance(node, (AnnAssign, For, AugAssign)) else ()


def _flat(target: Node) -> tuple[Node, ...]:
    if isinstance(target, (TupleDisplay, ListDisplay)):
        return tuple(inner for item in target.items for inner in _flat(item))
    return (target,)
