"""Finds collectives with an unbound axis on some route, one per fault, and the maps that do not bind these axes."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from meshlens.axes.domain.specs import possible_specs, spec_names
from meshlens.axes.domain.values import Binder, Const, Site
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.project.solving.solution import Solution
from meshlens.rules.helpers.specs import mesh_axes


class Unbound(NamedTuple):
    """An axis name that some routes leave unbound.

    Attributes:
        name: the axis.
        failing: the uses of one collective on routes that leave the name unbound, short routes first.
        binding: the uses of the same collective on routes that bind the name, or may bind it.
        repeated: further collectives that fail for the same literal in the same map.
    """

    name: str
    failing: list[AxisUse]
    binding: list[AxisUse]
    repeated: tuple[Site, ...] = ()


def unbound_uses(solution: Solution) -> list[Unbound]:
    """Returns the axis names that some route leaves unbound, each fault once, at its first collective."""
    return solution.once("unbound-axis", _found)


def maps_that_lack_an_axis(solution: Solution) -> frozenset[Site]:
    """Returns the maps that fail because a collective in them names an axis that they do not bind."""
    return solution.once("maps-that-lack-an-axis", _maps_that_lack)


def _maps_that_lack(solution: Solution) -> frozenset[Site]:
    uses = [use for one in _all_unbound(solution) for use in one.failing]
    return frozenset(binder.site for use in uses for binder in use.context.env.maps)


def _found(solution: Solution) -> list[Unbound]:
    misspecified = _specs_beyond_their_mesh(solution)
    found: dict[tuple[object, ...], Unbound] = {}
    for one in _all_unbound(solution):
        if all(_is_told_by_spec(use, one.name, misspecified) for use in one.failing):
            continue
        key = _fault(one)
        first = found.get(key)
        found[key] = one if first is None else first._replace(repeated=(*first.repeated, one.failing[0].call))
    return list(found.values())


def _is_told_by_spec(use: AxisUse, name: str, misspecified: frozenset[tuple[Site, str]]) -> bool:
    return any((binder.site, name) in misspecified for binder in use.context.env.maps)


def _fault(one: Unbound) -> tuple[object, ...]:
    """Returns a key that two unbound uses share if one fix repairs both: the literal and the map."""
    use = one.failing[0]
    maps = use.context.env.maps
    literal = use.name.origin if isinstance(use.name, Const) else None
    if literal is None or not maps or one.binding:
        return (use.call, one.name)
    return (one.name, literal, maps[-1].site)


def _specs_beyond_their_mesh(solution: Solution) -> frozenset[tuple[Site, str]]:
    """Returns the maps whose own specs name an axis missing from their mesh, with the axis; AX201 reports them."""
    found: set[tuple[Site, str]] = set()
    for records in solution.by_file.values():
        for binding in records.bindings:
            axes = mesh_axes(binding.binder.mesh) if binding.binder.mesh is not None else None
            if axes is not None and _happens(binding.context):
                found.update((binding.binder.site, name) for name in _named(binding.binder) if name not in axes)
    return frozenset(found)


def _happens(context: Context) -> bool:
    return context.sure and not (context.guarded or context.expected or context.conditional or context.remote)


def _named(binder: Binder) -> set[str]:
    args = [binder.argument(parameter) for parameter in ("in_specs", "out_specs")]
    specs = [spec for arg in args if arg is not None for spec, is_certain in possible_specs(arg.value) if is_certain]
    return {name.value for spec in specs for name, _ in spec_names(spec)}


def _all_unbound(solution: Solution) -> list[Unbound]:
    return solution.once("unbound-axes-of-all-uses", _unbound)


def _unbound(solution: Solution) -> list[Unbound]:
    places: dict[tuple[Site, str], list[AxisUse]] = defaultdict(list)
    for records in solution.by_file.values():
        for use in records.uses:
            name = literal_name(use.name)
            if name is not None:
                places[(use.call, name)].append(use)
    found: list[Unbound] = []
    for (_, name), uses in places.items():
        binding = [use for use in uses if name in use.context.env.names or _may_bind(use)]
        followed = all(use.context.sure for use in uses)
        failing = [use for use in uses if _fails(use, name) and _is_certain(use, bool(binding), followed)]
        if failing:
            found.append(Unbound(name, sorted(failing, key=lambda use: len(use.context.route)), binding))
    return found


def _fails(use: AxisUse, name: str) -> bool:
    context = use.context
    return context.sure and not context.guarded and not context.env.open and name not in context.env.names


def _is_certain(use: AxisUse, bound_elsewhere: bool, followed: bool) -> bool:
    """Returns whether a use of an unbound axis certainly fails.

    If other routes bind the axis, the use must be unconditional on its own route. A failing function that a key picks
    from a table fails whenever it is picked, unless another choice by the same key binds the axis. So its failure
    counts only if every route to the use could be followed and none binds the axis.
    """
    if bound_elsewhere:
        return not use.context.conditional and (bool(use.context.env.maps) or not use.context.remote)
    picked = use.context.conditional == "picked" and followed
    return bool(use.context.env.maps) or picked or not use.context.conditional


def _may_bind(use: AxisUse) -> bool:
    """Returns whether the use is inside a device map with unknown names, such as one over a mesh parameter."""
    return use.context.env.open and any(binder.open for binder in use.context.env.maps)
