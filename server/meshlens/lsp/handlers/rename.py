"""`textDocument/prepareRename` and `textDocument/rename`: renames an axis in every file."""

from __future__ import annotations

from typing import Any

from meshlens.ide.naming.rename import Refused
from meshlens.lsp.beside.whole import ask_whole
from meshlens.lsp.session import Session
from meshlens.lsp.to_lsp import workspace_edit
from meshlens.lsp.wire.refusal import Refusal
from meshlens.text import FileEdit, LineIndex


async def prepare_rename(session: Session, params: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the range to rename; None if there is no axis name.

    Raises:
        Refusal: the name cannot be renamed everywhere.
    """
    here = session.at(params)
    if here is None:
        return None
    found = await ask_whole(session, "prepare rename", here[0].path, here[2])
    if isinstance(found, Refused):
        if not found.places:
            return None
        raise _refusal(session, found)
    if found is None:
        return None
    return {"range": session.range_in(here[0], found.span), "placeholder": found.name}


async def rename(session: Session, params: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the edits to all files as one workspace edit.

    Raises:
        Refusal: the rename would be incomplete, or would capture another name.
    """
    here = session.at(params)
    if here is None:
        return None
    document = here[0]
    found = await ask_whole(session, "rename", document.path, here[2], params["newName"])
    if isinstance(found, Refused):
        raise _refusal(session, found)
    if found is None:
        return None
    if any(_is_stale(session, edit, old) for edit, old in zip(found.edits, found.replaced, strict=True)):
        raise Refusal("a file has changed in the meantime; rename again")
    edit = workspace_edit(session, found.edits)
    if edit is None:
        raise Refusal("the axis is also named in a notebook that is not open; open it and rename again")
    return edit


def _is_stale(session: Session, edit: FileEdit, old: str) -> bool:
    """Returns whether a file, at the place to edit, differs from the text that the answering process read."""
    source = session.source(edit.path) or b""
    return source[edit.edit.span.start : edit.edit.span.end] != old.encode()


def _refusal(session: Session, refused: Refused) -> Refusal:
    """Returns the refusal to raise; its message names up to three obstacles by file and line."""
    said = []
    for place in refused.places[:3]:
        file = session.folder_of(place.path).workspace.files.get(str(place.path))
        line = f":{LineIndex(file.source).line_of(place.span.start) + 1}" if file is not None else ""
        said.append(f"{place.path.name}{line}")
    return Refusal(f"{refused.message} ({', '.join(said)})" if said else refused.message)
