"""Finds the project's method that runs when code calls a method on its own instance, or on a class by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    AugAssign,
    ClassDef,
    Constant,
    ExpressionStatement,
    ImportFrom,
    Name,
    Pass,
    Raise,
)
from meshlens.project.trees import Node, walk
from meshlens.project.view import FileView
from meshlens.refactoring.reading.functions import Target, functions_called
from meshlens.refactoring.reading.importing import imported_by
from meshlens.refactoring.reading.scopes import class_around
from meshlens.refactoring.reading.siblings import view_of

_PROPERTIES = frozenset({"property", "cached_property"})
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class OwnMethod:
    """A method that a call certainly runs.

    Attributes:
        view: its file.
        target: the method.
        is_bound: whether the call passes nothing for the method's first parameter.
    """

    view: FileView
    target: Target
    is_bound: bool


Unread = Literal["unread"]


@dataclass(frozen=True, slots=True)
class Own:
    """The instance that a method receives.

    Attributes:
        view: the file of its class.
        owner: the key of its class.
        receiver: the name of the instance in the method.
    """

    view: FileView
    owner: str
    receiver: str


def owner_of(view: FileView, block: str) -> Own | None:
    """Returns the instance that a method receives, given the method's block; None for other blocks."""
    above = view.facts.blocks.get(block.rpartition(".")[0])
    root = view.facts.blocks.get(block)
    if above is None or root is None or not isinstance(above.shape, ClassDef):
        return None
    found = [one for one in functions_called(view, block_name(block)) if one.site.block == block and one.is_method]
    if len(found) != 1 or found[0].is_static or not found[0].node.function.parameters:
        return None
    return Own(view, above.key, found[0].node.function.parameters[0].name)


def block_name(block: str) -> str:
    """Returns the name of a block's function."""
    return block.rpartition(".")[2].split("~", 1)[0]


def own_method(view: FileView, owner: str, name: str, *, through_class: bool) -> OwnMethod | Unread | None:
    """Returns the method that a name refers to in a class.

    Returns "unread" for a method that cannot be followed: a subclass may override it, it changes its instance, or it is
    abstract. Returns None for a name that the project's classes do not define as a method.

    Args:
        view: the file of the class.
        owner: the key of the class.
        name: the name of the method.
        through_class: whether it is read from the class and not from an instance.
    """
    found = next(_defined(view, owner, name, 0), None)
    if found is None:
        return None
    other, target = found
    decorators = {one.name for one in target.node.function.decorators if isinstance(one, (Name, Attribute))}
    if decorators & _PROPERTIES:
        return None
    is_class_method = "classmethod" in decorators
    is_open = "abstractmethod" in decorators or _is_abstract(target) or _changes_its_object(target)
    if is_open or (not through_class and _may_be_another(view, owner, name)):
        return "unread"
    return OwnMethod(other, target, not target.is_static and (is_class_method or not through_class))


def method_defined(view: FileView, owner: str, name: str) -> OwnMethod | None:
    """Returns the method that a class or one of its bases defines; None if only subclasses define it."""
    found = next(_defined(view, owner, name, 0), None)
    if found is None or _is_abstract(found[1]):
        return None
    return OwnMethod(*found, not found[1].is_static)


def classes_above(view: FileView, owner: str, depth: int = 0) -> Iterator[tuple[FileView, str]]:
    """Yields a workspace class and its base classes."""
    block = view.facts.blocks.get(owner)
    if block is None or not isinstance(block.shape, ClassDef) or depth > _DEEPEST:
        return
    yield view, owner
    for base in block.shape.bases:
        found = _class_of(view, base.value) if base.label is None else None
        if found is not None:
            yield from classes_above(*found, depth + 1)


def class_meant(view: FileView, node: Node) -> tuple[FileView, str] | None:
    """Returns the workspace class that a name or an attribute of a module refers to, and its file."""
    if isinstance(node, Name):
        return _class_of(view, node)
    if not isinstance(node, Attribute):
        return None
    module = _module_meant(view, node.object)
    key = class_named(module, node.name) if module is not None else None
    return (module, key) if module is not None and key is not None else None


def _module_meant(view: FileView, node: Node) -> FileView | None:
    names: list[str] = []
    while isinstance(node, Attribute):
        names.append(str(node.name))
        node = node.object
    dotted = ".".join([str(node.name), *reversed(names)]) if isinstance(node, Name) else ""
    found = (one.path for one in imported_by(view, str(view.path)) if one.name == dotted)
    path = next(found, None)
    return view_of(view, path) if path is not None and path in view.solution.facts else None


def class_named(view: FileView, name: str) -> str | None:
    """Returns the key of the top-level class that a name refers to."""
    shapes = ((key, view.facts.blocks[key].shape) for key in view.facts.top)
    found = [key for key, shape in shapes if isinstance(shape, ClassDef) and shape.name == name]
    return found[0] if len(found) == 1 else None


def _defined(view: FileView, owner: str, name: str, depth: int) -> Iterator[tuple[FileView, Target]]:
    """Yields a class's method of the given name or, if the class does not define one, those of its base classes."""
    block = view.facts.blocks.get(owner)
    if block is None or not isinstance(block.shape, ClassDef) or depth > _DEEPEST:
        return
    own = [one for one in functions_called(view, name) if class_around(view, one.at(one.node.site)) == owner]
    if own:
        yield view, own[-1]
        return
    for base in block.shape.bases:
        found = _class_of(view, base.value) if base.label is None else None
        if found is not None:
            yield from _defined(*found, name, depth + 1)


def _class_of(view: FileView, base: Node) -> tuple[FileView, str] | None:
    if not isinstance(base, Name):
        return None
    key = class_named(view, base.name)
    if key is not None:
        return view, key
    for top in view.facts.top:
        shape = view.facts.blocks[top].shape
        for text, alias, _ in shape.names if isinstance(shape, ImportFrom) else ():
            if (alias or text) != base.name or not isinstance(shape, ImportFrom):
                continue
            module = view.solution.index.locate(str(view.path), shape.level, shape.module)
            if module is not None and module.path is not None and module.path in view.solution.facts:
                other = view_of(view, module.path)
                key = class_named(other, text)
                return (other, key) if key is not None else None
    return None


def _is_abstract(target: Target) -> bool:
    """Returns whether a method does nothing or only raises, as methods that subclasses must override do."""
    return all(
        isinstance(one, (Pass, Raise)) or (isinstance(one, ExpressionStatement) and isinstance(one.value, Constant))
        for one in target.body
    )


def _changes_its_object(target: Target) -> bool:
    parameters = target.node.function.parameters
    receiver = parameters[0].name if parameters and not target.is_static else ""
    return any(
        _root(one) == receiver
        for node in walk(target.node)
        if isinstance(node, (Assign, AugAssign, AnnAssign))
        for one in (node.targets if isinstance(node, Assign) else (node.target,))
        if not isinstance(one, Name)
    )


def _root(node: Node) -> str:
    """Returns the variable that a target is a part of."""
    names = [one.name for one in walk(node) if isinstance(one, Name)]
    return names[0] if names else ""


def _may_be_another(view: FileView, owner: str, name: str) -> bool:
    """Returns whether a subclass in the workspace may override a method."""
    shape = view.facts.blocks[owner].shape
    own = shape.name if isinstance(shape, ClassDef) else ""
    key = f"assists: classes that define {name} and derive from {own} of {view.path}"
    found: bool = view.solution.once(key, lambda _: any(_defines(text, own, name) for text in view.texts.values()))
    return found


def _defines(text: bytes, own: str, name: str) -> bool:
    method = re.compile(rb"def\s+" + name.encode() + rb"\b")
    if own.encode() not in text or method.search(text) is None:
        return False
    derived = re.compile(rb"class\s+\w+\s*\([^)]*\b" + own.encode() + rb"\b[^)]*\)\s*:")
    return any(method.search(text, one.end()) is not None for one in derived.finditer(text))
