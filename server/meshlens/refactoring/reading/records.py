"""Classes whose instances are records: trees of arrays that store their constructor's arguments."""

from __future__ import annotations

from meshlens.facts.nodes import Assign, Call, ClassDef, Name, last_name
from meshlens.project.trees import Node, walk
from meshlens.project.view import FileView
from meshlens.refactoring.reading.functions import dotted_name
from meshlens.refactoring.reading.made import times_bound
from meshlens.refactoring.reading.own_methods import class_meant, method_defined

_BASES = frozenset({"typing.NamedTuple", "flax.struct.PyTreeNode"})
_DECORATORS = frozenset({"flax.struct.dataclass", "chex.dataclass", "jax.tree_util.register_dataclass"})
_MAKING = ("__new__", "__init__", "__post_init__")


def is_record(view: FileView, callee: Node) -> bool:
    """Returns whether an expression refers to a class of the project whose instances store all arguments unchanged."""
    if _is_made_by_call(view, callee):
        return True
    meant = _tree_meant(view, callee)
    return meant is not None and not any(method_defined(*meant, name) for name in _MAKING)


def changes_when_rebuilt(view: FileView, callee: Node) -> bool:
    """Returns whether an expression refers to a class of the project that stores other values than its arguments.

    JAX rebuilds instances from their parts wherever they enter or leave a transformation, which changes them again.
    """
    meant = _tree_meant(view, callee)
    made = (method_defined(*meant, name) for name in _MAKING) if meant is not None else ()
    inside = (node for one in made if one is not None for node in walk(one.target.node))
    return any(isinstance(node, Call) and last_name(node.callee) == "__setattr__" for node in inside)


def _tree_meant(view: FileView, callee: Node) -> tuple[FileView, str] | None:
    """Returns the class of the project that an expression refers to, if its instances are trees of their fields."""
    meant = class_meant(view, callee)
    shape = meant[0].facts.blocks[meant[1]].shape if meant is not None else None
    if meant is None or not isinstance(shape, ClassDef):
        return None
    bases = {dotted_name(meant[0], base.value) for base in shape.bases if base.label is None}
    decorators = {dotted_name(meant[0], one.callee if isinstance(one, Call) else one) for one in shape.decorators}
    return meant if bases & _BASES or (not bases and decorators & _DECORATORS) else None


def _is_made_by_call(view: FileView, callee: Node) -> bool:
    """Returns whether a name is bound once in a file, to a class that `namedtuple` makes."""
    if not isinstance(callee, Name) or times_bound(view, None, callee.name) != 1:
        return False
    return any(
        isinstance(one, Assign)
        and isinstance(one.value, Call)
        and dotted_name(view, one.value.callee) == "collections.namedtuple"
        and any(isinstance(target, Name) and target.name == callee.name for target in one.targets)
        for one in view.facts.statements
    )
