"""A line above each map: the number of devices, the axis, and the number and places of collectives."""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.axes.domain.values import Binder, Site
from meshlens.ide.hovering.prose import counted
from meshlens.ide.naming.near_misses import near_misses
from meshlens.ide.shown.devices import devices_of
from meshlens.jaxapi.collectives import COLLECTIVES
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView
from meshlens.text import Span

_TALKS = frozenset(row.name for row in COLLECTIVES.values() if row.communicates)


@dataclass(frozen=True, slots=True)
class Lens:
    """The lens above a map.

    Attributes:
        span: the call or decorator that applies the map.
        map: `8 devices · axis batch`, without unknown parts.
        collectives: `3 collectives`, followed by unbound names similar to the map's axes; empty if unknown.
        places: the places of those collectives, and of the collectives that use the similar names.
    """

    span: Span
    map: str
    collectives: str
    places: tuple[Site, ...] = ()

    @property
    def title(self) -> str:
        """Returns the lens as one line of text."""
        return " · ".join(filter(None, (self.map, self.collectives)))


def lenses(view: FileView) -> tuple[Lens, ...]:
    """Returns a lens for each map in a file, in order, except for maps about which nothing is known."""
    binders = {binding.binder.site: binding.binder for binding in view.records.bindings}
    found = [_lens(view, binder) for binder in binders.values()]
    return tuple(sorted((lens for lens in found if lens.title), key=lambda lens: lens.span))


def _lens(view: FileView, binder: Binder) -> Lens:
    names = [str(name.value) for name in binder.names]
    axes = f"{'axis' if len(names) == 1 else 'axes'} {', '.join(names)}" if names else None
    words = " · ".join(filter(None, (devices_of(view, binder), axes)))
    if not names or binder.open:
        return Lens(view.span(binder.site), words, "")
    used = view.solution.once("ide: collectives of maps", _collectives).get(binder.site, frozenset())
    of_maps = near_misses(view.solution).of_maps
    missed = {said: sites for name in names for said, sites in of_maps.get((binder.site, name), {}).items()}
    said = [counted(len(used), "collective") if used else "no collectives"]
    said += [f'"{name}" is not bound' for name in missed]
    places = (*used, *(site for sites in missed.values() for site in sites))
    return Lens(view.span(binder.site), words, " · ".join(said), places)


def _collectives(solution: Solution) -> dict[Site, frozenset[Site]]:
    """Returns the collectives over the axes of each map, by the map's site."""
    found: dict[Site, set[Site]] = {}
    for records in solution.by_file.values():
        for use in records.uses:
            value = getattr(use.name, "value", None)
            binder = use.context.env.binder_of(value) if isinstance(value, str) and use.kind in _TALKS else None
            if binder is not None:
                found.setdefault(binder.site, set()).add(use.call)
    return {site: frozenset(calls) for site, calls in found.items()}
