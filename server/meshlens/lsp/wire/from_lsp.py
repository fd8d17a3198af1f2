"""Positions and ranges of the protocol to bytes of a file's source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meshlens.lsp.texts.documents import Document
from meshlens.text import Span


def offset_of(document: Document, position: Mapping[str, Any], encoding: str) -> int:
    """The byte in the source of the document's file; past the end of a line is its end.

    Args:
        document: the text that the position speaks of.
        position: line and character, from 0.
        encoding: what characters count.
    """
    return document.base + document.lines.offset(int(position["line"]), int(position["character"]), encoding)


def span_of(document: Document, given: Mapping[str, Any], encoding: str) -> Span:
    """The bytes in the source of the document's file; a range that is upside down is turned."""
    start, end = (offset_of(document, given[side], encoding) for side in ("start", "end"))
    return Span(min(start, end), max(start, end))
