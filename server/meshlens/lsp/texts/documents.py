"""Open texts: files, notebook cells, and texts without a file."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from meshlens.text import Edit, LineIndex, Span

_LONGEST_URI = 1 << 14
_LONGEST_PATH = 4095
_LONGEST_NAME = 255
_KEPT = 80

NOWHERE = Path("/untitled") if os.sep == "/" else Path("C:/untitled")
"""The folder in which a workspace places documents without a file; nothing is read or written there."""


@dataclass(frozen=True, slots=True)
class Document:
    """One open text.

    Attributes:
        uri: as spelled by the client.
        version: the client's version number; None if the client does not count versions.
        path: the file that contains this text.
        text: the text, as UTF-8.
        lines: its lines and columns.
        base: the start of the text in the file's source: 0, or the offset of a notebook cell.
        notebook: the URI of the notebook that it is a cell of.
    """

    uri: str
    version: int | None
    path: Path
    text: bytes
    lines: LineIndex
    base: int = 0
    notebook: str | None = None

    def changed(self, version: int | None, edits: Sequence[Edit]) -> Document:
        """Returns the document after successive edits."""
        text, lines = self.text, self.lines
        for edit in edits:
            text = b"".join((text[: edit.span.start], edit.text.encode("utf-8", "replace"), text[edit.span.end :]))
            lines = lines.edited(edit, text)
        return replace(self, version=version, text=text, lines=lines)


def opened(uri: str, version: int | None, text: str, notebook: str | None = None) -> Document:
    """Returns a document as the client opens it."""
    raw = text.encode("utf-8", "replace")
    return Document(uri, version, path_of(notebook or uri), raw, LineIndex(raw), 0, notebook)


def edits_of(document: Document, changes: Sequence[Mapping[str, Any]], encoding: str) -> tuple[Document, list[Edit]]:
    """Returns a document after the changes of a `didChange`, and the changes as successive edits.

    Args:
        document: the document before the changes.
        changes: as the client sends them: each with a range, or the whole text.
        encoding: the unit of the client's columns.
    """
    edits: list[Edit] = []
    for change in changes:
        text = str(change.get("text", ""))
        span = _span(document.lines, change["range"], encoding) if change.get("range") else Span(0, len(document.text))
        edit = Edit(span, text)
        edits.append(edit)
        document = document.changed(document.version, [edit])
    return document, edits


def _span(lines: LineIndex, given: Mapping[str, Any], encoding: str) -> Span:
    start, end = (lines.offset(given[side]["line"], given[side]["character"], encoding) for side in ("start", "end"))
    return Span(min(start, end), max(start, end))


def path_of(uri: str) -> Path:
    """Returns the file that a URI names; for other schemes, a path in `NOWHERE`."""
    scheme = uri.partition(":")[0].lower() if len(uri) > _LONGEST_URI else urlsplit(uri).scheme
    if scheme != "file" or len(uri) > _LONGEST_URI:
        return _nowhere(scheme, unquote(uri.split(":", 1)[-1]).strip("/"))
    parts = urlsplit(uri)
    path = unquote(parts.path)
    if os.sep == "\\" and len(path) > 2 and path[0] == "/" and path[2] == ":":
        path = path[1:]
    if parts.netloc and parts.netloc != "localhost":
        path = f"//{parts.netloc}{path}"
    path = os.path.normpath(path)
    if not _can_be_a_file(path):
        # Each operation on such a path would fail in a different way.
        return _nowhere(scheme, path.strip(os.sep))
    return Path(path)


def _nowhere(scheme: str, text: str) -> Path:
    """Returns the path of a document without a file; long names are shortened and made unique by a digest."""
    name = quote(text, safe="") or "text"
    suffix = "" if name.endswith((".py", ".ipynb", ".pyi")) else ".py"
    if len(name) + len(suffix) > _LONGEST_NAME:
        ending = next((ending for ending in (".ipynb", ".pyi") if name.endswith(ending)), ".py")
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        name, suffix = f"{name[:_KEPT]}-{digest}", ending
    folder = scheme if re.fullmatch(r"[\w+.-]{1,64}", scheme) and scheme.strip(".") else "text"
    return NOWHERE / folder / f"{name}{suffix}"


def _can_be_a_file(path: str) -> bool:
    """Returns whether the system allows a file with this name."""
    try:
        raw = os.fsencode(path)
    except UnicodeEncodeError:
        return False
    names = raw.split(os.fsencode(os.sep))
    return b"\0" not in raw and len(raw) <= _LONGEST_PATH and max(map(len, names)) <= _LONGEST_NAME


def uri_of(path: Path) -> str:
    """Returns the URI of a file."""
    return path.as_uri()


def is_nowhere(path: Path) -> bool:
    """Returns whether a document has no file."""
    return path.is_relative_to(NOWHERE)
