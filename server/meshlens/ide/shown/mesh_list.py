"""The meshes and the mapped functions of a file, with sizes and devices."""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.axes.domain.values import Binder
from meshlens.ide.completing.known_names import meshes_of
from meshlens.ide.hovering.hover_binder import binders_of
from meshlens.ide.shown.devices import axis_size, mesh_sizes
from meshlens.ide.shown.mesh_devices import device_ids
from meshlens.project.view import FileView
from meshlens.text import Span


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis and its size, None if unknown."""

    name: str
    size: int | None


@dataclass(frozen=True, slots=True)
class ListedMesh:
    """A mesh that a file creates.

    Attributes:
        label: the variable that holds it, or a description.
        axes: its known axes.
        span: the call that creates it.
        devices: the ids of its devices, row by row; None if unknown.
    """

    label: str
    axes: tuple[Axis, ...]
    span: Span
    devices: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class ListedFunction:
    """A function in a file that is mapped somewhere.

    Attributes:
        name: the name in its `def`.
        span: the span of that name.
        axes: the axes that the map binds.
        binder: the kind of map, such as "pmap".
    """

    name: str
    span: Span
    axes: tuple[Axis, ...]
    binder: str


def meshes_in(view: FileView) -> tuple[ListedMesh, ...]:
    """Returns the meshes that a file creates, in order."""
    return tuple(
        ListedMesh(
            one.name or one.mesh.kind,
            tuple(Axis(name, size) for name, size in mesh_sizes(one.mesh).items()),
            view.span(one.mesh.site),
            device_ids(view, one.mesh),
        )
        for one in meshes_of(view)
    )


def mapped_functions(view: FileView) -> tuple[ListedFunction, ...]:
    """Returns the mapped functions of a file, in order, with one entry per map."""
    found = [
        ListedFunction(view.text(site), view.span(site), _axes(view, binder), binder.kind)
        for site, binders in binders_of(view).items()
        if view.is_here(site)
        for binder in binders.values()
    ]
    return tuple(sorted(dict.fromkeys(found), key=lambda one: one.span))


def _axes(view: FileView, binder: Binder) -> tuple[Axis, ...]:
    names = [str(name.value) for name in binder.names]
    return tuple(Axis(name, axis_size(view, binder, name)) for name in names)
