"""Maps whose `in_axes` or `in_specs` have a different number of entries than the function has arguments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.domain.values import Arg, Binder, Instance, Seq, Site
from meshlens.axes.runs.records import Binding, MappedCall
from meshlens.checking.counting import counted
from meshlens.checking.model import Related
from meshlens.checking.routes import certain
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.rules.helpers.static import may_have_static, static_places


@dataclass(frozen=True, slots=True)
class Miscount:
    """A map with too few or too many entries.

    Attributes:
        binder: the map.
        entries: the number of entries.
        arguments: the number of arguments.
        call: the call that shows the mismatch; None if the function's own parameters show it.
        some: whether other calls fit.
    """

    binder: Binder
    entries: int
    arguments: int
    call: MappedCall | None
    some: bool = False


def miscounts(view: FileView, wanted: frozenset[str], parameter: str) -> Iterator[Miscount]:
    """Yields the maps of a file that certainly have too few or too many entries.

    The entries are compared with the arguments of calls or, if no call settles it, with the function's parameters.

    Args:
        view: the file.
        wanted: canonical names of the maps to check.
        parameter: the parameter with the entries.
    """
    bindings: dict[Site, list[Binding]] = defaultdict(list)
    for binding in view.records.bindings:
        if canonical(binding.binder.dotted) in wanted:
            bindings[binding.binder.site].append(binding)
    calls: dict[Site, list[MappedCall]] = defaultdict(list)
    for call in view.records.calls_of_maps:
        if call.visible:
            calls[call.binder.site].append(call)
    for site, group in bindings.items():
        judged = [(call, call.context, _differs(view, call, parameter)) for call in calls[site]]
        found = certain(judged)
        if found is not None:
            count, entries = positional(found), entries_of(found.binder, parameter)
            assert count is not None and entries is not None
            yield Miscount(found.binder, entries, count, found, any(verdict is False for _, _, verdict in judged))
        elif not any(verdict is not None for _, _, verdict in judged):
            yield from _against_parameters(group, parameter, called=bool(judged))


def place_of_miscount(view: FileView, miscount: Miscount, parameter: str) -> tuple[Site, tuple[Related, ...]] | None:
    """Returns the place to mark, and the calls that show why; None if the place is in another file."""
    given = miscount.binder.argument(parameter)
    call = miscount.call
    site = call.call if call is not None and miscount.some else given.site if given is not None else None
    if site is None or not view.is_here(site):
        return None
    shown = [] if call is None or call.call == site else [call.call]
    if call is not None and call.context.route and _is_forwarded(view, call):
        shown.append(call.context.route[-1].site)
    return site, tuple([Related(view.path_of(one), view.span(one), "called here") for one in shown])


def _is_forwarded(view: FileView, call: MappedCall) -> bool:
    """Returns whether a call passes on the arguments of a wrapper, as in `mapped(*args)`."""
    return any(arg.whole is not None and view.text(arg.whole).startswith("*") for arg in call.args)


def entries_of(binder: Binder, parameter: str) -> int | None:
    """Returns the number of entries in `in_axes` or `in_specs`; None if unknown, or if one entry applies to all."""
    given = binder.argument(parameter)
    if given is None or not isinstance(given.value, Seq) or given.value.open:
        return None
    return len(given.value.items) if given.value.kind in ("tuple", "list") else None


def positional(call: MappedCall) -> int | None:
    """Returns how many positional arguments a call passes; None if a splat or a library hides them."""
    if not call.exact:
        return None
    given = [arg for arg in call.args if arg.label is None]
    written = [arg for arg in given if arg.whole is not None or _is_receiver(arg)]
    return len(given) if len(written) == len(given) else None


def keyword_arguments(call: MappedCall) -> tuple[Arg, ...]:
    """Returns the keyword arguments of a call."""
    return tuple(arg for arg in call.args if arg.label not in (None, "*", "**"))


def _is_receiver(arg: Arg) -> bool:
    return arg.site is None and isinstance(arg.value, Instance)


def _differs(view: FileView, call: MappedCall, parameter: str) -> bool | None:
    entries, count = entries_of(call.binder, parameter), positional(call)
    if entries is None or count is None:
        return None
    if not may_have_static(call.binder):
        return entries != count
    dynamic = [place for place in range(count) if place not in static_places(call.binder)]
    return entries < dynamic[-1] + 1 if static_places(call.binder) and dynamic else None


def _against_parameters(group: list[Binding], parameter: str, *, called: bool) -> Iterator[Miscount]:
    judged = [(one, one.context, _does_not_fit(one, parameter, called)) for one in group]
    found = certain(judged)
    if found is None or found.parameters is None:
        return
    entries, total = entries_of(found.binder, parameter), len(_positionals(found))
    assert entries is not None
    yield Miscount(found.binder, entries, total, None)


def _positionals(binding: Binding) -> list[bool]:
    """Returns for each positional parameter whether it has a default."""
    return [default for _, how, default in binding.parameters or () if how in ("any", "only")]


def _does_not_fit(binding: Binding, parameter: str, called: bool) -> bool | None:
    entries = entries_of(binding.binder, parameter)
    if entries is None or binding.parameters is None or may_have_static(binding.binder):
        return None
    if any(how == "*" for _, how, _ in binding.parameters):
        return None
    defaults = _positionals(binding)
    if entries > len(defaults):
        return True
    return entries < len(defaults) - sum(defaults) and not called


def explained(miscount: Miscount, parameter: str, name: str) -> str:
    """Returns the message that compares the two numbers."""
    entries = counted(miscount.entries, "entry", "entries")
    if miscount.call is None:
        return f'{parameter} has {entries}, but "{name}" takes {counted(miscount.arguments, "argument")}'
    kind = "positional argument" if keyword_arguments(miscount.call) else "argument"
    return f"{parameter} has {entries}, but the call passes {counted(miscount.arguments, kind)}"
