"""The symbols that MeshLens adds to an editor's outline: maps and meshes, in one file or the workspace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from meshlens.axes.domain.values import Binder, Mesh, Site
from meshlens.axes.runs.records import Records
from meshlens.ide.completing.known_names import operand_words, variable_of
from meshlens.ide.shown.devices import mesh_sizes
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView
from meshlens.text import Span

_CALLEE = re.compile(rb"@?\s*[\w.]+")
MOST = 256


@dataclass(frozen=True, slots=True)
class Symbol:
    """A map or a mesh.

    Attributes:
        name: the mapped function, or the variable that holds the mesh.
        detail: a description: `pmap over "batch"`, `mesh data=4, model=2`.
        kind: "map" or "mesh".
        path: its file.
        span: the whole call or decorator.
        selection: the part of the span to put the cursor on.
    """

    name: str
    detail: str
    kind: str
    path: Path
    span: Span
    selection: Span


def document_symbols(view: FileView) -> tuple[Symbol, ...]:
    """Returns the maps and meshes of a file, in order."""
    return tuple(_symbols(view.solution, view.texts, str(view.path), view.records))


def workspace_symbols(view: FileView, query: str) -> tuple[Symbol, ...]:
    """Returns maps and meshes that match a query, from all files, best first, up to a limit.

    Args:
        view: any file of the workspace.
        query: letters that occur in the name or detail in this order; empty matches all.
    """
    found = view.solution.once("ide: symbols", lambda solution: _all_symbols(solution, view.texts))
    ranked = [(rank, number) for number, symbol in enumerate(found) if (rank := _rank(query, symbol)) is not None]
    return tuple(found[number] for _, number in sorted(ranked)[:MOST])


def _all_symbols(solution: Solution, texts: Mapping[str, bytes]) -> tuple[Symbol, ...]:
    return tuple(
        symbol
        for path in sorted(solution.by_file)
        for symbol in _symbols(solution, texts, path, solution.by_file[path])
    )


def _rank(query: str, symbol: Symbol) -> int | None:
    """Returns the rank of a match, or None for a symbol that does not match.

    0: at the start of the name. 1: inside the name. 2: in the detail. 3: scattered letters.
    """
    wanted, name = query.lower(), symbol.name.lower()
    whole = f"{name} {symbol.detail.lower()}"
    if name.startswith(wanted):
        return 0
    if wanted in name:
        return 1
    if wanted in whole:
        return 2
    left = iter(whole)
    return 3 if all(letter in left for letter in wanted if letter != " ") else None


def _symbols(solution: Solution, texts: Mapping[str, bytes], path: str, records: Records) -> Iterator[Symbol]:
    found: dict[Site, tuple[str, str, str]] = {}
    for binding in records.bindings:
        site = binding.binder.site
        if site not in found:
            found[site] = operand_words(binding.binder), map_detail(binding.binder), "map"
    for call in records.calls:
        mesh = call.result
        if isinstance(mesh, Mesh) and mesh.site == call.call and call.call not in found:
            variable = variable_of(texts[path], solution.facts[path].span(call.call.block, call.call.index))
            found[call.call] = variable, mesh_detail(mesh), "mesh"
    placed = [(solution.facts[path].span(site.block, site.index), *words) for site, words in found.items()]
    for span, name, detail, kind in sorted(placed):
        head = _CALLEE.match(texts[path], span.start, span.end)
        selection = Span(span.start, head.end()) if head is not None else span
        shown = name or texts[path][selection.start : selection.end].decode("utf-8", "replace")
        yield Symbol(shown, detail, kind, Path(path), span, selection)


def map_detail(binder: Binder) -> str:
    """Describes a map by its kind and axis names: `pmap over "batch"`."""
    names = ", ".join(f'"{name.value}"' for name in binder.names)
    return f"{binder.kind} over {names}" if names else binder.kind


def mesh_detail(mesh: Mesh) -> str:
    """Describes a mesh by its axes: `mesh data=4, model=2`."""
    axes = [name if size is None else f"{name}={size}" for name, size in mesh_sizes(mesh).items()]
    return " ".join(["mesh", ", ".join(axes + (["…"] if mesh.open else []))]).rstrip()
