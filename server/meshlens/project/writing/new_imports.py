"""A file's spelling of a name that it does not define, and the import to add if necessary."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from meshlens.facts import nodes as shapes
from meshlens.facts.model import Block, Shape
from meshlens.facts.nodes import Constant, ExpressionStatement, ImportFrom
from meshlens.project.view import FileView
from meshlens.project.writing.drafts import Import, is_written_in
from meshlens.project.writing.import_statements import name_of_module
from meshlens.text import Edit, FileEdit, Span

_HEAD = re.compile(rb"(?:#[^\n]*\n)*#[^\n]*(?=\r?\n\r?\n)|#![^\n]*")


def spelled_or_imported(view: FileView, module: str, name: str) -> tuple[str, tuple[FileEdit, ...]]:
    """Returns a file's spelling of `module.name`, and the edit that imports the module if necessary.

    Args:
        view: the file.
        module: a module, such as "functools".
        name: the name in it.
    """
    spelling, needed = spelled(view, module, name)
    return spelling, import_edits(view, needed)


def spelled(view: FileView, module: str, name: str, before: int | None = None) -> tuple[str, tuple[Import, ...]]:
    """Returns a file's spelling of `module.name`, and the import that it needs.

    Args:
        view: the file.
        module: a module, such as "functools".
        name: the name in it, possibly dotted.
        before: the offset from which imports are too late; None if there is no limit.
    """
    own = name_of_module(view, f"{module}.{name}", before)
    if own is not None:
        return own, ()
    known = name_of_module(view, module, before)
    if known is not None:
        return f"{known}.{name}", ()
    return f"{module}.{name}", (Import(module, before=before),)


def late_import(view: FileView, at: int) -> int | None:
    """Returns the offset of the first top-level import that is too late for the statement at an offset."""
    top = [view.facts.blocks[key] for key in view.facts.top]
    starts = [block.span(0).start for block in top if block.span(0).start <= at]
    first = starts[-1] if starts else 0
    late = (block.span(0).start for block in top if isinstance(block.shape, (shapes.Import, ImportFrom)))
    return next((start for start in late if start > first), None)


def is_written(view: FileView, name: str) -> bool:
    """Returns whether a name occurs anywhere in a file, in which case a new name should differ."""
    return is_written_in(view.source, name) or view.draft.has(name)


def import_edits(view: FileView, needed: Iterable[Import]) -> tuple[FileEdit, ...]:
    """Returns edits that insert imports in sorted order among the top-level ones, in the file's sections."""
    merged: dict[tuple[str, str | None, bool], Import] = {}
    for one in needed:
        key = (one.module, one.alias, bool(one.names))
        known = merged.get(key)
        names = tuple(dict.fromkeys((*known.names, *one.names))) if known is not None else one.names
        offsets = [each.before for each in (known, one) if each is not None and each.before is not None]
        merged[key] = one._replace(names=names, before=min(offsets, default=None))
    lines = merged.values() if _combines(view) else [line for one in merged.values() for line in _apart(one)]
    places: dict[int, list[tuple[Import, str]]] = {}
    for one in sorted(lines, key=_order):
        at, text = _place(view, one)
        places.setdefault(at, []).append((one, text))
    return tuple(FileEdit(view.path, Edit(Span(at, at), _joined(placed))) for at, placed in places.items())


def _combines(view: FileView) -> bool:
    """Returns whether a file has an import statement that combines an alias with other names."""
    return any(
        isinstance(shape, ImportFrom) and len(shape.names) > 1 and any(one.alias for one in shape.names)
        for shape in view.facts.statements
    )


def _apart(one: Import) -> list[Import]:
    """Returns the statements that isort and Ruff split an import into: one for each alias, and one for the rest."""
    plain = tuple(name for name in one.names if " as " not in name)
    aliased = [one._replace(names=(name,)) for name in one.names if " as " in name]
    return [*([one._replace(names=plain)] if plain or not aliased else []), *aliased]


def _joined(placed: list[tuple[Import, str]]) -> str:
    """Returns the lines of imports for one place, with a blank line between sections."""
    (last, text), *others = placed
    joined, ending = text.rstrip("\n"), text[len(text.rstrip("\n")) :]
    for one, text in others:
        between = "\n" if _section(one.module) == _section(last.module) else "\n\n"
        joined, ending = joined + between + text.strip("\n"), text[len(text.rstrip("\n")) :]
        last = one
    return joined + ending


def _place(view: FileView, new: Import) -> tuple[int, str]:
    every = [view.facts.blocks[key] for key in view.facts.top]
    blocks = [block for block in every if new.before is None or block.span(0).start < new.before]
    imports = [block for block in blocks if isinstance(block.header, (shapes.Import, ImportFrom))]
    later = [block for block in imports if _module(block.shape) != "__future__"]
    if not later:
        at = end_of_line(view, imports[-1].span(0).end) if imports else _behind_docstring(view, blocks)
        return at, f"\n\n{new.text}" if at else f"{new.text}\n\n"
    same = [block for block in later if _section(_module(block.shape)) == _section(new.module)]
    behind = next((block for block in later if _order_of(block.shape) > _order(new)), None)
    if behind is None:
        return end_of_line(view, later[-1].span(0).end), f"\n{new.text}" if same else f"\n\n{new.text}"
    if same and _section(_module(behind.shape)) != _section(new.module):
        return end_of_line(view, same[-1].span(0).end), f"\n{new.text}"
    return _above_comments(view, behind.span(0).start), f"{new.text}\n" if same else f"{new.text}\n\n"


def end_of_line(view: FileView, end: int) -> int:
    """Returns the end of a statement's last line, including a comment or other statements on it."""
    while True:
        found = view.source.find(b"\n", end)
        at = found if found >= 0 else len(view.source)
        blocks = (view.facts.blocks[key] for key in view.facts.top)
        inside = next((block for block in blocks if at < block.end), None)
        inside = inside if inside is not None and inside.start < at else None
        if inside is None:
            return at - view.source.endswith(b"\r", 0, at)
        end = inside.end


def _above_comments(view: FileView, start: int) -> int:
    """Returns the start of an offset's line, or of the comment directly above it, unless the comment heads the file."""
    first = line = view.lines.line_of(start)
    while line and view.source[view.lines.starts[line - 1] : view.lines.starts[line]].lstrip().startswith(b"#"):
        line -= 1
    return view.lines.starts[line if line else first]


def _behind_docstring(view: FileView, blocks: list[Block]) -> int:
    first = blocks[0] if blocks else None
    if first is not None and isinstance(first.shape, ExpressionStatement) and isinstance(first.shape.value, Constant):
        return end_of_line(view, first.span(0).end)
    found = _HEAD.match(view.source)
    return found.end() if found is not None else 0


def _order(new: Import) -> tuple[int, bool, str]:
    return _section(new.module), bool(new.names), new.module


def _order_of(shape: Shape) -> tuple[int, bool, str]:
    module = _module(shape)
    return _section(module), isinstance(shape, ImportFrom), module


def _module(shape: Shape) -> str:
    if isinstance(shape, shapes.Import):
        return shape.names[0].name if shape.names else ""
    return "." * shape.level + shape.module if isinstance(shape, ImportFrom) else ""


def _section(module: str) -> int:
    """Returns the sort order of a module's section: the standard library, other packages, relative imports."""
    if module.startswith("."):
        return 2
    return 0 if module.split(".")[0] in sys.stdlib_module_names else 1
