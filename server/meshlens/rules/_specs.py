"""Specs and meshes as rules see them: the axis names of a spec with their places, the axes of a mesh."""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.values import Arg, Const, Dict, Made, Mesh, Seq, Site, Spec, Value
from meshlens.project.view import FileView
from meshlens.rules._model import Related
from meshlens.rules._places import quoted


def mesh_axes(mesh: Value | None) -> tuple[str, ...] | None:
    """The axis names of a mesh, None unless all of them are known."""
    if not isinstance(mesh, Mesh) or mesh.open or mesh.kind == "pallas":
        return None
    names = tuple(name.value for name in mesh.names if isinstance(name, Const) and isinstance(name.value, str))
    return names if len(names) == len(mesh.names) and names else None


def specs_in(value: Value) -> Iterator[Spec]:
    """Every spec of a tree of specs and shardings; where one of several is possible, none."""
    if isinstance(value, Spec):
        yield value
    elif isinstance(value, Seq):
        for item in value.items:
            yield from specs_in(item)
    elif isinstance(value, Dict):
        for _, item in value.items:
            yield from specs_in(item)


def spec_names(spec: Spec) -> Iterator[tuple[Const, Site]]:
    """The axis names of a spec, each with the place that says it."""
    for place, entry in enumerate(spec.entries):
        site = spec.sites[place] if place < len(spec.sites) else spec.site
        for name in entry.items if isinstance(entry, Seq) else (entry,):
            if isinstance(name, Const) and isinstance(name.value, str):
                yield name, site


def blamed(view: FileView, name: Const, site: Site, fallback: Site | None) -> Site | None:
    """The place of this file to underline for a name: its literal, where that stands in the expression itself.

    Args:
        view: the file.
        name: the axis name.
        site: the expression that gives it.
        fallback: the argument of this file through which it came, if the expression stands elsewhere.
    """
    if not view.is_here(site):
        return fallback if view.is_here(fallback) else None
    if name.origin is not None and view.is_here(name.origin) and view.span(site).contains(view.span(name.origin)):
        return name.origin
    through = name.via is not None and view.is_here(name.via) and view.text(site).isidentifier()
    return name.via if through else site


def mesh_place(view: FileView, mesh: Value | None) -> tuple[Related, ...]:
    """Where a mesh was made, for the findings that speak of it."""
    if not isinstance(mesh, Mesh):
        return ()
    names = mesh_axes(mesh)
    text = f"the mesh with {_axes(names)} is made here" if names else "the mesh is made here"
    return (Related(view.path_of(mesh.site), view.span(mesh.site), text),)


def _axes(names: tuple[str, ...]) -> str:
    return f"axis {quoted(names)}" if len(names) == 1 else f"axes {quoted(names)}"


def sharding_parts(value: Value) -> tuple[Value | None, Value | None]:
    """Mesh and spec of a `NamedSharding`."""
    if not isinstance(value, Made) or value.dotted != "jax.sharding.NamedSharding":
        return None, None
    given = dict(value.arguments)
    return given.get("mesh"), given.get("spec")


def argument_of(args: tuple[Arg, ...], name: str, index: int) -> Arg | None:
    """An argument by keyword or position; None behind a splat."""
    for place, arg in enumerate(args):
        if arg.label == "*":
            return None
        if arg.label == name or (arg.label is None and place == index):
            return arg
    return None
