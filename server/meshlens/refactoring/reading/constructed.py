"""The values that the project's code gives to the fields of a class and to the parameters of its `__init__`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from meshlens.facts.nodes import AnnAssign, Argument, Assign, Call, ClassDef, Expression, FunctionDef, Name, Parameter
from meshlens.project.trees import nodes_of_block, tree
from meshlens.project.view import FileView
from meshlens.refactoring.reading.functions import dotted_name
from meshlens.refactoring.reading.own_methods import class_meant, classes_above, method_defined

_PARTIAL = "functools.partial"


class Made(NamedTuple):
    """The expression for a value, and where it is.

    Attributes:
        view: the file.
        block: the block of the expression.
        value: the expression.
    """

    view: FileView
    block: str
    value: Expression


def field_values(view: FileView, owner: str, name: str, views: Iterable[FileView]) -> list[Made] | None:
    """Returns the possible values of a field of a class; None if neither the class nor a base class declares it.

    Args:
        view: the file of the class.
        owner: the key of the class.
        name: the field.
        views: the files that may create instances.
    """
    fields = [(one, key, node) for one, key in reversed([*classes_above(view, owner)]) for node in _fields(one, key)]
    names = [node.target.name for _, _, node in fields if isinstance(node.target, Name)]
    if name not in names:
        return None
    defaults = [
        Made(one, key, node.value)
        for one, key, node in fields
        if isinstance(node.target, Name) and node.target.name == name and node.value is not None
    ]
    return [*defaults[-1:], *_given(view, owner, name, names.index(name), views)]


def parameter_values(view: FileView, owner: str, name: str, views: Iterable[FileView]) -> list[Made]:
    """Returns the possible values of a parameter of a class's `__init__`; empty if they are unknown.

    Args:
        view: the file of the class.
        owner: the key of the class.
        name: the parameter.
        views: the files that may create instances.
    """
    method = method_defined(view, owner, "__init__")
    parameters: tuple[Parameter, ...] = method.target.node.function.parameters[1:] if method is not None else ()
    names = [one.name for one in parameters]
    if method is None or name not in names:
        return []
    default = parameters[names.index(name)].default
    found = [Made(method.view, method.target.site.block, default)] if default is not None else []
    return [*found, *_given(view, owner, name, names.index(name), views)]


def parameters_at(view: FileView, block: str) -> frozenset[str]:
    """Returns the parameters of a block's function; empty if the block is not a function."""
    root = tree(view, str(view.path), block)
    return frozenset(one.name for one in root.function.parameters) if isinstance(root, FunctionDef) else frozenset()


def _fields(view: FileView, key: str) -> Iterator[AnnAssign]:
    shape = view.facts.blocks[key].shape
    yield from (node for node in shape.body if isinstance(node, AnnAssign)) if isinstance(shape, ClassDef) else ()


def is_declared(view: FileView, owner: str, name: str) -> bool:
    """Returns whether the body of a class or of one of its bases declares a field with this name or assigns to it."""
    shapes = (one.facts.blocks[key].shape for one, key in classes_above(view, owner))
    return any(
        isinstance(target, Name) and target.name == name
        for shape in shapes
        if isinstance(shape, ClassDef)
        for node in shape.body
        if isinstance(node, (AnnAssign, Assign))
        for target in (node.targets if isinstance(node, Assign) else (node.target,))
    )


def _given(view: FileView, owner: str, name: str, place: int, views: Iterable[FileView]) -> Iterator[Made]:
    """Yields the values that calls to a class pass for a keyword or position.

    Calls to unknown callees may create instances too; only what they pass for the keyword is included.
    """
    for one in views:
        for key, given, meant in _creations(one):
            is_own = meant == (str(view.path), owner)
            if is_own or not meant:
                yield from (Made(one, key, value) for label, _, value in given if label == name)
            positional = [value for label, _, value in given if label is None] if is_own else []
            yield from (Made(one, key, value) for value in positional[place : place + 1])
            if is_own and len(positional) <= place and all(label != name for label, _, _ in given):
                # What is passed with stars may include it.
                yield from (Made(one, key, value) for label, _, value in given if label in ("*", "**"))


class _Creation(NamedTuple):
    """A call to a class of the project, or to an unknown callee.

    Attributes:
        block: its block.
        arguments: its arguments.
        meant: the file and the key of the class; None if unknown.
    """

    block: str
    arguments: tuple[Argument, ...]
    meant: tuple[str, str] | None


def _creations(view: FileView) -> tuple[_Creation, ...]:
    key = f"assists: objects made in {view.path}"
    found: tuple[_Creation, ...] = view.solution.once(key, lambda _: tuple(_find_creations(view)))
    return found


def _find_creations(view: FileView) -> Iterator[_Creation]:
    for key in view.facts.blocks:
        for node in nodes_of_block(view, str(view.path), key):
            if not isinstance(node, Call) or not node.arguments:
                continue
            callee, given = node.callee, node.arguments
            if dotted_name(view, callee) == _PARTIAL:
                callee, given = given[0].value, given[1:]
            meant = class_meant(view, callee)
            if meant is not None or not dotted_name(view, callee):
                yield _Creation(key, given, (str(meant[0].path), meant[1]) if meant is not None else None)
