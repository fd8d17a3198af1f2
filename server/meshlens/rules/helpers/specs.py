"""Specs and meshes for rules: the axes of a mesh, the parts of a sharding, the place to mark."""

from __future__ import annotations

import re

from meshlens.axes.domain.values import Arg, Const, Mesh, Site, Value
from meshlens.checking.model import Related
from meshlens.checking.places import quoted
from meshlens.project.view import FileView

_REFERENCE = re.compile(r"[\w.]+")


def mesh_axes(mesh: Value | None) -> tuple[str, ...] | None:
    """Returns the axis names of a mesh; None unless all of them are known."""
    if not isinstance(mesh, Mesh) or mesh.open or mesh.kind == "pallas":
        return None
    names = tuple(name.value for name in mesh.names if isinstance(name, Const) and isinstance(name.value, str))
    return names if len(names) == len(mesh.names) and names else None


def blamed(view: FileView, name: Const, site: Site, fallback: Site | None) -> Site | None:
    """Returns the place to mark in this file for an axis name: its literal, or else an expression that passes it on.

    Args:
        view: the file.
        name: the axis name.
        site: the expression that gives it.
        fallback: the argument in this file that passed it, if the expression is elsewhere.
    """
    if not view.is_here(site):
        return fallback if view.is_here(fallback) else None
    if name.origin is not None and view.is_here(name.origin) and view.span(site).contains(view.span(name.origin)):
        return name.origin
    if name.origin is not None and view.is_here(name.origin) and not _REFERENCE.fullmatch(view.text(site)):
        # The expression looks the name up in a table or computes it from several, so it has to be changed there.
        return name.origin
    through = name.via is not None and view.is_here(name.via) and view.text(site).isidentifier()
    return name.via if through else site


def written_elsewhere(view: FileView, marked: Site, place: Site | None, text: str) -> tuple[Related, ...]:
    """Returns the place where something is written that reaches the marked expression; nothing if it is part of it."""
    if place is None or (place.path == marked.path and view.span(marked).contains(view.span(place))):
        return ()
    return (Related(view.path_of(place), view.span(place), text),)


def mesh_place(view: FileView, mesh: Value | None) -> tuple[Related, ...]:
    """Returns the place that created a mesh, for findings about it."""
    if not isinstance(mesh, Mesh):
        return ()
    names = mesh_axes(mesh)
    text = f"the mesh with {_axes(names)} is made here" if names else "the mesh is made here"
    return (Related(view.path_of(mesh.site), view.span(mesh.site), text),)


def _axes(names: tuple[str, ...]) -> str:
    return f"axis {quoted(names)}" if len(names) == 1 else f"axes {quoted(names)}"


def argument_of(args: tuple[Arg, ...], name: str, index: int) -> Arg | None:
    """Returns an argument by keyword or position; None after a splat."""
    for place, arg in enumerate(args):
        if arg.label == "*":
            return None
        if arg.label == name or (arg.label is None and place == index):
            return arg
    return None
