"""The workspace files that a file imports at its top level, and how it spells them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Import, ImportFrom
from meshlens.project.view import FileView


@dataclass(frozen=True, slots=True)
class Imported:
    """A workspace file that a top-level import statement names.

    Attributes:
        path: the file.
        module: the module after `import` or `from`, including dots.
        name: the file's name for the module itself; None if the file imports names from the module.
        first: the site of the first imported name; None for a star import or for the module itself.
    """

    path: str
    module: str
    name: str | None
    first: Site | None = None


def imported_by(view: FileView, path: str) -> Iterator[Imported]:
    """Yields the files that a file imports, in order."""
    facts, index = view.solution.facts[path], view.solution.index
    for key in facts.top:
        shape = facts.blocks[key].shape
        if isinstance(shape, Import):
            for dotted, alias, _ in shape.names:
                found = index.locate(path, 0, dotted)
                if found is not None and found.path is not None:
                    yield Imported(found.path, dotted, alias or dotted)
        elif isinstance(shape, ImportFrom):
            written = "." * shape.level + shape.module
            module = index.locate(path, shape.level, shape.module)
            if module is None:
                continue
            for text, alias, _ in shape.names:
                inner = index.submodule(module, text)
                if inner is not None and inner.path is not None:
                    gap = "" if written.endswith(".") else "."
                    yield Imported(inner.path, f"{written}{gap}{text}", alias or text)
                elif module.path is not None:
                    first = Site(path, key, shape.names[0].site) if text != "*" else None
                    yield Imported(module.path, written, None, first)


def reached_from(view: FileView, path: str) -> frozenset[str]:
    """Returns the files that a file imports, directly or through others."""
    found: set[str] = set()
    waiting = [path]
    while waiting:
        for one in imported_by(view, waiting.pop()):
            if one.path not in found and one.path in view.solution.facts:
                found.add(one.path)
                waiting.append(one.path)
    return frozenset(found)
