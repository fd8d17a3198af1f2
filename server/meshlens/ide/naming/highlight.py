"""Highlights: the places in this file with the axis name under the cursor, and whether they bind or use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from meshlens.ide.naming.references import references
from meshlens.project.view import FileView
from meshlens.text import Span


@dataclass(frozen=True, slots=True, order=True)
class Highlight:
    """A highlighted place in the file.

    Attributes:
        span: the highlighted bytes.
        access: "write" if it binds the axis name, "read" if it uses it, "text" otherwise.
    """

    span: Span
    access: Literal["read", "write", "text"]


_ACCESS: dict[str, Literal["read", "write", "text"]] = {"binds": "write", "uses": "read", "names": "text"}


def highlights(view: FileView, offset: int) -> tuple[Highlight, ...]:
    """Returns the occurrences of the axis under the cursor in the view's own file, in order.

    Args:
        view: the file.
        offset: UTF-8 bytes from the start of the file.
    """
    return tuple(
        Highlight(place.span, _ACCESS[place.role]) for place in references(view, offset) if place.path == view.path
    )
