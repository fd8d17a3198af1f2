"""Near misses: collectives whose axis is not bound, but is similar to one that a map around them binds."""

from __future__ import annotations

from dataclasses import dataclass, field

from meshlens.axes.domain.values import Const, Site
from meshlens.axes.runs.records import literal_name
from meshlens.project.solving.solution import Solution
from meshlens.project.writing.did_you_mean import closest


@dataclass(slots=True)
class NearMisses:
    """Collectives whose axis is not bound by any map on their route.

    Attributes:
        of_maps: for each map and each of its axes that is probably meant, the collectives' sites by unbound name.
        meant: for each unbound name, the axes that are probably meant, each with the maps that bind it.
    """

    of_maps: dict[tuple[Site, str], dict[str, list[Site]]] = field(default_factory=dict)
    meant: dict[str, dict[str, dict[Site, None]]] = field(default_factory=dict)


def near_misses(solution: Solution) -> NearMisses:
    """Returns the near misses of a workspace, computed once per solution."""
    return solution.once("ide: near misses", _found)


def _found(solution: Solution) -> NearMisses:
    found = NearMisses()
    for records in solution.by_file.values():
        for use in records.uses:
            said = literal_name(use.name) if isinstance(use.name, Const) else None
            env = use.context.env
            if said is None or env.open or env.binder_of(said) is not None:
                continue
            meant = closest(said, env.names)
            binder = env.binder_of(meant) if meant is not None else None
            if meant is None or binder is None:
                continue
            sites = found.of_maps.setdefault((binder.site, meant), {}).setdefault(said, [])
            if use.call not in sites:
                sites.append(use.call)
            found.meant.setdefault(said, {}).setdefault(meant, {})[binder.site] = None
    return found
