"""How to map a function: with a decorator, instead of the `jit` around it, or in a wrapper next to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import ApiCall
from meshlens.facts.nodes import Assign, Attribute, Call, Name
from meshlens.project.trees import Node
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.model import Wishes
from meshlens.refactoring.reading.calls import PlainCall, plain_call
from meshlens.refactoring.reading.functions import Target, Use, dotted_name
from meshlens.refactoring.reading.jit import Folded, folded_jit, jit_above, jit_around
from meshlens.refactoring.reading.scopes import class_around, home_of, parent_of
from meshlens.refactoring.reading.uses import is_on_host, used_elsewhere, uses_of, uses_of_attribute, uses_of_name
from meshlens.text import Span


@dataclass(frozen=True, slots=True)
class Form:
    """The way to map a function.

    Attributes:
        how: "decorator" above the function, "call" instead of the call to `jit`, "wrapper" below the function.
        calls: the calls that will run the map.
        folded: the `jit` that the map replaces.
        is_bound: whether the map receives a bound method.
        others: whether the function is also used unmapped.
        around: whether the map splits the batch and merges rows itself, so that no call changes.
        obstacle: why the function cannot be mapped for all of its uses, if that was tried.
        filled: the parameters that the jitted `partial` of the function binds.
    """

    how: Literal["decorator", "call", "wrapper"]
    calls: tuple[PlainCall, ...]
    folded: Folded | None
    is_bound: bool = False
    others: bool = False
    around: bool = False
    obstacle: Obstacle | None = None
    filled: frozenset[str] = frozenset()


def as_decorator(view: FileView, target: Target, wishes: Wishes) -> Form:
    """Returns the decorator form, if every use is a call that the map can run.

    Raises:
        Obstacle: a use is something else.
    """
    uses = uses_of(view, target)
    folded = jit_above(view, target)
    calls = tuple(_on_host(view, target, use) for use in uses)
    if home_of(view, target.at(target.node.site)) is None:
        _must_be_used_here_only(view, target.name, wishes)
    return Form("decorator", calls, folded)


def form_of(view: FileView, target: Target, asked: Span, wishes: Wishes) -> Form:
    """Returns the form that suits the code around a function.

    Args:
        view: the file.
        target: the function.
        asked: the cursor; if it is on a call, only that call is mapped.
        wishes: the user's wishes.

    Raises:
        Obstacle: no form is possible.
    """
    uses = uses_of(view, target)
    compiled = [(use, call) for use in uses if use.call is None for call in [jit_around(view, use.site)] if call]
    partly = [
        (use, *found) for use in uses if use.call is None for found in [_compiled_partial(view, target, use)] if found
    ]
    if len(partly) == 1 and not compiled and not target.node.function.decorators:
        use, call, filled = partly[0]
        found = _instead_of_jit(view, replace(target, filled=filled), uses, use, call, wishes)
        return replace(found, filled=filled)
    if len(compiled) == 1 and not partly and not target.node.function.decorators:
        return _instead_of_jit(view, target, uses, *compiled[0], wishes)
    if len(compiled) + len(partly) > 1:
        raise Obstacle("several-maps", f'"{target.name}" is compiled in several places')
    here = [use for use in uses if use.call is not None and view.span(use.site).contains(asked)]
    if here and len(uses) > 1:
        return _beside(view, target, (_on_host(view, target, here[0]),))
    try:
        return as_decorator(view, target, wishes)
    except Obstacle as obstacle:
        calls = tuple(call for use in uses for call in _if_on_host(view, target, use))
        if not calls or target.is_method:
            raise
        return replace(_beside(view, target, calls), obstacle=obstacle)


def _beside(view: FileView, target: Target, calls: tuple[PlainCall, ...]) -> Form:
    if target.is_method:
        raise Obstacle("method", f'"{target.name}" is a method, so a map would apply to all calls to it')
    return Form("wrapper", calls, jit_above(view, target), others=True)


def _instead_of_jit(
    view: FileView, target: Target, uses: tuple[Use, ...], use: Use, call: ApiCall, wishes: Wishes
) -> Form:
    above = parent_of(view, call.call)
    if isinstance(above, Assign) and [one.name for one in above.targets if isinstance(one, Name)] == [target.name]:
        # `step = jax.jit(step)`: later uses of the name refer to the compiled function.
        if home_of(view, call.call) is None:
            _must_be_used_here_only(view, target.name, wishes)
        made, uses = tuple(one for one in uses if one is not use), (use,)
    else:
        made = _made_by(view, target, call, wishes)
    calls = tuple(_on_host(view, target, one) for one in made)
    folded = folded_jit(view, target, call, is_bound=target.has_object)
    is_nested = home_of(view, target.at(target.node.site)) is not None
    others = len(uses) > 1 or (not is_nested and _used_elsewhere(view, target.name, wishes) is not None)
    return Form("call", calls, folded, target.has_object, others)


def _compiled_partial(view: FileView, target: Target, use: Use) -> tuple[ApiCall, frozenset[str]] | None:
    """Returns the `jit` around a function's `partial`, with the parameters that the `partial` binds, else None."""
    above = parent_of(view, use.site)
    if not isinstance(above, Call) or dotted_name(view, above.callee) != "functools.partial":
        return None
    call = jit_around(view, Site(use.site.path, use.site.block, above.site))
    first, *rest = above.arguments
    names = [one.name for one in target.parameters]
    by_place = [one for one in rest if one.label is None]
    if call is None or first.value.site != use.site.index or len(by_place) > len(names):
        return None
    if any(one.label in ("*", "**") for one in rest):
        raise Obstacle("splat", f'a splat hides which arguments the partial of "{target.name}" binds')
    return call, frozenset({*names[: len(by_place)], *(one.label for one in rest if one.label is not None)})


def _made_by(view: FileView, target: Target, call: ApiCall, wishes: Wishes) -> tuple[Use, ...]:
    """Returns the uses of the result of a call to `jit`."""
    above = parent_of(view, call.call)
    if isinstance(above, Call) and above.callee.site == call.call.index:
        return (Use(call.call, above),)
    variables: tuple[Node, ...] = above.targets if isinstance(above, Assign) else ()
    if len(variables) == 1 and isinstance(variables[0], Name):
        name = variables[0].name
        home = home_of(view, call.call)
        if home is None:
            _must_be_used_here_only(view, name, wishes)
        return uses_of_name(view, name, home)
    if len(variables) == 1 and isinstance(variables[0], Attribute) and isinstance(variables[0].object, Name):
        name = variables[0].name
        _must_be_used_here_only(view, name, wishes)
        return uses_of_attribute(view, name, _class_of(view, call.call))
    raise Obstacle("used-as-value", f'the jitted version of "{target.name}" is not assigned to a variable')


def _class_of(view: FileView, site: Site) -> str | None:
    return class_around(view, Site(site.path, site.block, 0))


def _on_host(view: FileView, target: Target, use: Use) -> PlainCall:
    call = plain_call(view, target, use)
    if not is_on_host(view, use.site):
        line = view.lines.line_of(view.span(use.site).start) + 1
        raise Obstacle("traced-call", f"the call on line {line} may run inside a function that JAX traces")
    return call


def _if_on_host(view: FileView, target: Target, use: Use) -> tuple[PlainCall, ...]:
    try:
        return (_on_host(view, target, use),)
    except Obstacle:
        return ()


def _must_be_used_here_only(view: FileView, name: str, wishes: Wishes) -> None:
    other = _used_elsewhere(view, name, wishes)
    if other is not None:
        raise Obstacle("used-elsewhere", f'{other} "{name}"')


def _used_elsewhere(view: FileView, name: str, wishes: Wishes) -> str | None:
    found = used_elsewhere(view, name)
    if found is not None:
        return f"{found} also uses"
    return None if wishes.sees_all or name.startswith("_") else "other files of this project may also use"
