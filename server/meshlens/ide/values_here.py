"""The value of an expression under the cursor, if the analysis reached it or its assignment shows it."""

from __future__ import annotations

from meshlens.axes.domain.values import UNKNOWN, Const, Ext, Mapped, Module, Partial, Site, Union, Value, Wrapped
from meshlens.facts.content import function_in
from meshlens.facts.nodes import (
    NOTHING,
    Assign,
    Attribute,
    Call,
    Constant,
    Expression,
    FunctionDef,
    FunctionShape,
    Name,
    SeparateDef,
    Statements,
    TreePart,
)
from meshlens.ide.cursor import Part, parts_at, statements_in
from meshlens.project.view import FileView

_DEEP = 4


def value_at(view: FileView, parts: tuple[Part, ...], place: int) -> Value:
    """Returns the value of the expression at an index of the parts; UNKNOWN if nothing determines it."""
    return _value(view, parts[place].shape, parts[place].site, parts[place:], _DEEP)


def dotted_at(view: FileView, parts: tuple[Part, ...], place: int) -> str | None:
    """Returns the dotted name of something outside the workspace, as the file spells it, with aliases resolved."""
    shape = parts[place].shape
    attributes: list[str] = []
    while isinstance(shape, Attribute):
        attributes.append(shape.name)
        shape = shape.object
    if not isinstance(shape, Name):
        return None
    name = Site(parts[place].site.path, parts[place].site.block, shape.site)
    value = _value(view, shape, name, parts[place:], _DEEP)
    return ".".join((value.dotted, *reversed(attributes))) if isinstance(value, Ext) else None


def named(view: FileView, name: str, parts: tuple[Part, ...]) -> Value:
    """Returns the value of a name at the cursor."""
    return _of_name(view, name, parts, _DEEP)


def value_of_text(view: FileView, dotted: str, offset: int) -> Value:
    """Returns the value of a dotted name read from the text, in case the parser sees no name there."""
    parts = parts_at(view, offset) or (Part("text", Site(str(view.path), "", 0), NOTHING),)
    first, *attributes = dotted.split(".")
    site = parts[0].site
    shape: Name | Attribute = Name("name", -1, first)
    for attribute in attributes:
        shape = Attribute("attr", -1, shape, attribute)
    return _value(view, shape, Site(site.path, site.block, -1), parts, _DEEP)


def mapped_in(value: Value) -> Mapped | None:
    """Returns the mapped function inside transparent transformations, partials and alternatives."""
    for _ in range(_DEEP):
        if isinstance(value, Mapped):
            return value
        if isinstance(value, Wrapped):
            value = value.operand
        elif isinstance(value, Partial):
            value = value.callee
        elif isinstance(value, Union):
            value = next((option for option in value.options if mapped_in(option) is not None), UNKNOWN)
        else:
            return None
    return None


def result_of(view: FileView, call: Site) -> Value:
    """Returns the result of the call at a site."""
    for binding in view.records.bindings:
        if binding.binder.site == call:
            return Mapped(binding.binder)
    for record in view.records.calls:
        if record.call == call and record.result is not UNKNOWN:
            return record.result
    return UNKNOWN


def _value(view: FileView, shape: TreePart, site: Site, parts: tuple[Part, ...], depth: int) -> Value:
    if depth == 0:
        return UNKNOWN
    if isinstance(shape, Constant):
        return Const(shape.value, site)
    if isinstance(shape, Call):
        return result_of(view, site)
    if isinstance(shape, Name):
        found = _of_name(view, shape.name, parts, depth)
    elif isinstance(shape, Attribute):
        found = _of_attribute(view, shape, site, parts, depth)
    else:
        return UNKNOWN
    return found if found is not UNKNOWN else _as_argument(view, site)


def _as_argument(view: FileView, site: Site) -> Value:
    """Returns the value of an expression that is an argument of a call."""
    for record in view.records.calls:
        for arg in record.args:
            if arg.site == site:
                return arg.value
    for call in view.records.mapped_calls:
        for arg in call.args:
            if arg.site == site:
                return arg.value
    return UNKNOWN


def _of_name(view: FileView, name: str, parts: tuple[Part, ...], depth: int) -> Value:
    scopes = [
        (part.site, part.shape) for part in parts if part.kind == "function" and isinstance(part.shape, FunctionShape)
    ]
    site = parts[0].site
    for scope, function in scopes:
        if any(parameter.name == name for parameter in function.parameters):
            return UNKNOWN
        found = _assigned(view, function.body, name, scope, parts, depth)
        if found is not None:
            return found
    key = site.block
    while "." in key:
        key = key.rpartition(".")[0]
        block = view.facts.blocks.get(key)
        around = function_in(block.shape) if block is not None else None
        if around is None:
            continue
        if any(parameter.name == name for parameter in around.parameters):
            return UNKNOWN
        found = _assigned(view, around.body, name, Site(site.path, key, 0), parts, depth)
        if found is not None:
            return found
    module = view.solution.modules.get(site.path)
    return module.frame.vars.get(name, UNKNOWN) if module is not None else UNKNOWN


def _assigned(
    view: FileView, body: Statements, name: str, scope: Site, parts: tuple[Part, ...], depth: int
) -> Value | None:
    """Returns the value that a function's body assigns to a name; None if the body does not assign to it."""
    found: Value | None = None
    for node in statements_in(body):
        if isinstance(node, Assign) and any(
            isinstance(target, Name) and target.name == name for target in node.targets
        ):
            value = _value(view, node.value, Site(scope.path, scope.block, node.value.site), parts, depth - 1)
            found = value if found in (None, UNKNOWN) else found
        elif (isinstance(node, SeparateDef) and node.key.rpartition(".")[2] == name) or (
            isinstance(node, FunctionDef) and node.function.name == name
        ):
            found = found or UNKNOWN
    return found


def _of_attribute(view: FileView, shape: Attribute, site: Site, parts: tuple[Part, ...], depth: int) -> Value:
    owner, name = shape.object, shape.name
    if isinstance(owner, Name) and owner.name == "self" and "." in site.block:
        return _of_self(view, name, site, parts, depth)
    value = _value(view, owner, Site(site.path, site.block, owner.site), parts, depth)
    if isinstance(value, Module) and value.path is not None:
        module = view.solution.modules.get(value.path)
        return module.frame.vars.get(name, UNKNOWN) if module is not None else UNKNOWN
    return Ext(f"{value.dotted}.{name}") if isinstance(value, Ext) else UNKNOWN


def _of_self(view: FileView, name: str, site: Site, parts: tuple[Part, ...], depth: int) -> Value:
    """Returns the value that the methods of a class assign to an attribute of `self`."""
    prefix = site.block.partition(".")[0] + "."
    for key, block in view.facts.blocks.items():
        if not key.startswith(prefix) or not isinstance(block.shape, FunctionShape):
            continue
        for node in statements_in(block.shape.body):
            if isinstance(node, Assign) and any(_is_own(target, name) for target in node.targets):
                found = _value(view, node.value, Site(site.path, key, node.value.site), parts, depth - 1)
                if found is not UNKNOWN:
                    return found
    return UNKNOWN


def _is_own(target: Expression, name: str) -> bool:
    return (
        isinstance(target, Attribute)
        and target.name == name
        and isinstance(target.object, Name)
        and target.object.name == "self"
    )
