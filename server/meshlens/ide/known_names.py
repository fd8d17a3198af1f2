"""The axis names that the maps and meshes of a file, or of the whole workspace, bind; and a file's meshes by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.records import Records, literal_name
from meshlens.axes.values import Binder, Mesh
from meshlens.project.solution import Solution
from meshlens.project.view import FileView

_ASSIGNED = re.compile(rb"([\w\x80-\xff]+)[ \t]*(?::[^=\n]*)?=[ \t]*\(?\s*$")
_AS = re.compile(rb"[ \t]+as[ \t]+([\w\x80-\xff]+)")


@dataclass(frozen=True, slots=True)
class KnownMesh:
    """A mesh that a file makes.

    Attributes:
        name: the variable that it is assigned to, "" if there is none.
        mesh: the mesh.
    """

    name: str
    mesh: Mesh

    @property
    def axes(self) -> tuple[tuple[str, int | None], ...]:
        """Its known axis names with their sizes."""
        return mesh_axes(self.mesh)


def mesh_axes(mesh: Mesh) -> tuple[tuple[str, int | None], ...]:
    """The known axis names of a mesh with their sizes."""
    sizes = mesh.sizes if mesh.sizes is not None and len(mesh.sizes) == len(mesh.names) else ()
    named = [(literal_name(name), sizes[index] if sizes else None) for index, name in enumerate(mesh.names)]
    return tuple((name, size) for name, size in named if name is not None)


def meshes_of(view: FileView) -> tuple[KnownMesh, ...]:
    """The meshes that a file makes, in order."""
    found: dict[object, KnownMesh] = {}
    for call in view.records.calls:
        if isinstance(call.result, Mesh) and call.result.site == call.call and call.call not in found:
            span = view.span(call.call)
            line = view.source.rfind(b"\n", 0, span.start) + 1
            name = _ASSIGNED.search(view.source, line, span.start) or _AS.match(view.source, span.end)
            found[call.call] = KnownMesh(name[1].decode("utf-8", "replace") if name else "", call.result)
    return tuple(sorted(found.values(), key=lambda known: view.span(known.mesh.site).start))


def names_of_file(view: FileView) -> dict[str, str]:
    """The axis names that a file's maps and meshes bind, with what binds each in words."""
    return dict(_names(view.records))


def names_of_workspace(solution: Solution) -> dict[str, str]:
    """The axis names that any map or mesh of the workspace binds, with what binds each in words."""
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
            for axis, _ in mesh_axes(call.result):
                if axis:
                    yield axis, "mesh axis"


def map_in_words(binder: Binder) -> str:
    """A map in a few words: what maps, and what it is applied to."""
    operand = getattr(binder.operand, "name", "")
    return f"{binder.kind} over {'a lambda' if operand == '<lambda>' else operand}" if operand else binder.kind
