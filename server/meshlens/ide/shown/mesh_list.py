"""The meshes of a file, and its functions that run under axes, with sizes and devices."""

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
    """An axis and how many indices it has, None where that is not known."""

    name: str
    size: int | None


@dataclass(frozen=True, slots=True)
class ListedMesh:
    """A mesh that a file makes.

    Attributes:
        label: the variable that holds it, or what it is.
        axes: its axes that are known.
        span: the call that makes it.
        devices: the ids of its devices, row by row; None where they are not known.
    """

    label: str
    axes: tuple[Axis, ...]
    span: Span
    devices: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class ListedFunction:
    """A function of a file that is mapped somewhere.

    Attributes:
        name: as its `def` has it.
        span: that name.
        axes: the axes that the map binds.
        binder: what maps it: "pmap".
    """

    name: str
    span: Span
    axes: tuple[Axis, ...]
    binder: str


def meshes_in(view: FileView) -> tuple[ListedMesh, ...]:
    """The meshes that a file makes, in order."""
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
    """The functions of a file that are mapped, in order; one that several maps map stands there for each."""
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
