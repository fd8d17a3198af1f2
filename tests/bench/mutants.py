"""Chooses axis names to change by reading source with `ast` only, so that MeshLens does not choose its own test.

A collective and a binder are a pair if they have the same axis name and the binder's operand mentions, directly or
through functions that it mentions, the function that contains the collective.  That overcounts: a mention is not a
call.  Nothing is known about objects, so what only a method call on an object reaches is not a pair.  "One function"
means that the collective is in the operand, or in the function that also holds the binder; what a factory
made is a helper.

    python tests/bench/mutants.py DIR        counts the mutants of each folder in DIR
"""

from __future__ import annotations

import ast
import random
import sys
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from axis_sites import Axis, AxisSite, find_sites, is_partial
from sources import DEF_NODES, FUNCTION_NODES, FunctionNode, Project, Source, read_sources

CLASSES = ("one function", "same file", "across files")
SIDES = ("collective", "binder")
_FARTHEST = 6


@dataclass(frozen=True)
class Mutant:
    """One axis name to change.

    Attributes:
        path, start, end: the file, and the bytes that spell the name.
        line: their line, from 1.
        name: the axis name.
        text: the replacement.
        side: "collective" or "binder".
        distance: one of `CLASSES`.
        partner: `file:line` of the other end.
        files: files in which the finding is most likely, nearest first.
    """

    path: Path
    start: int
    end: int
    line: int
    name: str
    text: str
    side: str
    distance: str
    partner: str
    files: tuple[Path, ...]


def read_mutants(root: Path) -> list[Mutant]:
    """Returns every name that can be changed, in order of path and place; of several pairs the nearest counts."""
    project = Project(read_sources(root))
    spoiled = spoiled_names(project)
    best: dict[tuple[Path, int], Mutant] = {}
    for binder, collective, distance in all_pairs(project):
        for mutant in _mutants(binder, collective, distance, spoiled):
            known = best.get((mutant.path, mutant.start))
            if known is None or CLASSES.index(mutant.distance) < CLASSES.index(known.distance):
                best[mutant.path, mutant.start] = mutant
    return [best[key] for key in sorted(best)]


def literal_pairs(root: Path) -> Iterator[tuple[Axis, Axis]]:
    """Yields the axis names of a binder and of a collective that it may bind, if both are written as literals."""
    for binder, collective, _ in all_pairs(Project(read_sources(root))):
        for one in binder.axes:
            for other in collective.axes:
                literal = isinstance(one.written, ast.Constant) and isinstance(other.written, ast.Constant)
                if literal and one.name == other.name:
                    yield one, other


def all_pairs(project: Project) -> Iterator[tuple[AxisSite, AxisSite, str]]:
    """Yields every binder with every collective that it may bind, and the distance between them."""
    collectives, binders = find_sites(project)
    by_function: dict[FunctionNode, list[AxisSite]] = {}
    for site in collectives:
        for function in site.source.functions_around(site.call):
            by_function.setdefault(function, []).append(site)
    mentions: dict[ast.AST, list[ast.expr]] = {}
    for binder in binders:
        for collective, distance in _pairs(project, binder, by_function, mentions):
            yield binder, collective, distance


def sample(mutants: list[Mutant], most: int, seed: int) -> list[Mutant]:
    """Returns at most `most` mutants of each class, the same ones each time."""
    chosen: list[Mutant] = []
    for distance in CLASSES:
        group = [mutant for mutant in mutants if mutant.distance == distance]
        picked = random.Random(seed).sample(group, min(most, len(group)))
        chosen += sorted(picked, key=lambda one: (one.path, one.start))
    return chosen


def spoiled_names(project: Project) -> str:
    """Returns a suffix that makes every axis name a name that occurs nowhere."""
    everything = b"\n".join(source.data for source in project.sources.values())
    tail = "x"
    while f'{tail}"'.encode() in everything and len(tail) < 6:
        tail += "x"
    return tail


def _mutants(binder: AxisSite, collective: AxisSite, distance: str, tail: str) -> Iterator[Mutant]:
    files = tuple(dict.fromkeys((collective.home[0].path, collective.source.path, binder.source.path)))
    for side, site, other in ((SIDES[0], collective, binder), (SIDES[1], binder, collective)):
        theirs = {axis.name: axis.written for axis in other.axes}
        for axis in site.axes:
            if theirs.get(axis.name, axis.written) is axis.written:
                continue
            start, end = axis.source.span(axis.written)
            text = f'"{axis.name}{tail}"'
            line = axis.written.lineno
            yield Mutant(axis.source.path, start, end, line, axis.name, text, side, distance, other.place, files)


def _pairs(
    project: Project,
    binder: AxisSite,
    collectives: dict[FunctionNode, list[AxisSite]],
    mentions: dict[ast.AST, list[ast.expr]],
) -> Iterator[tuple[AxisSite, str]]:
    names = {axis.name for axis in binder.axes}
    around = set(binder.source.functions_around(binder.call))
    for function, steps in _reached(project, binder, mentions).items():
        for site in collectives.get(function, ()):
            if not names.intersection(axis.name for axis in site.axes):
                continue
            home, collective = site.home
            if home is not binder.source or site.source is not binder.source:
                yield site, CLASSES[2]
            elif (steps == 0 and function in home.functions_around(collective)) or around.intersection(
                home.functions_around(collective)
            ):
                yield site, CLASSES[0]
            else:
                yield site, CLASSES[1]


def _reached(project: Project, binder: AxisSite, mentions: dict[ast.AST, list[ast.expr]]) -> dict[FunctionNode, int]:
    """Returns the functions that the operand mentions, each with the number in between; 0 for the operand itself."""
    seen: dict[FunctionNode, int] = {}
    queue: deque[tuple[Source, ast.AST, int]] = deque((binder.source, node, 0) for node in _operands(binder))
    visited: set[ast.AST] = set()
    while queue:
        source, node, steps = queue.popleft()
        if node in visited or steps > _FARTHEST:
            continue
        visited.add(node)
        if isinstance(node, FUNCTION_NODES):
            seen.setdefault(node, steps)
            steps += 1
        if node not in mentions:
            mentions[node] = list(_mentions(source, node))
        for mention in mentions[node]:
            further = steps + 1 if _is_called(source, mention) else steps
            queue.extend((where, found, further) for where, found in project.meant(source, mention))
    return seen


def _operands(binder: AxisSite) -> list[ast.AST]:
    """Returns what a binder maps: the decorated function, or the first argument."""
    parent = binder.source.parents.get(binder.call)
    if isinstance(parent, DEF_NODES) and binder.call in parent.decorator_list:
        return [parent]
    if isinstance(parent, ast.Call) and parent.func is binder.call:
        return list(parent.args[:1])
    if is_partial(binder.source, binder.call):
        return []
    named = [keyword.value for keyword in binder.call.keywords if keyword.arg in ("fun", "f")]
    return list(binder.call.args[:1]) or list(named)


def _mentions(source: Source, node: ast.AST) -> Iterator[ast.expr]:
    roots: list[ast.AST] = [node]
    if isinstance(node, ast.ClassDef):
        methods = ("__init__", "__call__", "setup")
        roots = [item for item in node.body if isinstance(item, DEF_NODES) and item.name in methods]
    seen: set[tuple[str, bool]] = set()
    for root in roots:
        for found in ast.walk(root):
            if isinstance(found, ast.Name | ast.Attribute) and isinstance(found.ctx, ast.Load):
                key = (source.dotted(found) or "", _is_called(source, found))
                if key not in seen:
                    seen.add(key)
                    yield found


def _is_called(source: Source, mention: ast.expr) -> bool:
    parent = source.parents.get(mention)
    return isinstance(parent, ast.Call) and parent.func is mention


def _main() -> None:
    for folder in sorted(path for path in Path(sys.argv[1]).iterdir() if path.is_dir()):
        counts = Counter((mutant.distance, mutant.side) for mutant in read_mutants(folder))
        parts = [f"{distance}: {counts[distance, 'collective']}+{counts[distance, 'binder']}" for distance in CLASSES]
        print(f"{folder.name:24s} {'   '.join(parts)}", flush=True)


if __name__ == "__main__":
    _main()
