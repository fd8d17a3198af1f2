"""Completes axis names in collectives and other calls that use axes, with the names that are bound there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.axes.domain.values import Function, Site
from meshlens.axes.runs.context import AxisEnv
from meshlens.ide.completing.completing import Completion, Place, axis_names
from meshlens.ide.completing.known_names import known_names, map_in_words
from meshlens.ide.completing.spelled import uses_jax
from meshlens.ide.completing.typed import line_start
from meshlens.ide.completing.typed_call import TypedCall
from meshlens.ide.hovering.environment import contexts, definitions_around, distinct, environments, function_site
from meshlens.jaxapi.collectives import COLLECTIVES, NAMED_REDUCTIONS
from meshlens.jaxapi.consumers import CONSUMERS, NOT_AXIS_NAMES
from meshlens.project.view import FileView

_AXIS_PARAMETER = re.compile(r"(?:\w+_)?axis_names?|cross_replica_axis")


def bound_axes(place: Place) -> tuple[Completion, ...] | None:
    """Returns the axis names bound at the cursor if an axis name is expected there; otherwise None."""
    if not place.calls or not _asks_for_axis(place, place.calls[0]):
        return None
    return axis_names(place, _names(place))


def _asks_for_axis(place: Place, call: TypedCall) -> bool:
    collective = COLLECTIVES.get(call.dotted)
    if collective is not None:
        return call.parameter(collective.parameters) == collective.axis_parameter
    consumer = CONSUMERS.get(call.dotted)
    if consumer is not None and call.current is not None:
        named = call.current.keyword == consumer.parameter
        return named or (consumer.index is not None and call.position == consumer.index)
    if call.current is None or place.typed.string is None or call.dotted in NOT_AXIS_NAMES:
        return False
    reduction = NAMED_REDUCTIONS.get(call.dotted)
    if reduction is not None:
        return call.current.keyword == "axis" or call.position == reduction.axis_index
    parameters = _parameters(call.value) if isinstance(call.value, Function) else ()
    home = call.value.path if isinstance(call.value, Function) else str(place.view.path)
    if not uses_jax(place.view.texts[home]):
        return False
    return _AXIS_PARAMETER.fullmatch(call.parameter(parameters) or "") is not None


def _parameters(function: Function) -> tuple[str, ...]:
    return tuple(parameter.name for parameter in function.parameters if parameter.how in ("only", "any"))


def _names(place: Place) -> Iterator[tuple[str, str]]:
    found = _environments(place)
    for env in found:
        for bound in reversed(env.bound):
            yield bound.name, f"bound by {map_in_words(bound.binder)}"
    if found and not any(env.open for env in found) and any(env.bound for env in found):
        return
    yield from known_names(place.views).items()


def _environments(place: Place) -> tuple[AxisEnv, ...]:
    view = place.view
    here = _of_collective(view, place.calls[0].at)
    if here:
        return here
    source = view.source
    line = line_start(source, place.typed.openings[-1].at)
    for name in definitions_around(source, line):
        site = function_site(view, name)
        found = environments(view, site) if site is not None else ()
        if not found and place.before is not None:
            found = _before(place.before, source[name.start : name.end].decode("utf-8", "replace"))
        if found:
            return found
    return ()


def _of_collective(view: FileView, bracket: int) -> tuple[AxisEnv, ...]:
    """Returns the environments of the collective whose opening bracket is at an offset, if it was analyzed."""
    found: list[AxisEnv] = []
    for use in view.records.uses:
        if use.call.path == str(view.path):
            span = view.span(use.call)
            if span.start <= bracket < span.end and view.source.find(b"(", span.start) == bracket:
                found.append(use.context.env)
    return distinct(found)


def _before(view: FileView, name: str) -> tuple[AxisEnv, ...]:
    """Returns the environments that the function with this name had before the text was broken."""
    sites: dict[Site, None] = {}
    for context in contexts(view.records):
        for site in (context.function, *(step.function for step in context.route)):
            if site is not None and view.is_here(site) and site not in sites and view.text(site) == name:
                sites[site] = None
    return distinct(env for site in sites for env in environments(view, site))
