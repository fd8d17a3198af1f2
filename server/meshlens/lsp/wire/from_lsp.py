"""Converts the protocol's positions and ranges to bytes of a file's source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meshlens.lsp.texts.documents import Document
from meshlens.text import Span


def offset_of(document: Document, position: Mapping[str, Any], encoding: str) -> int:
    """Returns the byte offset in the source of the document's file; positions past a line's end count as its end.

    Args:
        document: the document that contains the position.
        position: line and character, from 0.
        encoding: the unit of characters.
    """
    return document.base + document.lines.offset(int(position["line"]), int(position["character"]), encoding)


def span_of(document: Document, given: Mapping[str, Any], encoding: str) -> Span:
    """Returns the span in the source of the document's file; swaps a reversed range."""
    start, end = (offset_of(document, given[side], encoding) for side in ("start", "end"))
    return Span(min(start, end), max(start, end))
