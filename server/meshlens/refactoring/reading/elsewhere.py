"""Calls to a function in other files of the workspace, and how those files refer to the function's module."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Attribute, ImportFrom, Name
from meshlens.project.trees import Node
from meshlens.project.view import FileView
from meshlens.project.writing.drafts import Import
from meshlens.project.writing.new_imports import import_edits, is_written
from meshlens.refactoring.reading.host_calls import Callee, HostCall, followed
from meshlens.refactoring.reading.importing import imported_by
from meshlens.refactoring.reading.mentions import attributes_called, bound_at_top, bound_inside, mentions_of
from meshlens.refactoring.reading.scopes import home_of
from meshlens.refactoring.reading.siblings import view_of
from meshlens.refactoring.writing.spelling import fresh
from meshlens.refactoring.writing.writing import width_of
from meshlens.text import Edit, FileEdit, Span


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another file that calls a function.

    Attributes:
        view: the file.
        calls: the calls to the function from plain Python in this file.
        module: the module as the file imports it.
        prefix: the prefix of the module's names; \"\" if the file imports the names themselves.
        block: the block of the statement that imports the function by name; \"\" if none does.
    """

    view: FileView
    calls: tuple[HostCall, ...]
    module: str
    prefix: str
    block: str = ""


def called_elsewhere(view: FileView, callee: Callee) -> tuple[Elsewhere, ...]:
    """Returns the other workspace files that call a top-level function, in order."""
    at = callee.target.at(callee.target.node.site) if callee.target is not None else callee.site
    is_method = callee.target is not None and callee.target.is_method
    if is_method or home_of(view, at) is not None:
        return ()
    found: list[Elsewhere] = []
    for path in sorted(view.texts):
        if path != str(view.path) and callee.name.encode() in view.texts[path] and path in view.solution.facts:
            found += _in_file(view, view_of(view, path), callee.name)
    return tuple(one for one in found if one.calls)


def spelled_elsewhere(place: Elsewhere, names: Iterable[str]) -> tuple[dict[str, str], tuple[FileEdit, ...]]:
    """Returns how another file spells names of the module, and the edits that import the missing ones."""
    view = place.view
    if place.prefix:
        return {name: f"{place.prefix}.{name}" for name in names}, ()
    spelled: dict[str, str] = {}
    missing: list[str] = []
    for name in names:
        if bound_at_top(view, name) and _is_imported(view, name):
            spelled[name] = name
        else:
            spelled[name] = fresh(view, name) if is_written(view, name) else name
            missing.append(name if spelled[name] == name else f"{name} as {spelled[name]}")
    if not missing:
        return spelled, ()
    edits = _into_statement(view, place.block, missing)
    return spelled, edits or import_edits(view, [Import(place.module, tuple(missing))])


def _in_file(view: FileView, other: FileView, name: str) -> Iterator[Elsewhere]:
    """Yields the ways in which another file refers to a function."""
    for key in other.facts.top:
        shape = other.facts.blocks[key].shape
        if not isinstance(shape, ImportFrom):
            continue
        module = other.solution.index.locate(str(other.path), shape.level, shape.module)
        if module is None or module.path != str(view.path):
            continue
        for text, alias, _ in shape.names:
            own = alias or text
            if text == name and bound_at_top(other, own) == 1:
                inside = bound_inside(other, own)
                sites = [one.site for one in mentions_of(other, own) if one.root not in inside]
                yield Elsewhere(other, followed(other, sites), "." * shape.level + shape.module, "", key)
    for one in imported_by(other, str(other.path)):
        if one.path == str(view.path) and one.name is not None:
            sites = [
                mention.site for mention in attributes_called(other, name) if _dotted(mention.node.object) == one.name
            ]
            yield Elsewhere(other, followed(other, sites), one.module, one.name)


def _dotted(node: Node) -> str:
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Attribute):
        inner = _dotted(node.object)
        return f"{inner}.{node.name}" if inner else ""
    return ""


def _is_imported(view: FileView, name: str) -> bool:
    return any(
        isinstance(shape, ImportFrom) and any((alias or text) == name for text, alias, _ in shape.names)
        for shape in view.facts.statements
    )


def _into_statement(view: FileView, key: str, names: list[str]) -> tuple[FileEdit, ...]:
    """Returns the edits that insert names in order into an import statement; none if the line would get too long."""
    block = view.facts.blocks[key]
    imported = block.shape.names if isinstance(block.shape, ImportFrom) else ()
    span = block.span(0)
    line = view.source[span.start : span.end]
    if b"\n" in line or b"(" in line or len(line) + sum(len(name) + 2 for name in names) > width_of(view):
        return ()
    texts: dict[int, str] = {}
    every = [(text, view.span(Site(str(view.path), key, site)).start) for text, _, site in imported]
    for name in sorted(names):
        after = next((start for text, start in every if (text.lower(), text) > (name.lower(), name)), None)
        if after is None:
            texts[span.end] = texts.get(span.end, "") + f", {name}"
        else:
            texts[after] = texts.get(after, "") + f"{name}, "
    return tuple(FileEdit(view.path, Edit(Span(at, at), text)) for at, text in texts.items())
