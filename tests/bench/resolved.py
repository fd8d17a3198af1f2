"""The pairs of a collective and a binder that MeshLens itself sees, as names to change.

This measures only whether what is seen is also reported; what is not seen at all is not a pair here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mutants import CLASSES, SIDES, Mutant

from meshlens.axes.domain.values import Binder, Bound, Const, Function, Partial, Site, Value, Wrapped
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.project.workspace import Workspace


def resolved_mutants(workspace: Workspace) -> list[Mutant]:
    """Returns the literals at one end of a pair that the other does not share; of several pairs the nearest counts."""
    best: dict[tuple[Path, int], Mutant] = {}
    for path in workspace.checked:
        if path.suffix != ".py":
            continue
        for use in workspace.view(path).records.uses:
            for mutant in _of_use(workspace, use):
                known = best.get((mutant.path, mutant.start))
                if known is None or CLASSES.index(mutant.distance) < CLASSES.index(known.distance):
                    best[mutant.path, mutant.start] = mutant
    return [best[key] for key in sorted(best)]


def _of_use(workspace: Workspace, use: AxisUse) -> Iterator[Mutant]:
    name = literal_name(use.name)
    binder = use.context.env.binder_of(name) if name is not None else None
    if name is None or binder is None or not isinstance(use.name, Const):
        return
    bound = next((const for const in binder.names if const.value == name), None)
    if bound is None or bound.origin is None or use.name.origin is None or bound.origin == use.name.origin:
        return
    distance = _distance(use, binder)
    ends = ((SIDES[0], use.name.origin, binder.site), (SIDES[1], bound.origin, use.call))
    files = tuple(dict.fromkeys((Path(use.call.path), Path(binder.site.path))))
    for side, origin, other in ends:
        view = workspace.view(Path(origin.path))
        span = view.span(origin)
        text = view.source[span.start : span.end]
        if text[:1] not in (b'"', b"'") or text[1:-1].decode("utf-8", "replace") != name:
            continue
        line = view.lines.line_of(span.start) + 1
        place = _place(workspace, other)
        yield Mutant(view.path, span.start, span.end, line, name, f'"{name}x"', side, distance, place, files)


def _distance(use: AxisUse, binder: Binder) -> str:
    if use.call.path != binder.site.path:
        return CLASSES[2]
    operand = _function(binder.operand)
    inside = operand is not None and operand.path == use.call.path and _holds(operand.block, use.call.block)
    same = not use.call.block.startswith("=") and _holds(binder.site.block, use.call.block)
    return CLASSES[0] if inside or same or binder.site.block == use.call.block else CLASSES[1]


def _function(value: Value) -> Function | None:
    while not isinstance(value, Function):
        if isinstance(value, Partial):
            value = value.callee
        elif isinstance(value, Bound):
            value = value.function
        elif isinstance(value, Wrapped):
            value = value.operand
        else:
            return None
    return value


def _holds(outer: str, inner: str) -> bool:
    return inner == outer or inner.startswith(f"{outer}.")


def _place(workspace: Workspace, site: Site) -> str:
    view = workspace.view(Path(site.path))
    return f"{site.path}:{view.lines.line_of(view.span(site).start) + 1}"
