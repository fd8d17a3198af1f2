"""Inlay hints: the axes bound while a helper runs, the sizes of bound axes, and device counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.context import AxisEnv
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.ide.completing.tokens import header_end
from meshlens.ide.hovering.environment import bindings_of, contexts, distinct
from meshlens.ide.shown.device_hints import device_counts
from meshlens.ide.shown.devices import axis_size
from meshlens.project.view import FileView
from meshlens.text import Span


@dataclass(frozen=True, slots=True)
class InlayHintsWanted:
    """The hints to show; none by default.

    Attributes:
        axes: after the `def` of a helper, the axes that are bound while it runs.
        sizes: after the axis name of a collective, the size of the axis; after `jax.device_count()` and similar calls,
            their value.
    """

    axes: bool = False
    sizes: bool = False


@dataclass(frozen=True, slots=True)
class InlayHint:
    """A short text shown in the code without being part of it.

    Attributes:
        offset: the byte before which it is shown.
        text: the text, such as "axes: batch" or "= 8".
        tooltip: a longer explanation in plain text.
    """

    offset: int
    text: str
    tooltip: str


def inlay_hints(view: FileView, wanted: InlayHintsWanted, within: Span) -> tuple[InlayHint, ...]:
    """Returns the hints in a part of a file, in order.

    Args:
        view: the file.
        wanted: the kinds of hints.
        within: the part of the file that is shown.
    """
    found = [
        *(_axes(view, within) if wanted.axes else ()),
        *(_sizes(view, within) if wanted.sizes else ()),
        *((InlayHint(*one) for one in device_counts(view, within)) if wanted.sizes else ()),
    ]
    return tuple(sorted(found, key=lambda hint: hint.offset))


def _axes(view: FileView, within: Span) -> Iterator[InlayHint]:
    decorated = {
        site for site, bindings in bindings_of(view.solution).items() if any(one.decorator for one in bindings)
    }
    for site, environments in _by_function(view).items():
        if site in decorated or not view.is_here(site):
            continue
        span = view.span(site)
        names = [env.names for env in environments if env.names]
        if not names or not within.contains(span):
            continue
        end = header_end(view.source, span.end)
        if end is None:
            continue
        texts = dict.fromkeys(
            ", ".join(one) + (", …" if env.open else "") for env in environments if (one := env.names)
        )
        always = len(names) == len(environments)
        text = f"axes: {' | '.join(texts)}" + ("" if always else " | none")
        yield InlayHint(end, text, f"axis names that are bound while {view.text(site)} runs")


def _by_function(view: FileView) -> dict[Site, tuple[AxisEnv, ...]]:
    """Returns the environments of every function on the routes of a file's records."""
    found: dict[Site, list[AxisEnv]] = {}
    for context in contexts(view.records):
        if context.function is not None:
            found.setdefault(context.function, []).append(context.env)
        for step in context.route:
            if step.function is not None:
                found.setdefault(step.function, []).append(step.env)
    return {site: distinct(environments) for site, environments in found.items()}


def _sizes(view: FileView, within: Span) -> Iterator[InlayHint]:
    by_axis: dict[Site, dict[str, set[int | None]]] = {}
    for use in view.records.uses:
        name = literal_name(use.name)
        place = _place(view, use)
        if name is not None and place is not None and within.contains(view.span(place)):
            binder = use.context.env.binder_of(name)
            sizes = by_axis.setdefault(place, {}).setdefault(name, set())
            sizes.add(axis_size(view, binder, name) if binder is not None else None)
    for place, names in by_axis.items():
        known = [sizes.copy().pop() for sizes in names.values() if len(sizes) == 1]
        if len(known) == len(names) == 1 and known[0] is not None:
            yield InlayHint(view.span(place).end, f"= {known[0]}", f'size of axis "{next(iter(names))}"')


def _place(view: FileView, use: AxisUse) -> Site | None:
    """Returns the literal in the collective's argument, else the whole argument."""
    origin = getattr(use.name, "origin", None)
    if use.axis is None or not view.is_here(use.axis):
        return None
    if origin is not None and view.is_here(origin) and view.span(use.axis).contains(view.span(origin)):
        return Site(*origin)
    return use.axis
