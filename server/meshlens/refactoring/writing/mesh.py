"""The mesh that replaces the devices of a pmap."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import literal_name
from meshlens.facts.nodes import Assign, FunctionDef, Name
from meshlens.project.trees import Node, path_to, suite_of
from meshlens.project.view import FileView
from meshlens.project.writing.literals import is_string
from meshlens.refactoring.maps.pmap import Obstacle, Pmap, rows
from meshlens.refactoring.writing.placing import Place
from meshlens.refactoring.writing.spelling import Spelling, fresh
from meshlens.text import Edit, FileEdit, Span

_NAMES = ("batch", "devices", "mapped")


def axis_text(view: FileView, pmap: Pmap, place: Place | None) -> str:
    """Returns the source of a pmap's axis name, valid at the pmap and at another place; a new one if the pmap has none.

    Raises:
        Obstacle: the axis name is not a string, or its variable has another meaning at that place.
    """
    arg = pmap.given("axis_name")
    if arg is None:
        return f'"{_fresh_axis(view)}"'
    name, text = literal_name(arg.value), view.text(arg.site) if arg.site is not None else ""
    if is_string(text) and name is not None:
        return text
    if place is not None and not place.same_scope:
        if name is None:
            raise Obstacle("unknown-axis-name", "the axis name is unknown here")
        return f'"{name}"'
    if all(part.isidentifier() for part in text.split(".")):
        return text
    if name is None:
        raise Obstacle("unknown-axis-name", "the axis name is unknown here")
    return f'"{name}"'


def mesh_text(view: FileView, pmap: Pmap, axis: str, spelling: Spelling) -> str:
    """Returns code such as `Mesh(np.array(jax.devices()), ("batch",))`.

    Raises:
        Obstacle: no single mesh fits all calls.
    """
    return f"{spelling.mesh()}({spelling.numpy('array')}({_devices(view, pmap, spelling)}), ({axis},))"


def mesh_name(view: FileView, text: str, site: Site, place: Place) -> tuple[str, tuple[FileEdit, ...]]:
    """Returns the name of a mesh at a place, either existing or new with the edit that creates it.

    Args:
        view: the file.
        text: the expression of the mesh.
        site: where it is used.
        place: where a statement can create it.
    """
    for span, name in _assigned(view, site):
        if span.end <= place.at and view.source[span.start : span.end].decode("utf-8", "replace") == f"{name} = {text}":
            return name, ()
    for at, name in _drafted(view, site, text):
        if at <= place.at:
            return name, ()
    name = fresh(view, "mesh", "device_mesh", "pmap_mesh", inside=_function_around(view, site, place.at))
    edit = Edit(Span(place.at, place.at), place.text(f"{name} = {text}"))
    return name, (FileEdit(view.path, edit),)


def _function_around(view: FileView, site: Site, at: int) -> Span | None:
    """Returns the innermost function around both a site and an earlier place; a new name must be unused only in it."""
    spans = [
        view.span(Site(site.path, site.block, node.site))
        for node in path_to(view, site)
        if isinstance(node, FunctionDef)
    ]
    return next((span for span in reversed(spans) if span.start < at < span.end), None)


def _assigned(view: FileView, site: Site) -> Iterator[tuple[Span, str]]:
    """Yields the assignments that certainly ran before a site, with their names."""
    for span, shape in _run_before(view, site):
        if isinstance(shape, Assign) and len(shape.targets) == 1 and isinstance(shape.targets[0], Name):
            yield span, shape.targets[0].name


def _drafted(view: FileView, site: Site, text: str) -> Iterator[tuple[int, str]]:
    """Yields the planned assignments of an expression that will certainly run before a site, with offsets and names."""
    assigned = re.compile(rf"^\s*(\w+) = {re.escape(text)}$", re.MULTILINE)
    inserted = [(span.start, new) for span, new in view.draft.edits if span.start == span.end]
    found = [(at, match[1]) for at, new in inserted for match in assigned.finditer(new)]
    if found:
        starts = {span.start for span, _ in _run_before(view, site)}
        yield from (one for one in found if one[0] in starts)


def _run_before(view: FileView, site: Site) -> Iterator[tuple[Span, Node]]:
    """Yields the top-level statements, and the statements before or around a site in its blocks."""
    for key, statement in zip(view.facts.top, view.facts.statements, strict=True):
        yield view.facts.blocks[key].span(0), statement
    path = path_to(view, site)
    for parent, child in pairwise(path):
        for statement in suite_of(parent, child):
            yield view.span(Site(site.path, site.block, statement.site)), statement
            if statement is child:
                break


def _devices(view: FileView, pmap: Pmap, spelling: Spelling) -> str:
    given = pmap.given("devices")
    if given is not None and given.site is not None:
        return view.text(given.site)
    backend, size = pmap.given("backend"), pmap.given("axis_size")
    backend_text = view.text(backend.site) if backend is not None and backend.site is not None else ""
    devices = f"{spelling.of('jax', 'devices')}({backend_text})"
    if size is not None and size.site is not None:
        return f"{devices}[:{view.text(size.site)}]"
    sizes = sorted(rows(pmap))
    if len(sizes) > 1:
        many = " and ".join(map(str, sizes))
        raise Obstacle("several-sizes", f"this pmap is called with {many} rows, but a mesh has a fixed size")
    if sizes and sizes[0] != view.device_count:
        return f"{devices}[:{sizes[0]}]"
    return devices


def _fresh_axis(view: FileView) -> str:
    """Returns a name that no collective uses; an existing mesh may have it, so that unnamed maps can share a mesh."""
    every = view.solution.by_file.values()
    taken = {literal_name(use.name) for records in every for use in records.uses}
    for records in every:
        for one in records.bindings:
            if one.binder.kind != "shard_map":
                taken.update(name.value for name in one.binder.names)
    return next((name for name in _NAMES if name not in taken), f"{_NAMES[0]}_of_pmap")
