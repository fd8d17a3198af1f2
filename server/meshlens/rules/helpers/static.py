"""The static arguments of a map, and the static or donated arguments of `jit` that the jitted function lacks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.values import Arg, Binder, Bound, Const, Function, Partial, Seq, Site, Value
from meshlens.axes.jax.naming import by_parameter, underlying
from meshlens.axes.runs.records import ApiCall
from meshlens.checking.counting import counted
from meshlens.checking.model import Finding, Fix
from meshlens.checking.routes import certain
from meshlens.project.view import FileView
from meshlens.project.writing.did_you_mean import closest
from meshlens.rules.helpers.entries import entries_at
from meshlens.text import Edit, FileEdit, Span

STATIC = "static_broadcasted_argnums"
_BY_NAME = ("static_argnames", "donate_argnames")
_BY_NUMBER = ("static_argnums", "donate_argnums")
_OTHER_SIGNATURES = (b"wraps", b"update_wrapper", b"__signature__")


def may_have_static(binder: Binder) -> bool:
    """Returns whether a map may have static arguments; `static_broadcasted_argnums=()` says that it has none."""
    given = binder.argument(STATIC)
    return given is not None and integers(given.value) != ()


def static_places(binder: Binder) -> tuple[int, ...]:
    """Returns the positions in `static_broadcasted_argnums`; () if there are none or they are unknown."""
    given = binder.argument(STATIC)
    return integers(given.value) or () if given is not None else ()


def integers(value: Value) -> tuple[int, ...] | None:
    """Returns an int, or the ints of a tuple, as a tuple; None if any of them is unknown."""
    items = value.items if isinstance(value, Seq) else (value,)
    if isinstance(value, Seq) and value.open:
        return None
    numbers = tuple(item.value for item in items if isinstance(item, Const) and type(item.value) is int)
    return numbers if len(numbers) == len(items) else None


def missing_in_jitted(view: FileView) -> Iterator[Finding]:
    """Reports static and donated arguments that the jitted function certainly lacks."""
    places: dict[Site, list[ApiCall]] = defaultdict(list)
    for call in view.records.calls:
        if call.dotted == "jax.jit" and not call.guarded:
            for arg in call.args:
                if (
                    (arg.label in _BY_NAME or arg.label in _BY_NUMBER)
                    and arg.site is not None
                    and view.is_here(arg.site)
                ):
                    places[arg.site].append(call)
    for site, calls in places.items():
        judged = [(call, call.context, _is_wrong(view, call, site)) for call in calls]
        found = certain(judged)
        # One list of names may be shared by several functions with different parameters.
        if found is not None and not any(verdict is False for _, _, verdict in judged):
            yield _finding(view, found, site)


def _given(call: ApiCall, site: Site) -> Arg:
    return next(arg for arg in call.args if arg.site == site)


def _parameters(view: FileView, call: ApiCall) -> tuple[str, tuple[tuple[str, str, bool], ...]] | None:
    """Returns the name and parameters of the jitted function; None if its real signature may differ."""
    operand = by_parameter(("fun",), call.args).get("fun")
    value: Value | None = operand.value if operand is not None else None
    function = value
    while isinstance(function, Partial):
        function = function.callee
    if isinstance(function, Bound):
        function = function.function
    if value is None or not isinstance(function, Function):
        return None
    nested = function.frame.parent is not None
    if nested and (not view.is_here(function.site) or any(word in view.source for word in _OTHER_SIGNATURES)):
        return None
    return underlying(value)


def _is_wrong(view: FileView, call: ApiCall, site: Site) -> bool | None:
    taken, arg = _parameters(view, call), _given(call, site)
    if taken is None:
        return None
    if arg.label in _BY_NAME:
        return None if _names(arg.value) is None else _surplus_name(arg.value, taken[1]) is not None
    return None if integers(arg.value) is None else _surplus_number(arg.value, taken[1]) is not None


def _names(value: Value) -> tuple[str, ...] | None:
    items = value.items if isinstance(value, Seq) and not value.open else (value,)
    names = tuple(item.value for item in items if isinstance(item, Const) and isinstance(item.value, str))
    return names if len(names) == len(items) else None


def _surplus_name(value: Value, parameters: tuple[tuple[str, str, bool], ...]) -> int | None:
    """Returns the index of the first name that no parameter has."""
    if any(how == "**" for _, how, _ in parameters):
        return None
    known = {name for name, how, _ in parameters if how in ("any", "key", "only")}
    return next((place for place, name in enumerate(_names(value) or ()) if name not in known), None)


def _surplus_number(value: Value, parameters: tuple[tuple[str, str, bool], ...]) -> int | None:
    """Returns the index of the first number beyond the positional parameters."""
    if any(how == "*" for _, how, _ in parameters):
        return None
    count = _positional(parameters)
    return next((place for place, number in enumerate(integers(value) or ()) if not -count <= number < count), None)


def _positional(parameters: tuple[tuple[str, str, bool], ...]) -> int:
    return sum(how in ("any", "only") for _, how, _ in parameters)


def _finding(view: FileView, call: ApiCall, site: Site) -> Finding:
    arg, taken = _given(call, site), _parameters(view, call)
    assert taken is not None
    function, parameters = taken
    named = arg.label in _BY_NAME
    place = _surplus_name(arg.value, parameters) if named else _surplus_number(arg.value, parameters)
    assert place is not None
    entries = entries_at(view, site)
    span = view.span(entries[place] if entries and place < len(entries) else site)
    if not named:
        number = (integers(arg.value) or ())[place]
        count = _positional(parameters)
        takes = f"only {counted(count, 'positional argument')}" if count else "no positional arguments"
        return Finding(span, f'{arg.label} names argument {number}, but "{function}" takes {takes}')
    name = (_names(arg.value) or ())[place]
    message = f'{arg.label} names "{name}", but "{function}" has no such argument'
    meant = closest(name, [one for one, how, _ in parameters if how in ("any", "key")])
    written = view.source[span.start : span.end]
    if meant is None or written not in (f'"{name}"'.encode(), f"'{name}'".encode()):
        return Finding(span, message)
    edit = Edit(Span(span.start + 1, span.end - 1), meant)
    fix = Fix(
        f'change to "{meant}"', (FileEdit(view.path, edit),), "suggestion", "another argument may have been meant"
    )
    return Finding(span, f'{message}; did you mean "{meant}"?', (fix,))
