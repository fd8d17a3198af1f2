"""Axis environments and routes in words: the maps around code, and its callers."""

from __future__ import annotations

from collections.abc import Iterable

from meshlens.axes.domain.values import Binder
from meshlens.axes.jax.mapping import name_of
from meshlens.axes.runs.context import AxisEnv, Context, Step
from meshlens.ide.hovering.prose import Prose
from meshlens.jaxapi.binders import MAPS_ON_DEVICES

_MOST_STEPS = 4
_MOST_ROUTES = 3


def map_words(prose: Prose, binder: Binder) -> str:
    """Describes a map by its kind, axis names and place: `pmap over "batch" (train.py:12)`."""
    names = prose.axes(name.value for name in binder.names)
    over = f" over {names}" if names else " over unknown axes" if binder.open else ""
    return f"{prose.code(binder.kind)}{over} ({prose.place(binder.site)})"


def environment_words(prose: Prose, env: AxisEnv) -> str:
    """Returns the maps around code that runs in an environment, innermost first, in words."""
    closed = any(binder.kind in MAPS_ON_DEVICES for binder in env.maps)
    more = "; callers may bind more axes" if env.open and not closed else ""
    if env.maps:
        return ", ".join(f"inside {map_words(prose, binder)}" for binder in reversed(env.maps)) + more
    return f"no known map{more}" if env.open else "outside any map"


def route_words(prose: Prose, contexts: Iterable[Context]) -> str | None:
    """Describes a few of the routes that lead to a place; None if no call leads there."""
    routes = list(dict.fromkeys(filter(None, (_route(prose, context) for context in contexts))))
    if not routes:
        return None
    if len(routes) == 1:
        return f"Called from {routes[0]}."
    more = len(routes) - _MOST_ROUTES
    lines = routes[:_MOST_ROUTES] + ([f"and {more} more"] if more > 0 else [])
    return f"Called from\n{prose.items(lines)}" if prose.is_plain else f"Called from\n\n{prose.items(lines)}"


def operand_name(prose: Prose, binder: Binder) -> str:
    """Returns the name of a map's function."""
    name = name_of(binder.operand)
    return "a lambda" if name == "<lambda>" else prose.code(name)


def _route(prose: Prose, context: Context) -> str:
    """Returns the callers on one route, outermost first, each with the place of its call."""
    steps = [step for step in context.route if _is_call(step)]
    if not steps:
        return ""
    shown = steps[-_MOST_STEPS:]
    words = [f"{_named(prose, step.callee)} ({prose.place(step.site)})" for step in shown]
    return ("… → " if len(steps) > len(shown) else "") + " → ".join(words)


def _is_call(step: Step) -> bool:
    """Returns whether a step is a call in the source; a step from a map into its operand is described with the map."""
    if step.how == "map":
        return step.function is None and step.site != step.env.maps[-1].site
    return step.how in ("call", "jit", "grad") and step.site != step.function


def _named(prose: Prose, callee: str) -> str:
    return prose.code("lambda" if callee == "<lambda>" else callee)
