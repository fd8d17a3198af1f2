"""A line of facts above each map: how many devices, which axis, how many collectives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.values import Binder, Site
from meshlens.ide.devices import devices_of
from meshlens.ide.prose import counted
from meshlens.jaxapi.collectives import COLLECTIVES
from meshlens.project.solution import Solution
from meshlens.project.view import FileView
from meshlens.text import Span

_TALKS = frozenset(row.name for row in COLLECTIVES.values() if row.communicates)


@dataclass(frozen=True, slots=True)
class Lens:
    """What stands above a map.

    Attributes:
        span: the call or decorator that applies it.
        title: `8 devices · axis batch · 3 collectives`, without what is not known.
    """

    span: Span
    title: str


def lenses(view: FileView) -> tuple[Lens, ...]:
    """A lens for each map that a file applies and that anything is known of, in order."""
    binders = {binding.binder.site: binding.binder for binding in view.records.bindings}
    found = [Lens(view.span(site), title) for site, binder in binders.items() if (title := _title(view, binder))]
    return tuple(sorted(found, key=lambda lens: lens.span))


def _title(view: FileView, binder: Binder) -> str:
    return " · ".join(_parts(view, binder))


def _parts(view: FileView, binder: Binder) -> Iterator[str]:
    devices = devices_of(view, binder)
    if devices is not None:
        yield devices
    names = [str(name.value) for name in binder.names]
    if names:
        yield f"{'axis' if len(names) == 1 else 'axes'} {', '.join(names)}"
    if names and not binder.open:
        collectives = view.solution.once("ide: collectives of maps", _collectives).get(binder.site, frozenset())
        yield counted(len(collectives), "collective") if collectives else "no collectives"


def _collectives(solution: Solution) -> dict[Site, frozenset[Site]]:
    """The collectives over the axes of each map, by the place of the map."""
    found: dict[Site, set[Site]] = {}
    for records in solution.by_file.values():
        for use in records.uses:
            value = getattr(use.name, "value", None)
            binder = use.context.env.binder_of(value) if isinstance(value, str) and use.kind in _TALKS else None
            if binder is not None:
                found.setdefault(binder.site, set()).add(use.call)
    return {site: frozenset(calls) for site, calls in found.items()}
