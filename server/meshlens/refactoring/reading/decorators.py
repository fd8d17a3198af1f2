"""Decorators that preserve a function's signature and result, such as timing and logging decorators."""

from __future__ import annotations

from collections.abc import Callable

from meshlens.facts.nodes import Argument, Assign, Attribute, Call, Expression, FunctionDef, Name, Return, Yield
from meshlens.project.trees import Node, bound_by, walk
from meshlens.project.view import FileView
from meshlens.refactoring.reading.functions import dotted_name, functions_called
from meshlens.refactoring.reading.scopes import home_of
from meshlens.refactoring.reading.siblings import imported_function

_TRANSPARENT = frozenset(
    {
        "beartype.beartype",
        "typeguard.typechecked",
        "jaxtyping.jaxtyped",
        "jax.named_call",
        "jax.named_scope",
        "jax.profiler.annotate_function",
        "typing.no_type_check",
    }
)


def applied_by(decorator: Expression, dotted: Callable[[Expression], str]) -> tuple[Expression, tuple[Argument, ...]]:
    """Returns the function that a decorator calls, directly or through a `partial`, and the other arguments.

    Args:
        decorator: the expression.
        dotted: returns the dotted name of an expression.
    """
    callee, given = (decorator.callee, decorator.arguments) if isinstance(decorator, Call) else (decorator, ())
    if given and dotted(callee) == "functools.partial":
        return given[0].value, given[1:]
    return callee, given


def is_transparent(view: FileView, decorator: Node) -> bool:
    """Returns whether a decorator preserves a function's signature and result.

    A decorator defined in the workspace does so if its inner function, marked with `functools.wraps`, passes on all
    arguments and returns the result.

    Args:
        view: the file in which it is applied.
        decorator: the expression.
    """
    dotted = dotted_name(view, decorator.callee if isinstance(decorator, Call) else decorator)
    if dotted in _TRANSPARENT:
        return True
    if not isinstance(decorator, (Name, Attribute)):
        return False
    found = _defined(view, decorator)
    return found is not None and _hands_on(*found)


def _defined(view: FileView, decorator: Node) -> tuple[FileView, FunctionDef] | None:
    """Returns the top-level function, in this file or another one, that a decorator names."""
    if isinstance(decorator, Name):
        own = [one for one in functions_called(view, decorator.name) if not one.is_method]
        own = [one for one in own if home_of(view, one.at(one.node.site)) is None]
        if own:
            return (view, own[0].node) if len(own) == 1 else None
    other = imported_function(view, decorator)
    return (other[0], other[1].node) if other is not None else None


def _hands_on(view: FileView, node: FunctionDef) -> bool:
    parameters = node.function.parameters
    inner = [one for one in node.function.body if isinstance(one, FunctionDef)]
    if len(parameters) != 1 or len(inner) != 1 or node.function.decorators:
        return False
    function, given = inner[0].function, parameters[0].name
    returned = [one.value for one in node.function.body if isinstance(one, Return)]
    is_returned = len(returned) == 1 and isinstance(returned[0], Name) and returned[0].name == function.name
    wraps = [one for one in function.decorators if isinstance(one, Call)]
    keeps = (
        len(function.decorators) == len(wraps) == 1
        and dotted_name(view, wraps[0].callee) == "functools.wraps"
        and [one.value.name for one in wraps[0].arguments if isinstance(one.value, Name)] == [given]
    )
    return is_returned and keeps and _returns_what_comes_back(inner[0], given)


def _returns_what_comes_back(node: FunctionDef, given: str) -> bool:
    """Returns whether a wrapper returns or yields only what the wrapped function returns for the same arguments."""
    parameters = node.function.parameters
    if [one.how for one in parameters] != ["*", "**"]:
        return False
    names = [one.name for one in parameters]
    nodes = tuple(walk(node))
    kept = {
        one.targets[0].name
        for one in nodes
        if isinstance(one, Assign)
        and len(one.targets) == 1
        and isinstance(one.targets[0], Name)
        and _passes(one.value, given, names)
    }
    for name in (*kept, *names, given):
        if sum(name in bound_by(one) for one in nodes) > (name in kept):
            return False
    returned = [one.value for one in nodes if isinstance(one, (Return, Yield))]
    return bool(returned) and all(
        one is not None and (_passes(one, given, names) or (isinstance(one, Name) and one.name in kept))
        for one in returned
    )


def _passes(node: Node, function: str, names: list[str]) -> bool:
    """Returns whether an expression forwards all arguments of the enclosing function, as in `f(*args, **kwargs)`."""
    return (
        isinstance(node, Call)
        and isinstance(node.callee, Name)
        and node.callee.name == function
        and [(one.label, one.value.name) for one in node.arguments if isinstance(one.value, Name)]
        == [("*", names[0]), ("**", names[1])]
        and len(node.arguments) == 2
    )
