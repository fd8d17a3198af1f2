"""Other files of the workspace: their views, and the functions that imports refer to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from meshlens.facts.nodes import Attribute, Call, ImportFrom, Name, last_name
from meshlens.project.trees import Node, nodes_of_block
from meshlens.project.view import FileView
from meshlens.project.writing.drafts import NO_DRAFT
from meshlens.refactoring.reading.functions import Target, functions_called
from meshlens.refactoring.reading.importing import imported_by
from meshlens.refactoring.reading.scopes import home_of
from meshlens.text import LineIndex


def view_of(view: FileView, path: str) -> FileView:
    """Returns the view of another file of the same workspace."""
    if path == str(view.path):
        return view
    source = view.texts[path]
    facts = view.solution.facts[path]
    return replace(view, path=Path(path), source=source, lines=LineIndex(source), facts=facts, draft=NO_DRAFT)


def imported_function(view: FileView, callee: Node) -> tuple[FileView, Target] | None:
    """Returns the function of another workspace file that a name or an attribute of a module refers to."""
    if isinstance(callee, Name):
        found = _named(view, callee.name)
    elif isinstance(callee, Attribute):
        found = _of_module(view, callee)
    else:
        found = None
    if found is None:
        return None
    path, name = found
    other = view_of(view, path)
    functions = [one for one in functions_called(other, name) if not one.is_method]
    functions = [one for one in functions if home_of(other, one.at(one.node.site)) is None]
    return (other, functions[0]) if len(functions) == 1 else None


def imported_value(view: FileView, name: str) -> tuple[str, str] | None:
    """Returns the workspace file that an imported name comes from, and its name there."""
    return _named(view, name)


def calls_elsewhere(view: FileView, name: str) -> Iterator[tuple[FileView, str, Call]]:
    """Yields the calls to a function in the other files of the workspace, with their views and blocks."""
    for path in view.solution.facts:
        if path == str(view.path) or name.encode() not in view.texts.get(path, b""):
            continue
        other = view_of(view, path)
        for key in other.facts.blocks:
            for node in nodes_of_block(other, path, key):
                if not isinstance(node, Call) or last_name(node.callee) != name:
                    continue
                found = imported_function(other, node.callee)
                if found is not None and found[0].path == view.path:
                    yield other, key, node


def _named(view: FileView, name: str) -> tuple[str, str] | None:
    for key in view.facts.top:
        shape = view.facts.blocks[key].shape
        if not isinstance(shape, ImportFrom):
            continue
        for text, alias, _ in shape.names:
            if (alias or text) == name:
                module = view.solution.index.locate(str(view.path), shape.level, shape.module)
                path = module.path if module is not None else None
                return (path, text) if path is not None and path in view.solution.facts else None
    return None


def _of_module(view: FileView, callee: Attribute) -> tuple[str, str] | None:
    parts = [callee.name]
    inner = callee.object
    while isinstance(inner, Attribute):
        parts.append(inner.name)
        inner = inner.object
    if not isinstance(inner, Name):
        return None
    dotted = ".".join([inner.name, *reversed(parts[1:])])
    for one in imported_by(view, str(view.path)):
        if one.name == dotted and one.path in view.solution.facts:
            return one.path, parts[0]
    return None
