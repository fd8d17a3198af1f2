"""`textDocument/definition`: from an axis name to its binder."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from meshlens.foreign_files import Unread
from meshlens.ide.naming.definition import definition as places_of
from meshlens.ide.naming.outside import outside_axis
from meshlens.lsp.session import Session, ranged
from meshlens.lsp.texts.documents import uri_of
from meshlens.lsp.to_lsp import location
from meshlens.project.disk.python_text import read_source
from meshlens.text import LineIndex

Places = list[dict[str, Any]] | None


def definition(session: Session, params: dict[str, Any]) -> Places | Awaitable[Places]:
    """Returns where the axis name is bound, or defined in an installed package; None if there is no axis name."""
    here = session.at(params)
    if here is None:
        return None
    document, view, offset = here
    found = [location(session, place.path, place.span) for place in places_of(view, offset)]
    if found:
        return [one for one in found if one is not None] or None
    axis = outside_axis(view, offset)
    if axis is None or session.indexing is None:
        return None
    return _outside(session, session.folder_of(document.path).root, axis.dotted)


async def _outside(session: Session, root: Path, dotted: str) -> Places:
    found = await session.indexing.look_up(root, dotted)
    if found is None:
        return None
    text = read_source(found.path)
    if isinstance(text, Unread):
        return None
    lines = LineIndex(text)
    return [{"uri": uri_of(found.path), "range": ranged(lines, found.span, session.client.encoding)}]
