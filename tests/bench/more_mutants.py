"""Chooses other things to change, by reading source with `ast` only: specs, meshes and reductions.

"spec": an axis name in a `PartitionSpec`; "mesh": one in the constructor of a mesh; "reduction": a `psum` or `pmean`,
of which only the operand is left.  The distance of a spec is that to the nearest mesh that has the name, and that of a
mesh to the nearest spec or collective; that of a reduction is to the map that binds its axis, as in `mutants.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from axis_sites import find_sites
from mutants import CLASSES, Mutant, all_pairs, spoiled_names
from sources import Project, Source, read_sources

KINDS = ("spec", "mesh", "reduction")
_MESHES = frozenset({"Mesh", "AbstractMesh", "make_mesh"})
_REDUCTIONS = frozenset({"jax.lax.psum", "jax.lax.pmean"})
_Place = tuple[Source, ast.Constant]


def read_more(root: Path) -> list[Mutant]:
    """Returns everything of the three kinds that can be changed, in order of side, path and place."""
    project = Project(read_sources(root))
    found = [*_names(project), *_reductions(project)]
    return sorted(found, key=lambda mutant: (mutant.side, mutant.path, mutant.start))


def _names(project: Project) -> Iterator[Mutant]:
    specs = list(_constants(project, frozenset({"PartitionSpec"})))
    meshes = list(_constants(project, _MESHES))
    collectives = [
        (axis.source, axis.written)
        for site in find_sites(project)[0]
        for axis in site.axes
        if isinstance(axis.written, ast.Constant)
    ]
    tail = spoiled_names(project)
    for side, ours, theirs in (("spec", specs, meshes), ("mesh", meshes, [*specs, *collectives])):
        for source, constant in ours:
            others = [other for other in theirs if other[1].value == constant.value]
            if others:
                distance, nearest = min((_distance(source, constant, other), at) for at, other in enumerate(others))
                where, node = others[nearest]
                start, end = source.span(constant)
                yield Mutant(
                    source.path,
                    start,
                    end,
                    constant.lineno,
                    constant.value,
                    f'"{constant.value}{tail}"',
                    side,
                    CLASSES[distance],
                    f"{where.path}:{node.lineno}",
                    tuple(dict.fromkeys((source.path, *(other.path for other, _ in others[:5])))),
                )


def _distance(source: Source, node: ast.AST, other: _Place) -> int:
    if other[0] is not source:
        return 2
    around = set(source.functions_around(node))
    return 0 if around == set(source.functions_around(other[1])) else 1


def _constants(project: Project, callees: frozenset[str]) -> Iterator[_Place]:
    for source in project.sources.values():
        for call in source.calls:
            if (source.dotted(call.func) or "").rsplit(".", 1)[-1] in callees:
                for node in ast.walk(call):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                        yield source, node


def _reductions(project: Project) -> Iterator[Mutant]:
    best: dict[tuple[Path, int], Mutant] = {}
    for binder, collective, distance in all_pairs(project):
        source, call = collective.source, collective.call
        if source.dotted(call.func) not in _REDUCTIONS or not call.args or isinstance(call.args[0], ast.Starred):
            continue
        start, end = source.span(call)
        first, last = source.span(call.args[0])
        text = source.data[first:last].decode()
        files = tuple(dict.fromkeys((source.path, binder.source.path)))
        name = collective.axes[0].name
        mutant = Mutant(
            source.path, start, end, call.lineno, name, f"({text})", "reduction", distance, binder.place, files
        )
        known = best.get((source.path, start))
        if known is None or CLASSES.index(distance) < CLASSES.index(known.distance):
            best[source.path, start] = mutant
    yield from best.values()
