"""How a file spells a name of Python's library, and the import to add where it cannot yet."""

from __future__ import annotations

import sys

from meshlens.facts.model import Shape
from meshlens.project.view import FileView
from meshlens.rules._imports import name_of_module
from meshlens.text import Edit, FileEdit, Span


def spelled_or_imported(view: FileView, module: str, name: str) -> tuple[str, tuple[FileEdit, ...]]:
    """What to write for `module.name` in a file, and the edit that imports the module where that is needed.

    Args:
        view: the file.
        module: a module of Python's library, such as "functools".
        name: what is wanted of it.
    """
    spelling = name_of_module(view, f"{module}.{name}")
    if spelling is not None:
        return spelling, ()
    known = name_of_module(view, module)
    if known is not None:
        return f"{known}.{name}", ()
    return f"{module}.{name}", (FileEdit(view.path, _insert(view, module)),)


def _insert(view: FileView, module: str) -> Edit:
    """Puts an import where it sorts among the imports of the top level."""
    blocks = [view.facts.blocks[key] for key in view.facts.top]
    imports = [block for block in blocks if block.shape[0] in ("import", "from")]
    later = [block for block in imports if _module(block.shape) != "__future__"]
    if not later:
        at = imports[-1].span(0).end if imports else 0
        return Edit(Span(at, at), f"\n\nimport {module}" if imports else f"import {module}\n\n")
    standard = [block for block in later if _is_standard(block.shape)]
    behind = next((block for block in later if not _is_standard(block.shape) or _module(block.shape) > module), None)
    if behind is None:
        at = later[-1].span(0).end
        return Edit(Span(at, at), f"\nimport {module}")
    start = view.lines.starts[view.lines.line_of(behind.span(0).start)]
    return Edit(Span(start, start), f"import {module}\n" if standard else f"import {module}\n\n")


def _module(shape: Shape) -> str:
    if shape[0] == "import":
        return str(shape[2][0][0]) if shape[2] else ""
    return "." * int(shape[2]) + str(shape[3])


def _is_standard(shape: Shape) -> bool:
    return str(_module(shape)).split(".")[0] in sys.stdlib_module_names
