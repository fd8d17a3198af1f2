"""Finds the project's class that the value of a variable or attribute is certainly an instance of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    Call,
    ClassDef,
    Constant,
    FunctionDef,
    Name,
    Parameter,
    Return,
    root_name,
)
from meshlens.project.trees import Node, bound_by, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.reading.assigned import assigned_parts
from meshlens.refactoring.reading.constructed import Made, field_values
from meshlens.refactoring.reading.functions import Use
from meshlens.refactoring.reading.importing import reached_from
from meshlens.refactoring.reading.own_methods import class_meant, classes_above, method_defined
from meshlens.refactoring.reading.siblings import view_of

Owner: TypeAlias = "tuple[FileView, str]"
"""A class: its file and its key."""
_DEEPEST = 4
_COPIES = frozenset({"replace", "_replace"})


def annotated_classes(view: FileView, parameters: Iterable[Parameter]) -> dict[str, Owner]:
    """Returns the parameters whose annotations name a class of the project, each with that class."""
    found = ((one.name, _said(view, one.annotation)) for one in parameters if one.annotation is not None)
    return {name: owner for name, owner in found if owner is not None}


def class_of(view: FileView, known: Mapping[str, Owner], node: Node, top: FileView, depth: int = 0) -> Owner | None:
    """Returns the class of an expression's value; None if it is unknown.

    Args:
        view: the file of the expression.
        known: the classes of variables.
        node: the expression.
        top: the file in which to look for code that creates instances.
        depth: how many attributes have been followed.
    """
    if depth > _DEEPEST:
        return None
    if isinstance(node, Name):
        return known.get(node.name)
    if isinstance(node, Call):
        return _made(view, known, node, lambda inner: class_of(view, known, inner, top, depth + 1))
    if not isinstance(node, Attribute):
        return None
    owner = class_of(view, known, node.object, top, depth + 1)
    return _field(*owner, node.name, top, depth) if owner is not None else None


def _said(view: FileView, annotation: Node | None) -> Owner | None:
    if isinstance(annotation, Constant) and isinstance(annotation.value, str):
        annotation = Name("name", annotation.site, annotation.value)
    return class_meant(view, annotation) if isinstance(annotation, (Name, Attribute)) else None


def _made(view: FileView, known: Mapping[str, Owner], node: Call, of: Callable[[Node], Owner | None]) -> Owner | None:
    """Returns the class of the instance that a call to a class, to its factory, or to `x.replace(…)` creates."""
    if root_name(node.callee) not in known and (owner := class_meant(view, node.callee)) is not None:
        return owner
    if not isinstance(node.callee, Attribute):
        return None
    owner = class_meant(view, node.callee.object) if root_name(node.callee) not in known else None
    if owner is not None:
        return owner if _makes_its_own(owner, node.callee.name) else None
    held = of(node.callee.object) if node.callee.name in _COPIES else None
    return held if held is not None and method_defined(*held, node.callee.name) is None else None


def _makes_its_own(owner: Owner, name: str) -> bool:
    """Returns whether a class method returns an instance of its own class."""
    method = method_defined(*owner, name)
    decorators = method.target.node.function.decorators if method is not None else ()
    if method is None or not any(isinstance(one, Name) and one.name == "classmethod" for one in decorators):
        return False
    receiver = method.target.node.function.parameters[0].name
    returned = [one.value for node in method.target.body for one in walk(node) if isinstance(one, Return)]
    return bool(returned) and all(
        isinstance(one, Call) and isinstance(one.callee, Name) and one.callee.name == receiver for one in returned
    )


def _field(view: FileView, owner: str, name: str, top: FileView, depth: int) -> Owner | None:
    """Returns the class of a field's value, according to the field's annotation or all of its values."""
    for one, key in classes_above(view, owner):
        shape = one.facts.blocks[key].shape
        for node in shape.body if isinstance(shape, ClassDef) else ():
            if isinstance(node, AnnAssign) and isinstance(node.target, Name) and node.target.name == name:
                said = _said(one, node.annotation)
                if said is not None:
                    return said
    paths = {str(top.path), str(view.path), *reached_from(top, str(top.path))}
    values = field_values(view, owner, name, [view_of(top, path) for path in sorted(paths)])
    found = {_of_value(one, top, depth) for one in values or ()}
    return next(iter(found)) if len(found) == 1 else None


def classes_passed(view: FileView, parameters: Iterable[Parameter], uses: Iterable[Use]) -> dict[str, Owner]:
    """Returns the parameters that get instances of one class of the project in all calls, each with that class.

    Args:
        view: the file.
        parameters: the parameters in order.
        uses: the calls, with every argument by position.
    """
    calls = [(one.site, one.call) for one in uses if one.call is not None]
    renewing = [call for _, call in calls]
    found: dict[str, list[Owner | None]] = {}
    for site, call in calls:
        for parameter, (_, _, value) in zip(parameters, call.arguments, strict=False):
            found.setdefault(parameter.name, []).extend(_passed(view, site, value, renewing))
    common = ((name, _common(owners)) for name, owners in found.items())
    return {name: owner for name, owner in common if owner is not None}


def _passed(view: FileView, site: Site, value: Node, renewing: list[Call]) -> list[Owner | None]:
    """Returns the possible classes of an argument; a variable that gets a part of the call's result keeps its class."""
    if not isinstance(value, Name):
        return [class_of(view, {}, value, view)]
    function = tree(view, site.path, site.block)
    names = {one.name for one in function.function.parameters} if isinstance(function, FunctionDef) else set()
    if value.name in names:
        return [None]
    is_local = isinstance(function, FunctionDef) and any(value.name in bound_by(node) for node in walk(function))
    scopes = (function,) if function is not None and is_local else view.facts.statements
    found: list[Owner | None] = []
    for node in (node for scope in scopes for node in walk(scope)):
        if value.name not in bound_by(node):
            continue
        if not isinstance(node, Assign):
            return [None]
        for target in node.targets:
            for one, part in assigned_parts(target, node.value):
                is_bound = any(isinstance(inner, Name) and inner.name == value.name for inner in walk(one))
                is_kept = isinstance(part, Call) and any(
                    part.site == call.site and part.callee == call.callee for call in renewing
                )
                found += [class_of(view, {}, part, view)] if is_bound and not is_kept else []
    return found


def _common(owners: list[Owner | None]) -> Owner | None:
    """Returns the class if there is only one and none of the given classes is unknown."""
    first = owners[0] if owners else None
    if first is None:
        return None
    is_one = all(one is not None and (one[0].path, one[1]) == (first[0].path, first[1]) for one in owners)
    return first if is_one else None


def _of_value(made: Made, top: FileView, depth: int) -> Owner | None:
    value: Node = made.value
    root = tree(made.view, str(made.view.path), made.block)
    known = annotated_classes(made.view, root.function.parameters) if isinstance(root, FunctionDef) else {}
    if isinstance(value, Name) and value.name not in known and root is not None:
        bound = [node for node in walk(root) if value.name in bound_by(node)]
        only = bound[0] if len(bound) == 1 else None
        value = only.value if isinstance(only, Assign) and isinstance(only.targets[0], Name) else value
    return class_of(made.view, known, value, top, depth + 1)
