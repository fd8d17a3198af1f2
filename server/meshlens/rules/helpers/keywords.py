"""Adds a keyword argument to a call."""

from __future__ import annotations

from meshlens.axes.domain.values import Site
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span


def with_keyword(view: FileView, call: Site, argument: str) -> FileEdit | None:
    """Returns the edit that appends an argument to a call; None if the call ends in a comment or without parentheses.

    Args:
        view: the file.
        call: the call or the decorator.
        argument: such as "check_vma=False".
    """
    span = view.span(call)
    source = view.texts[call.path][span.start : span.end]
    if not source.endswith(b")"):
        return None
    inside = source[:-1].rstrip()
    if b"#" in inside.rpartition(b"\n")[2]:
        return None
    lead = "" if inside.endswith(b"(") else " " if inside.endswith(b",") else ", "
    at = span.start + len(inside)
    return FileEdit(view.path_of(call), Edit(Span(at, at), f"{lead}{argument}"))
