"""The calls to a function from plain Python, directly or through `jit`, `vmap` or `partial`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import (
    NOTHING,
    Assign,
    Attribute,
    Call,
    Constant,
    FunctionDef,
    Lambda,
    ListDisplay,
    Name,
    TupleDisplay,
)
from meshlens.jaxapi.binders import BINDERS
from meshlens.jaxapi.transparent import COMPILES, TRANSPARENT
from meshlens.project.trees import Node, path_to, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.reading.functions import Target, Use, dotted_name, functions
from meshlens.refactoring.reading.mentions import AttributeMention, Mention, attributes_called, entries, mentions_of
from meshlens.refactoring.reading.scopes import class_around, home_of, parent_of
from meshlens.refactoring.reading.uses import is_object, is_on_host
from meshlens.text import Span

_LIKE_ITS_OPERAND = ("same", "grad", "value_and_grad", "partial")
_MAPS = frozenset(row.dotted for row in BINDERS.values() if row.kind == "vmap")
_PARTIALS = frozenset(row.dotted for row in TRANSPARENT.values() if row.how == "partial")
_WRAPS = _MAPS | frozenset(row.dotted for row in TRANSPARENT.values() if row.how in _LIKE_ITS_OPERAND)


@dataclass(frozen=True, slots=True)
class Callee:
    """A function of the file, or a variable that holds a lambda or the result of `jit` or `vmap`.

    Attributes:
        name: its name.
        site: where it is defined or assigned.
        target: the function; None for a variable.
    """

    name: str
    site: Site
    target: Target | None


@dataclass(frozen=True, slots=True)
class HostCall:
    """A call from plain Python.

    Attributes:
        site: the call.
        node: its node.
        skipped: the number of parameters that a `partial` has bound by position.
        is_vmapped: whether it goes through a `vmap`.
        is_compiled: whether it goes through a `jit`.
        shared: the positions of parameters that the outermost `vmap` does not map.
    """

    site: Site
    node: Call
    skipped: int = 0
    is_vmapped: bool = False
    is_compiled: bool = False
    shared: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class _Value:
    """An expression whose value is the function or a wrapper around it."""

    site: Site
    skipped: int = 0
    is_vmapped: bool = False
    is_compiled: bool = False
    shared: frozenset[int] = frozenset()


def compiled_variables(view: FileView) -> tuple[Callee, ...]:
    """Returns the variables that hold a lambda, or the result of `jit`, `vmap` or a library's equivalent."""
    found: tuple[Callee, ...] = view.solution.once(
        f"assists: compiled variables of {view.path}", lambda _: tuple(_compiled_variables(view))
    )
    return found


def _compiled_variables(view: FileView) -> Iterator[Callee]:
    for entry in entries(view):
        root = tree(view, str(view.path), entry.key)
        for node in walk(root) if root is not None else ():
            if (
                not isinstance(node, Assign)
                or len(node.targets) != 1
                or not isinstance(node.targets[0], (Name, Attribute))
            ):
                continue
            is_made = isinstance(node.value, Call) and dotted_name(view, node.value.callee) in COMPILES | _MAPS
            if is_made or isinstance(node.value, Lambda):
                name = node.targets[0]
                yield Callee(name.name, Site(str(view.path), entry.key, name.site), None)


def host_calls(view: FileView, callee: Callee) -> tuple[HostCall, ...]:
    """Returns the calls to a function from plain Python in this file, in order, without duplicates."""
    value = _between(view, callee)
    return _followed(view, [replace(value, site=use.site) for use in _uses(view, callee)])


def followed(view: FileView, sites: Iterable[Site]) -> tuple[HostCall, ...]:
    """Returns the calls from plain Python to the expressions at the given sites."""
    return _followed(view, [_Value(site) for site in sites])


def _followed(view: FileView, waiting: list[_Value]) -> tuple[HostCall, ...]:
    found: dict[Site, HostCall] = {}
    seen: set[Site] = set()
    while waiting:
        value = waiting.pop()
        if value.site in seen or len(seen) > 500:
            continue
        seen.add(value.site)
        for step in _steps(view, value):
            if isinstance(step, HostCall):
                found.setdefault(step.site, step)
            else:
                waiting.append(step)
    return tuple(sorted(found.values(), key=lambda call: view.span(call.site)))


def _between(view: FileView, callee: Callee) -> _Value:
    """Returns how a function's decorators, or the calls that made a variable's value, affect the parameters."""
    value = _Value(callee.site)
    if callee.target is not None:
        for decorator in reversed(callee.target.node.function.decorators):
            value = _decorated(view, value, decorator)
        return value
    above = parent_of(view, callee.site)
    node: Node = above.value if isinstance(above, Assign) else NOTHING
    calls: list[Call] = []
    while isinstance(node, Call) and node.arguments and dotted_name(view, node.callee) in _WRAPS:
        calls.append(node)
        node = node.arguments[0].value
    for call in reversed(calls):
        dotted = dotted_name(view, call.callee)
        if dotted in _PARTIALS:
            bound = sum(one.label is None for one in call.arguments) - 1
            value = replace(value, skipped=value.skipped + bound)
        elif dotted in _MAPS:
            value = _vmapped(value, call)
    return value


def _decorated(view: FileView, value: _Value, decorator: Node) -> _Value:
    """Returns a value with the effect of a decorator; only a `vmap`, with or without `partial`, has an effect."""
    if not isinstance(decorator, Call):
        return replace(value, is_vmapped=True) if dotted_name(view, decorator) in _MAPS else value
    dotted = dotted_name(view, decorator.callee)
    if dotted in _PARTIALS and decorator.arguments:
        dotted = dotted_name(view, decorator.arguments[0].value)
    return _vmapped(value, decorator) if dotted in _MAPS else value


def _vmapped(value: _Value, call: Call) -> _Value:
    """Returns a value with the effect of a `vmap`, which does not map an argument whose `in_axes` entry is None."""
    axes = next((one.value for one in call.arguments if one.label == "in_axes"), None)
    items = axes.items if isinstance(axes, (TupleDisplay, ListDisplay)) else ()
    is_none = [isinstance(one, Constant) and one.value is None for one in items]
    shared = frozenset(value.skipped + place for place, none in enumerate(is_none) if none)
    return replace(value, is_vmapped=True, shared=shared)


def _steps(view: FileView, value: _Value) -> Iterator[HostCall | _Value]:
    """Yields the call that has a value as its callee, or the expressions that the value flows into."""
    above = parent_of(view, value.site)
    if isinstance(above, Call):
        site = Site(value.site.path, value.site.block, above.site)
        if above.callee.site == value.site.index:
            if is_on_host(view, site):
                yield HostCall(site, above, value.skipped, value.is_vmapped, value.is_compiled, value.shared)
            return
        dotted = dotted_name(view, above.callee)
        if dotted in _WRAPS and above.arguments and above.arguments[0].value.site == value.site.index:
            bound = sum(label is None for label, _, _ in above.arguments) - 1 if dotted in _PARTIALS else 0
            made = _vmapped(value, above) if dotted in _MAPS else value
            is_compiled = value.is_compiled or dotted in COMPILES
            yield replace(made, site=site, skipped=value.skipped + bound, is_compiled=is_compiled)
    elif isinstance(above, Assign) and above.value.site == value.site.index and len(above.targets) == 1:
        target = above.targets[0]
        if isinstance(target, (Name, Attribute)):
            where = Callee(target.name, Site(value.site.path, value.site.block, target.site), None)
            yield from (replace(value, site=use.site) for use in _uses(view, where))


def _uses(view: FileView, callee: Callee) -> tuple[Use, ...]:
    """Returns the reads of a function or variable; for a rebound name, those in functions or before the rebinding."""
    path = path_to(view, callee.site)
    is_attribute = (
        callee.target.is_method if callee.target is not None else bool(path) and isinstance(path[-1], Attribute)
    )
    if is_attribute:
        block = callee.site.block
        home = class_around(view, callee.target.at(callee.target.node.site)) if callee.target is not None else None
        home = home or block.rpartition(".")[0]
        found = attributes_called(view, callee.name)
        return tuple(Use(one.site, one.call) for one in found if _is_own(view, one, home))
    at = callee.target.at(callee.target.node.site) if callee.target is not None else callee.site
    home = home_of(view, at)
    begins = view.span(callee.site).start
    until = _bound_again(view, callee, home)
    return tuple(
        Use(one.site, one.call)
        for one in mentions_of(view, callee.name)
        if _is_seen(view, one, home) and (_is_inside(view, one) or begins < view.span(one.site).start < until)
    )


def _is_own(view: FileView, mention: AttributeMention, home: str) -> bool:
    """Returns whether an attribute belongs to an instance of a class, including `self` in the class's methods."""
    value = mention.node.object
    return (
        isinstance(value, Name) and value.name == "self" and mention.site.block.startswith(f"{home}.")
    ) or is_object(view, mention.site, value, home)


def _is_seen(view: FileView, mention: Mention, home: str | None) -> bool:
    return mention.root == home if home is not None else True


def _is_inside(view: FileView, mention: Mention) -> bool:
    """Returns whether a reference is inside a function, which runs later."""
    return any(isinstance(node, (FunctionDef, Lambda)) for node in path_to(view, mention.site)[:-1])


def _bound_again(view: FileView, callee: Callee, home: str | None) -> int:
    """Returns the start of the next definition of a name, for example in a later notebook cell."""
    after = view.span(callee.site).start
    places = [
        view.span(one.site).start
        for one in functions(view)
        if one.name == callee.name and not one.is_method and home_of(view, one.at(one.node.site)) == home
    ]
    return min((place for place in places if place > after), default=len(view.source) + 1)


def callee_at(view: FileView, span: Span) -> Callee | None:
    """Returns the variable assigned or read at the cursor, if it holds a lambda or a transformed function."""
    variables = compiled_variables(view)
    for one in variables:
        if view.span(one.site).contains(span):
            return one
    for one in variables:
        if any(view.span(use.site).contains(span) for use in _uses(view, one)):
            return one
    return None
