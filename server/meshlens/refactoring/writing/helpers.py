"""Functions that an assist adds to a file once, for all places that need them."""

from __future__ import annotations

import re
from collections import Counter

from meshlens.project.view import FileView
from meshlens.refactoring.writing.placing import behind_imports
from meshlens.refactoring.writing.spelling import fresh
from meshlens.text import Edit, FileEdit, Span

_BLOCK = re.compile(rb"^(?:def|class|if|for|with|try|while)\b[^\n]*:[ \t]*\r?\n([ \t]+)(?=\S)", re.MULTILINE)


def with_helper(
    view: FileView, wanted: str, template: str, at: int | None = None, **names: str
) -> tuple[str, tuple[FileEdit, ...]]:
    """Returns a helper's name in a file, and the edit that adds it after the imports if it is missing.

    Args:
        view: the file.
        wanted: its preferred name.
        template: its source, with `{name}` for the name.
        at: where it is used; None if unknown.
        names: the values of the template's other fields.
    """
    template = _indented(view, template)
    for key in view.facts.top:
        if key.startswith(wanted):
            span = view.facts.blocks[key].span(0)
            text = view.source[span.start : span.end].decode("utf-8", "replace").replace("\r\n", "\n")
            if text.rstrip() == template.format(name=key, **names):
                return key, ()
    start, blank = behind_imports(view, at or 0)
    for edit in view.draft.edits:
        for name in re.findall(rf"^def ({wanted}\w*)\(", edit.text, re.MULTILINE):
            if template.format(name=name, **names) in edit.text:
                return name, ()
    name = fresh(view, wanted)
    text = template.format(name=name, **names)
    if not start:
        edit = Edit(Span(0, 0), f"{text}\n\n\n")
    else:
        edit = Edit(Span(start, start), f"\n\n\n{text}" + "\n" * max(2 - blank, 0))
    return name, (FileEdit(view.path, edit),)


def _indented(view: FileView, template: str) -> str:
    """Returns a template with the usual indentation of a file."""
    found = Counter(match[1] for match in _BLOCK.finditer(view.source))
    unit = found.most_common(1)[0][0].decode() if found else "    "
    lines = template.split("\n")
    depths = [(len(line) - len(line.lstrip())) // 4 for line in lines]
    return "\n".join(unit * depth + line.lstrip() for depth, line in zip(depths, lines, strict=True))
