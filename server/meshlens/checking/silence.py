"""Adds a comment that silences a finding, at a place where Python reads it as a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.facts.extract import extract
from meshlens.project.view import FileView
from meshlens.text import Edit, Span, apply

_OURS = re.compile(rb"#\s*meshlens:\s*ignore\[(?P<names>[^\]]*)\]")
_LINES_TRIED = 50


def silencing(view: FileView, span: Span, name: str) -> Edit | None:
    """Returns an edit that makes a rule ignore a place; None if no comment can.

    Args:
        view: the file.
        span: the span of the finding.
        name: the rule's name.
    """
    line = view.lines.line_of(span.start)
    for edit in _candidates(view, line, name):
        found = extract(apply(view.source, [edit]))
        covers = any(name in one.codes and one.lines[0] <= line <= one.lines[1] for one in found.suppressions)
        if covers and len(found.broken) <= len(view.facts.broken):
            return edit
    return None


def _candidates(view: FileView, first: int, name: str) -> Iterator[Edit]:
    for line in range(first, min(first + _LINES_TRIED, len(view.lines.starts))):
        start, text = view.lines.starts[line], view.lines.line_text(line)
        known = _OURS.search(text)
        if known is not None:
            at = start + known.end("names")
            yield Edit(Span(at, at), f", {name}" if known["names"].strip() else name)
            continue
        at = start + len(text.rstrip())
        yield Edit(Span(at, at), f"  # meshlens: ignore[{name}]")
