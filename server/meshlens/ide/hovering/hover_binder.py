"""The hover of a map and of a mapped function: the original signature, how each argument is mapped, the devices."""

from __future__ import annotations

from collections import defaultdict

from meshlens.axes.domain.values import Binder, Bound, Function, Mapped, Partial, Site, Wrapped
from meshlens.axes.runs.records import Binding
from meshlens.devices.topology import DETECTED
from meshlens.ide.hovering.device_words import here
from meshlens.ide.hovering.environment_words import map_words
from meshlens.ide.hovering.mapping_words import argument_words, result_words, says_axes
from meshlens.ide.hovering.prose import Prose, counted
from meshlens.ide.operand import Operand, operand_of, signature_text
from meshlens.ide.shown.devices import devices_of
from meshlens.ide.values_here import mapped_in
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView

_MOST_MAPS = 3


def binder_text(prose: Prose, binder: Binder) -> str:
    """Returns the description of a map and its mapped function."""
    operand = operand_of(prose.view, binder.operand)
    return prose.page(
        prose.snippet(signature_text(operand)) if operand else None,
        _title(prose, binder),
        *_body(prose, binder, operand),
    )


def mapped_function_text(prose: Prose, function: Site) -> str | None:
    """Returns the description of a mapped `def`; None if nothing maps it.

    Args:
        prose: the writing style.
        function: the name in the `def`.
    """
    binders = list(binders_of(prose.view).get(function, {}).values())
    if not binders:
        return None
    if len(binders) == 1:
        return binder_text(prose, binders[0])
    operand = operand_of(prose.view, binders[0].operand)
    alike: dict[tuple[str, ...], list[Binder]] = defaultdict(list)
    for binder in binders:
        alike[tuple(_body(prose, binder, operand_of(prose.view, binder.operand)))].append(binder)
    parts: list[str | None] = [prose.snippet(signature_text(operand)) if operand else None]
    for body, group in list(alike.items())[:_MOST_MAPS]:
        parts += [*(_title(prose, binder) for binder in group[:_MOST_MAPS]), *body]
        if len(group) > _MOST_MAPS:
            parts.append(f"The same holds for {counted(len(group) - _MOST_MAPS, 'other map')}.")
    if len(alike) > _MOST_MAPS:
        parts.append(f"Mapped in {counted(len(alike) - _MOST_MAPS, 'other way')}.")
    return prose.page(*parts)


def binders_at(view: FileView, site: Site) -> tuple[Binder, ...]:
    """Returns the maps that a call or decorator at a site creates, those that bind the most names first."""
    found = [binding.binder for binding in view.records.bindings if binding.binder.site == site]
    return tuple(sorted(found, key=lambda binder: -len(binder.names)))


def _title(prose: Prose, binder: Binder) -> str:
    devices = devices_of(prose.view, binder)
    over = "" if binder.names else ", which binds no axis name"
    over = "" if binder.open and not binder.names else over
    inner = mapped_in(binder.operand)
    on = f", {devices}" if devices else ""
    inside = f", around {map_words(prose, inner.binder)}" if inner is not None else ""
    is_said = devices is not None and devices.endswith(f"({DETECTED})")
    found = here(prose.view.devices) if binder.kind in MAPS_ON_DEVICES and not is_said else None
    return f"Mapped by {map_words(prose, binder)}{over}{on}{inside}{f'; {found}' if found else ''}."


def _body(prose: Prose, binder: Binder, operand: Operand | None) -> list[str]:
    if not says_axes(binder):
        return []
    results = result_words(prose, binder)
    lines = []
    if operand is not None:
        words = [argument_words(prose, binder, operand, place) for place in range(len(operand.parameters))]
        if len(words) > _MOST_MAPS and len(set(words)) == 1:
            lines.append(f"every argument: {words[0]}")
        else:
            lines += [f"{prose.code(one.name)}: {text}" for one, text in zip(operand.parameters, words, strict=True)]
    if results:
        lines.append(f"results: {results}")
    return [prose.items(lines)] if lines else []


def binders_of(view: FileView) -> dict[Site, dict[Site, Binder]]:
    """Returns the maps of each function of the workspace, by the sites of the function's name and of the map."""

    def collect(solution: Solution) -> dict[Site, dict[Site, Binder]]:
        found: dict[Site, dict[Site, Binder]] = defaultdict(dict)
        for records in solution.by_file.values():
            for binding in records.bindings:
                site = _function_site(binding)
                if site is not None:
                    found[site].setdefault(binding.binder.site, binding.binder)
        return dict(found)

    return view.solution.once("hover-binders", collect)


def _function_site(binding: Binding) -> Site | None:
    value = binding.binder.operand
    while not isinstance(value, Function):
        if isinstance(value, Bound):
            value = value.function
        elif isinstance(value, Partial):
            value = value.callee
        elif isinstance(value, Wrapped):
            value = value.operand
        elif isinstance(value, Mapped):
            value = value.binder.operand
        else:
            return None
    return value.site
