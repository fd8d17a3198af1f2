"""The layers in a workspace's modules that keep batch statistics or draw random numbers.

BatchNorm keeps batch means, which cover all rows only if averaged over the devices; dropout draws random numbers for
each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import (
    Assign,
    Attribute,
    AugAssign,
    Call,
    ClassDef,
    Constant,
    Import,
    ImportFrom,
    ListDisplay,
    Name,
    Subscript,
    TupleDisplay,
    last_name,
)
from meshlens.project.trees import Node, children, tree
from meshlens.project.view import FileView
from meshlens.project.views import view_of
from meshlens.refactoring.reading.functions import dotted_name
from meshlens.refactoring.reading.importing import reached_from

_NORMS = {
    "flax.linen.BatchNorm": "axis_name",
    "flax.nnx.BatchNorm": "axis_name",
}
_RANDOM = frozenset(f"flax.nnx.{name}" for name in "Dropout Rngs RngStream split_rngs MultiHeadAttention".split())
_PARTIAL = "functools.partial"
_DEEPEST = 4
_BUILDS = frozenset({"__init__", "setup", "init", "create", "__post_init__"})


@dataclass(frozen=True, slots=True)
class Norm:
    """A layer that averages over the batch.

    Attributes:
        view: its file.
        site: the call that creates it, or the `partial` of its class.
        keyword: the name of its axis argument.
        said: whether that argument is already given.
    """

    view: FileView
    site: Site
    keyword: str
    said: bool


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers in the modules of a file and of its imports.

    Attributes:
        classes: the classes that are flax.nnx modules.
        norms: the layers that average over the batch.
        random: whether modules draw random numbers when called.
        keeps: the place where a module stores something about its input; "" if none does.
    """

    classes: frozenset[str]
    norms: tuple[Norm, ...]
    random: bool
    keeps: str


def layers_of(view: FileView) -> Layers:
    """Returns the layers in the modules of a file and of its imports."""
    key = f"assists: layers of {view.path}"
    found: Layers = view.solution.once(key, lambda _: _layers_of(view))
    return found


def _layers_of(view: FileView) -> Layers:
    paths = (str(view.path), *sorted(reached_from(view, str(view.path)) - {str(view.path)}))
    views = [view_of(view, path) for path in paths]
    classes = {name for one in views for name in _classes(one)}
    norms: list[Norm] = []
    random, keeps = False, ""
    building = _only_building(views)
    for one in views:
        for key, root in _roots(one):
            in_init = key.rpartition(".")[2].split("~")[0] in building
            for node in _walk(root):
                norms += _norm(one, key, node)
                random = random or _draws(one, node, in_init)
            owner = key.rpartition(".")[0].split("~")[0]
            if owner in classes and not in_init and not keeps:
                keeps = next((f"{one.path.name}: {text}" for text in _kept(root)), "")
    return Layers(frozenset(classes), tuple(norms), random, keeps)


def _only_building(views: list[FileView]) -> frozenset[str]:
    """Returns the methods that run only while an instance is created, because no other code calls them."""
    calling: dict[str, set[str]] = {}
    for view in views:
        for key, root in _roots(view):
            caller = key.rpartition(".")[2].split("~")[0]
            for node in _walk(root):
                if isinstance(node, Attribute):
                    is_own = isinstance(node.object, Name) and node.object.name == "self" and "." in key
                    calling.setdefault(node.name, set()).add(caller if is_own else "")
    found = set(_BUILDS)
    for _ in range(_DEEPEST):
        found |= {name for name, callers in calling.items() if callers <= found}
    return frozenset(found)


def _roots(view: FileView) -> Iterator[tuple[str, Node]]:
    for key in view.facts.blocks:
        root = tree(view, str(view.path), key)
        if root is not None and not isinstance(root, (Import, ImportFrom)):
            yield key, root


def _walk(node: Node) -> Iterator[Node]:
    """Yields the nodes of a block, without those of nested blocks."""
    yield node
    for child in children(node):
        yield from _walk(child)


def _classes(view: FileView) -> Iterator[str]:
    """Yields the classes of a file that are flax.nnx modules, directly or through their bases."""
    shapes = [shape for block in view.facts.blocks.values() if isinstance((shape := block.shape), ClassDef)]
    found: set[str] = set()
    for _ in range(4):
        for shape in shapes:
            bases = [base.value for base in shape.bases]
            if any(dotted_name(view, base) == "flax.nnx.Module" or last_name(base) in found for base in bases):
                found.add(shape.name)
    yield from found


def _norm(view: FileView, key: str, node: Node) -> Iterator[Norm]:
    if not isinstance(node, Call):
        return
    callee, given = node.callee, node.arguments
    if dotted_name(view, callee) == _PARTIAL and given:
        callee = given[0].value
    keyword = _NORMS.get(dotted_name(view, callee))
    if keyword is not None:
        said = any(label in (keyword, "*", "**") for label, _, _ in given)
        yield Norm(view, Site(str(view.path), key, node.site), keyword, said)


def _draws(view: FileView, node: Node, in_init: bool) -> bool:
    """Returns whether a node creates a layer with a random stream, or draws from a random stream."""
    if not isinstance(node, Call):
        return False
    dotted = dotted_name(view, node.callee)
    if dotted == "flax.nnx.Dropout":
        return any(label == "rngs" for label, _, _ in node.arguments)
    if dotted == "flax.nnx.MultiHeadAttention":
        return any(label == "dropout_rate" for label, _, _ in node.arguments)
    stream = node.callee.object if isinstance(node.callee, Attribute) else None
    return isinstance(stream, Attribute) and last_name(stream) in ("rngs", "rng") and not in_init


def _kept(root: Node) -> Iterator[str]:
    """Yields names for the values that a module's method stores in the module, except counters."""
    for node in _walk(root):
        if isinstance(node, Call) and isinstance(node.callee, Attribute) and node.callee.name in ("sow", "perturb"):
            yield node.callee.name
        if isinstance(node, AugAssign) and _is_own(node.target) and not isinstance(node.value, Constant):
            yield str(_owned(node.target)[-1])
        if isinstance(node, Assign):
            for target in node.targets:
                parts = target.items if isinstance(target, (TupleDisplay, ListDisplay)) else (target,)
                for part in parts:
                    if _is_own(part):
                        yield str(_owned(part)[-1])


def _is_own(target: Node) -> bool:
    return isinstance(target, (Attribute, Subscript)) and isinstance(_owned(target), Attribute)


def _owned(target: Node) -> Node:
    """Returns the attribute of `self` that a target is a part of."""
    while isinstance(target, (Attribute, Subscript)):
        if isinstance(target, Attribute) and isinstance(target.object, Name) and target.object.name == "self":
            return target
        target = target.object
    return target
