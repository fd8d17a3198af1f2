"""Adds an argument to an existing call, in the layout of the call."""

from __future__ import annotations

import re

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Call
from meshlens.project.trees import path_to
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span

_GAP = re.compile(rb"(?:\s|#[^\n]*\n|\\\n)*")


def with_argument(view: FileView, call: Site, text: str) -> FileEdit | None:
    """Returns the edit that appends an argument to a call; None if there is no call.

    Args:
        view: a file of the workspace.
        call: the call, in that file or another.
        text: the source of the argument.
    """
    path = path_to(view, call)
    node = path[-1] if path else None
    if not isinstance(node, Call):
        return None
    source, end = view.texts[call.path], view.span(call).end - 1
    arguments = [view.span(Site(call.path, call.block, argument.site)) for argument in node.arguments]
    if not arguments:
        return FileEdit(view.path_of(call), Edit(Span(end, end), text))
    last = max(arguments)
    at = _behind(source, last.end, end)
    line = source.rfind(b"\n", 0, last.start) + 1
    head = source[line : last.start]
    stop = source.find(b"\n", at)
    rest = source[at:stop].strip() if at < stop < end else b"#"
    gap = f"\n{head.decode()}" if not head.strip() and rest in (b"", b",") else " "
    return FileEdit(view.path_of(call), Edit(Span(at, at), f",{gap}{text}"))


def _behind(source: bytes, at: int, end: int) -> int:
    """Returns the offset after an argument and any parentheses that enclose only this argument."""
    while True:
        found = _GAP.match(source, at)
        place = found.end() if found is not None else at
        if place >= end or source[place : place + 1] != b")":
            return at
        at = place + 1
