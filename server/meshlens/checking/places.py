"""The place of a finding: the source text that a value came from."""

from __future__ import annotations

from meshlens.axes.domain.values import Const, Site
from meshlens.axes.runs.context import Context, Step
from meshlens.axes.runs.records import AxisUse
from meshlens.checking.model import Related
from meshlens.facts.nodes import Assign, Constant
from meshlens.project.view import FileView
from meshlens.text import Span


def axis_site(view: FileView, use: AxisUse) -> Site:
    """Returns the place to mark for the axis that a collective names.

    This is the literal if it is in the collective's own argument or a loop iterates over it; the argument or default
    that passed it if the collective names a parameter; else the collective's argument.
    """
    axis = use.axis or use.call
    name = use.name
    if not isinstance(name, Const):
        return axis
    if name.origin is not None and name.origin.path == axis.path and name.origin.block == axis.block:
        inside = span_of(view, axis)
        literal = span_of(view, name.origin)
        if inside.contains(literal):
            return name.origin
    if not text_of(view, axis).isidentifier() or name.value is None:
        return axis
    if name.via is not None:
        return name.via
    # In a loop, mark the literal: it may be one of the names that the loop iterates over.
    is_turn = name.origin is not None and isinstance(use.whole, Const) and use.context.loop
    return name.origin if is_turn and name.origin is not None and not _is_constant(view, name.origin) else axis


def _is_constant(view: FileView, site: Site) -> bool:
    """Returns whether a literal is the whole value that a top-level assignment binds to a name."""
    facts = view.solution.facts.get(site.path)
    block = facts.blocks.get(site.block) if facts is not None else None
    shape = block.header if block is not None else None
    return isinstance(shape, Assign) and isinstance(shape.value, Constant)


def span_of(view: FileView, site: Site) -> Span:
    """Returns the span of a site in its own file."""
    return view.span(site)


def text_of(view: FileView, site: Site) -> str:
    """Returns the source text of a site."""
    return view.text(site)


def quoted(names: tuple[str, ...]) -> str:
    """Returns axis names as they appear in messages."""
    return ", ".join(f'"{name}"' for name in names)


def route_places(view: FileView, context: Context) -> tuple[Related, ...]:
    """Returns the last steps of a route as places: mapped here, called here."""
    found: list[Related] = []
    for step in context.route:
        place = _step(view, step)
        if place is not None and (not found or found[-1].span != place.span):
            found.append(place)
    return tuple(found[-5:])


def _step(view: FileView, step: Step) -> Related | None:
    words = {"call": "called", "map": "mapped", "jit": "called under jit", "grad": "differentiated", "run": "run"}
    if step.how not in words:
        return None
    binds = ""
    if step.how == "map" and step.env.maps:
        names = tuple(name.value for name in step.env.maps[-1].names)
        binds = f", binding {quoted(names)}" if names else ", without an axis name"
        site = step.env.maps[-1].site
    else:
        site = step.site
    return Related(view.path_of(site), view.span(site), f"{step.callee} is {words[step.how]} here{binds}")
