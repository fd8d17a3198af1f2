"""The axis names that a file or the workspace binds, and a file's meshes by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from meshlens.axes.domain.values import Binder, Data, Mesh, Spec
from meshlens.axes.jax.mapping import name_of
from meshlens.axes.runs.records import Records
from meshlens.ide.completing.typed import line_start
from meshlens.ide.shown.devices import mesh_sizes, spec_names
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView
from meshlens.text import Span

MOST_BYTES = 200

_ASSIGNED = re.compile(rb"([\w\x80-\xff]+)[ \t]*(?::[^=\n]*)?=[ \t]*\(?\s*$")
_AS = re.compile(rb"[ \t]+as[ \t]+([\w\x80-\xff]+)")


@dataclass(frozen=True, slots=True)
class KnownMesh:
    """A mesh that a file creates.

    Attributes:
        name: the variable that it is assigned to, "" if there is none.
        mesh: the mesh.
    """

    name: str
    mesh: Mesh


def meshes_of(view: FileView) -> tuple[KnownMesh, ...]:
    """Returns the meshes that a file creates, in order."""
    found: dict[object, KnownMesh] = {}
    for call in view.records.calls:
        if isinstance(call.result, Mesh) and call.result.site == call.call and call.call not in found:
            found[call.call] = KnownMesh(variable_of(view.source, view.span(call.call)), call.result)
    return tuple(sorted(found.values(), key=lambda known: view.span(known.mesh.site).start))


def variable_of(source: bytes, call: Span) -> str:
    """Returns the variable that a call's result is assigned to by `=` or `as`; "" if there is none."""
    line = max(line_start(source, call.start), call.start - MOST_BYTES)
    name = _ASSIGNED.search(source, line, call.start) or _AS.match(source, call.end)
    return name[1].decode("utf-8", "replace") if name is not None else ""


def spec_names_of(view: FileView) -> tuple[str, ...]:
    """Returns the axis names that the specs of a file mention, the most frequent first."""
    specs = {call.call: call.result for call in view.records.calls if isinstance(call.result, Spec)}
    names = Counter(name for spec in specs.values() for entry in spec.entries for name in spec_names(entry))
    return tuple(name for name, _ in names.most_common() if name)


def known_names(views: Iterable[FileView]) -> dict[str, str]:
    """Returns the axis names that maps and meshes bind, each with a description of its binder.

    Uses the first view that has such names, or else the whole workspace.

    Args:
        views: one or several versions of a file.
    """
    solution = None
    for view in views:
        found = dict(_names(view.records))
        if found:
            return found
        solution = solution or view.solution
    return names_of_workspace(solution) if solution is not None else {}


def names_of_workspace(solution: Solution) -> dict[str, str]:
    """Returns the axis names that any map or mesh of the workspace binds, each with a description of its binder."""
    return solution.once("ide: axis names", _all_names)


def _all_names(solution: Solution) -> dict[str, str]:
    return {name: words for path in sorted(solution.by_file) for name, words in _names(solution.by_file[path])}


def _names(records: Records) -> Iterator[tuple[str, str]]:
    for binding in records.bindings:
        for name in binding.binder.names:
            if isinstance(name.value, str) and name.value:
                yield name.value, map_in_words(binding.binder)
    for call in records.calls:
        if isinstance(call.result, Mesh):
            for axis in mesh_sizes(call.result):
                if axis:
                    yield axis, "mesh axis"


def map_in_words(binder: Binder) -> str:
    """Returns a short description of a map: its kind and its operand."""
    operand = operand_words(binder)
    return f"{binder.kind} of {operand}" if operand else binder.kind


def operand_words(binder: Binder) -> str:
    """Returns a description of a map's operand; "" if unknown."""
    name = name_of(binder.operand)
    if name == "<lambda>":
        return "a lambda"
    return "" if isinstance(binder.operand, Data) else name
