"""References: the places in the whole workspace with the axis name under the cursor."""

from __future__ import annotations

from meshlens.ide.naming.occurrences import Occurrence, occurrences, symbols_under
from meshlens.project.view import FileView


def references(view: FileView, offset: int) -> tuple[Occurrence, ...]:
    """Returns all occurrences of the axis under the cursor, by file and place; none if there is no axis name.

    Args:
        view: the file.
        offset: UTF-8 bytes from the start of the file.
    """
    return tuple(sorted({place for symbol in symbols_under(view, offset) for place in occurrences(view, symbol)}))
