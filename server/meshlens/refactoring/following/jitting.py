"""The `jit` to add to a function that otherwise runs operation by operation, and its static arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    AugAssign,
    Call,
    ClassDef,
    Comprehension,
    Constant,
    Delete,
    DictDisplay,
    Expression,
    For,
    FString,
    Global,
    IfExpression,
    Import,
    ImportFrom,
    Lambda,
    ListDisplay,
    Name,
    Nonlocal,
    Parameter,
    SetDisplay,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    While,
    root_name,
)
from meshlens.jaxapi.transparent import COMPILES
from meshlens.project.trees import Node, names_bound, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.roles import Given, is_setting
from meshlens.refactoring.following.traced_model import Seen
from meshlens.refactoring.following.tracing import traced
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.decorators import applied_by
from meshlens.refactoring.reading.functions import Target, dotted_name, functions_called
from meshlens.refactoring.reading.graph_objects import is_graph_object
from meshlens.refactoring.reading.host_calls import HostCall
from meshlens.refactoring.reading.mentions import bound_at_top, bound_inside, entries
from meshlens.refactoring.reading.object_kinds import kind_of_argument, kind_of_class
from meshlens.refactoring.reading.scopes import class_around, home_of
from meshlens.refactoring.reading.siblings import view_of
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.text import Edit, FileEdit, Span

UNTRACEABLE = frozenset({"python-value", "host-work", "unknown-function", "changes-in-place", "generator"})
"""The reasons why a function cannot be compiled at all."""

_KNOWN = frozenset({"staticmethod", "classmethod", "property"})
_OBJECTS = {"nnx": ("flax.nnx", "jit"), "eqx": ("equinox", "filter_jit")}
_HELD = frozenset({"linen", "optax", "function"})


@dataclass(frozen=True, slots=True)
class Jitting:
    """The `jit` that compiles a function.

    Attributes:
        module, name: the transformation's module and name.
        static: the static arguments.
    """

    module: str
    name: str
    static: tuple[str, ...]


def jitting(view: FileView, target: Target, calls: tuple[tuple[HostCall, tuple[Given, ...]], ...]) -> Jitting | None:
    """Returns the `jit` that a function needs; None if it is already jitted or has unknown decorators.

    Raises:
        Obstacle: `jit` cannot trace the function.
    """
    decorators = [_decorator(view, one) for one in target.node.function.decorators]
    if any(call.is_compiled for call, _ in calls) or any(one in COMPILES or not one for one in decorators):
        return None
    if any(one in _KNOWN for one in decorators):
        return None
    owner = _owner(view, target)
    static = [one.name for one in target.node.function.parameters if one.name and _is_choice(view, target, one, calls)]
    static += [name for _, given in calls for name in _text_arguments(given) if name not in static]
    seen = traced(view, target, static)
    changeable = _changeable(view, calls) | ({target.node.function.parameters[0].name} if owner == "nnx" else set())
    while (problem := next((one for one in seen.problems if one.changed not in changeable), None)) is not None:
        if problem.cure is None or problem.cure in static or not _is_python(view, target, problem.cure, calls):
            raise _refusal(target, problem.code, problem.message)
        static.append(problem.cure)
        seen = traced(view, target, static)
    objects = _objects(view, target, seen, calls)
    static += [name for name, kind in objects.items() if kind in _HELD and name not in static]
    for name in static:
        _must_be_hashable(target, name, calls)
    chosen = next((_OBJECTS[kind] for kind in ("eqx", "nnx") if kind in (*objects.values(), owner)), ("jax", "jit"))
    _must_stay(view, target, seen)
    _must_return_arrays(view, target, seen, is_nnx=chosen[0] == "flax.nnx")
    # filter_jit treats everything that is not an array as static.
    named = tuple(name for name in static if chosen[0] != "equinox")
    order = [one.name for one in target.node.function.parameters]
    return Jitting(*chosen, tuple(sorted(named, key=order.index)))


def compiled(view: FileView, target: Target, jitting: Jitting, spelling: Spelling) -> FileEdit:
    """Returns the edit that adds a `jit` to a function."""
    sites = [target.at(node.site) for node in target.node.function.decorators]
    start = min(view.span(site).start for site in (*sites, target.site))
    line = view.source.rfind(b"\n", 0, start) + 1
    head = view.source[line:start]
    indent = head[: len(head) - len(head.lstrip())].decode()
    name = spelling.of(jitting.module, jitting.name)
    text = name
    if jitting.static:
        quote = '"' if view.source.count(b'"') >= view.source.count(b"'") else "'"
        names = ", ".join(f"{quote}{one}{quote}" for one in jitting.static)
        listed = f"({names})" if len(jitting.static) > 1 else names
        text = f"{spelling.of('functools', 'partial')}({name}, static_argnames={listed})"
    return FileEdit(view.path, Edit(Span(line, line), f"{indent}@{text}\n"))


def _refusal(target: Target, code: str, message: str) -> Obstacle:
    return Obstacle(code, f'"{target.name}" cannot be jitted: it {message}')


def _decorator(view: FileView, node: Expression) -> str:
    if isinstance(node, Name) and node.name in _KNOWN:
        return node.name
    return dotted_name(view, applied_by(node, partial(dotted_name, view))[0])


def _owner(view: FileView, target: Target) -> str:
    """Returns the kind of instance that a method is called on.

    Raises:
        Obstacle: `jit` does not accept that kind of instance.
    """
    if not target.is_method:
        return ""
    home = class_around(view, target.at(target.node.site))
    kind = kind_of_class(view, home) if home else None
    if kind in _OBJECTS:
        return kind or ""
    message = "is a method, so jit would freeze the attributes that it reads; make it a function"
    raise _refusal(target, "method", message)


def _changeable(view: FileView, calls: tuple[tuple[HostCall, tuple[Given, ...]], ...]) -> set[str]:
    """Returns the arguments that hold flax.nnx objects, whose in-place changes `nnx.jit` tracks."""
    names = {one.name for call, given in calls for one in given if one.name and isinstance(one.node, Name)}
    return {
        name
        for name in names
        if all(
            isinstance(one.node, Name) and is_graph_object(view_of(view, call.site.path), call, one.node.name)
            for call, given in calls
            for one in given
            if one.name == name
        )
    }


def _text_arguments(given: tuple[Given, ...]) -> Iterator[str]:
    for one in given:
        if one.name and (isinstance(one.node, FString) or _is_text(one.node)):
            yield one.name


def _is_text(node: Node) -> bool:
    return bool(isinstance(node, Constant) and isinstance(node.value, str))


def _is_choice(
    view: FileView, target: Target, parameter: Parameter, calls: tuple[tuple[HostCall, tuple[Given, ...]], ...]
) -> bool:
    """Returns whether an argument is annotated as `bool` or `str`, or is constant in all calls and a literal in one."""
    if isinstance(parameter.annotation, Name) and parameter.annotation.name in ("bool", "str"):
        return True
    values = [one.node for _, given in calls for one in given if one.name == parameter.name]
    values += [parameter.default] if parameter.default is not None else []
    return any(_is_literal(value) for value in values) and _is_python(view, target, parameter.name, calls)


def _is_literal(node: Node) -> bool:
    return bool(isinstance(node, Constant) and isinstance(node.value, (bool, int, str)))


def _is_python(
    view: FileView, target: Target, name: str, calls: tuple[tuple[HostCall, tuple[Given, ...]], ...]
) -> bool:
    """Returns whether an argument is a Python constant in every call, or annotated as `bool` or `str`."""
    parameter = next(one for one in target.node.function.parameters if one.name == name)
    said = parameter.annotation
    if isinstance(said, Name) and said.name in ("bool", "str"):
        return True
    values = [(call.site.path, one.node) for call, given in calls for one in given if one.name == name]
    if parameter.default is not None:
        values.append((str(view.path), parameter.default))
    return bool(values) and all(_is_constant(view_of(view, path), value) for path, value in values)


def _is_constant(view: FileView, node: Node) -> bool:
    if isinstance(node, Constant):
        return isinstance(node.value, (bool, int, str, type(None)))
    if isinstance(node, UnaryOperation) and isinstance(node.operand, Constant):
        return True
    if isinstance(node, (Attribute, Subscript)):
        return is_setting(node) or (isinstance(node, Attribute) and node.name.isupper())
    if not isinstance(node, Name) or bound_at_top(view, node.name) != 1 or bound_inside(view, node.name):
        return False
    return any(
        isinstance(shape, Assign)
        and isinstance(shape.targets[0], Name)
        and shape.targets[0].name == node.name
        and isinstance(shape.value, Constant)
        and isinstance(shape.value.value, (bool, int, str))
        for shape in view.facts.statements
    )


def _objects(
    view: FileView, target: Target, seen: Seen, calls: tuple[tuple[HostCall, tuple[Given, ...]], ...]
) -> dict[str, str]:
    """Returns the kinds of the arguments that a function calls, or whose methods it calls.

    Raises:
        Obstacle: the kind of an object is unknown.
    """
    found: dict[str, str] = {}
    for name in sorted(seen.objects):
        parameters = target.node.function.parameters
        if target.has_object and parameters and name == parameters[0].name:
            continue
        parameter = next(one for one in parameters if one.name == name)
        kinds = {
            kind_of_argument(view_of(view, call.site.path), call, one.node)
            for call, given in calls
            for one in given
            if one.name == name
        }
        if parameter.annotation is not None and (said := kind_of_class(view, "", parameter.annotation)) is not None:
            kinds = {said}
        if len(kinds) != 1 or None in kinds:
            raise _refusal(target, "unknown-object", f'uses the argument "{name}", whose class is unknown; annotate it')
        found[name] = str(kinds.pop())
    for call, given in calls:
        for one in given:
            if (
                isinstance(one.node, Name)
                and one.name not in found
                and is_graph_object(view_of(view, call.site.path), call, one.node.name)
            ):
                found[one.name] = "nnx"
            elif one.name and isinstance(one.node, (Name, Attribute, Lambda)) and one.name not in found:
                kind = kind_of_argument(view_of(view, call.site.path), call, one.node)
                if kind in (*_OBJECTS, "function"):
                    found[one.name] = str(kind)
    return found


def _must_be_hashable(target: Target, name: str, calls: tuple[tuple[HostCall, tuple[Given, ...]], ...]) -> None:
    for _, given in calls:
        for one in given:
            if one.name == name and isinstance(one.node, (ListDisplay, DictDisplay, SetDisplay, Comprehension)):
                raise _refusal(
                    target,
                    "unhashable-static",
                    f'needs "{name}" as a static argument, which must be hashable; pass a tuple',
                )


def _must_return_arrays(view: FileView, target: Target, seen: Seen, *, is_nnx: bool) -> None:
    """Checks that a compiled function can return its results.

    Raises:
        Obstacle: it cannot return one of its results.
    """
    if not seen.results and not is_nnx:
        raise _refusal(target, "returns-nothing", "returns nothing")
    for node, _ in seen.results:
        for part in _parts(node):
            if isinstance(part, (FString, Lambda)) or (isinstance(part, Constant) and isinstance(part.value, str)):
                raise _refusal(target, "returns-python", "returns something that is not an array")
            if (
                isinstance(part, Call)
                and isinstance(part.callee, Name)
                and kind_of_class(view, part.callee.name) == "plain"
            ):
                raise _refusal(target, "returns-python", f'returns a "{part.callee.name}", which is not a pytree')
    if seen.results and all(kind == "python" for _, kind in seen.results) and not is_nnx:
        raise _refusal(target, "returns-python", "returns nothing computed from arrays")


def _parts(node: Node) -> Iterator[Node]:
    if isinstance(node, (TupleDisplay, ListDisplay)):
        for item in node.items:
            yield from _parts(item)
    elif isinstance(node, DictDisplay):
        for _, value in node.pairs:
            yield from _parts(value)
    elif isinstance(node, IfExpression):
        yield from _parts(node.then)
        yield from _parts(node.otherwise)
    else:
        yield node


def _must_stay(view: FileView, target: Target, seen: Seen) -> None:
    """Checks that outside variables read by a function do not change, since compiled code keeps the first values.

    Raises:
        Obstacle: a variable may change.
    """
    home = home_of(view, target.at(target.node.site))
    for path, name, inside in sorted(seen.outside, key=lambda one: one[:2]):
        other = view_of(view, path)
        if _changes(other, name, inside if path != str(view.path) else home):
            message = f'reads "{name}", which may change between calls; pass it as an argument'
            raise _refusal(target, "changes-outside", message)


def _changes(view: FileView, name: str, home: str | None) -> bool:
    """Returns whether a variable of a file may change later."""
    if any(not one.is_method for one in functions_called(view, name)):
        return False
    if home is not None and (times := bound_inside(view, name).get(home, 0)):
        roots = [tree(view, str(view.path), entry.key) for entry in entries(view) if entry.root == home]
        return times != 1 or any(_changes_in(view, root, name) for root in roots if root is not None)
    times = bound_at_top(view, name)
    if not times:
        return False
    blocks = [tree(view, str(view.path), entry.key) for entry in entries(view)]
    kept = [one for one in view.facts.statements if isinstance(one, (Import, ImportFrom, ClassDef))]
    if name in names_bound(kept):
        return False
    return times != 1 or any(_changes_in(view, root, name) for root in blocks if root is not None)


def _changes_in(view: FileView, root: Node, name: str) -> bool:
    for node in walk(root):
        if isinstance(node, (For, While)) and name in names_bound([node]):
            return True
        if isinstance(node, (Global, Nonlocal)) and name in node.names:
            return True
        targets = (
            node.targets
            if isinstance(node, (Assign, Delete))
            else (node.target,)
            if isinstance(node, (AugAssign, AnnAssign))
            else ()
        )
        if any(isinstance(one, (Attribute, Subscript)) and root_name(one) == name for one in targets):
            return True
        if (
            isinstance(node, Assign)
            and isinstance(node.value, Call)
            and name in names_bound([node])
            and _is_living(view, node.value)
        ):
            return True
    return False


def _is_living(view: FileView, call: Call) -> bool:
    """Returns whether a call creates an object that changes in place."""
    dotted = dotted_name(view, call.callee)
    if dotted.startswith("flax.nnx."):
        return dotted.rsplit(".", 1)[-1][:1].isupper()
    return isinstance(call.callee, Name) and kind_of_class(view, call.callee.name) in ("nnx", "plain")
