"""A small project in an editor that is edited at random: the open texts, and the files on the disk."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.edit_ops import Change, random_edit
from meshlens.text import LineIndex
from raw_client import Server

ENCODING = "utf-16"
_UNDONE = 0.35
_REMEMBERED = 12


@dataclass
class Text:
    """An open text: a file, or a cell."""

    uri: str
    text: str
    version: int = 1
    past: list[tuple[str, list[Change]]] = field(default_factory=list)


@dataclass
class World:
    """A project and its editor.

    Attributes:
        server: the server that is told of the edits.
        root: the folder.
        files: the open files.
        book: the URI of the open notebook, if there is one; its cells in order.
        names: the files of the folder.
    """

    server: Server
    root: Path
    dice: random.Random
    files: dict[str, Text] = field(default_factory=dict)
    book: str | None = None
    cells: list[Text] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    book_version: int = 1
    made: int = 0

    def texts(self) -> list[Text]:
        """Returns the open texts."""
        return [*self.files.values(), *self.cells]

    def open(self, name: str) -> None:
        """Opens a file with its text on the disk."""
        uri = (self.root / name).as_uri()
        text = (self.root / name).read_bytes().decode()
        self.files[name] = Text(uri, text)
        self.server.open(uri, text)

    def open_book(self, name: str, cells: Sequence[str]) -> None:
        """Opens a notebook with cells."""
        self.book, self.book_version = (self.root / name).as_uri(), 1
        self.cells = [self._cell(text) for text in cells]
        params = {"notebookDocument": self.notebook(), "cellTextDocuments": [item(cell) for cell in self.cells]}
        self.server.notify("notebookDocument/didOpen", params)

    def notebook(self) -> dict[str, Any]:
        """Returns the open notebook as clients describe it."""
        return {
            "uri": self.book,
            "notebookType": "jupyter-notebook",
            "version": self.book_version,
            "cells": [{"kind": 2, "document": cell.uri} for cell in self.cells],
        }

    def _cell(self, text: str) -> Text:
        self.made += 1
        return Text(f"vscode-notebook-cell:{self.root / 'book.ipynb'}#c{self.made}", text)

    def step(self, others: Sequence[str]) -> str:
        """Makes one edit, or something else that happens in an editor; returns a description of it."""
        chance = self.dice.random()
        if chance < 0.02:
            return self._open_or_close()
        if chance < 0.03 and self.files:
            return self._save()
        if chance < 0.04:
            return self._written_by_others()
        if self.book is not None and chance < 0.1:
            return self._restructure(others)
        text = self.dice.choice(self.texts())
        if text.past and self.dice.random() < _UNDONE:
            before, changes = text.past.pop()
            self._send(text, changes)
            if text.text != before:
                # The text cannot be restored exactly if it had half a line end: no change expresses that.
                text.past.clear()
            return f"undo in {text.uri}"
        before = text.text
        back = self._send(text, random_edit(self.dice, before, others))
        text.past = [*text.past[-_REMEMBERED:], (before, back)]
        return f"edit in {text.uri}"

    def _send(self, text: Text, changes: Sequence[Change]) -> list[Change]:
        """Makes changes in a text and returns those that undo them."""
        content = []
        back: list[Change] = []
        now = text.text
        for change in (outside_line_ends(change, now) for change in changes):
            everything = change.start == 0 and change.end == len(now) and now
            where = {} if everything else {"range": ranged(now, change.start, change.end)}
            content.append({**where, "text": change.new})
            back.insert(0, change.undone(now))
            now = change.applied(now)
        text.text, text.version = now, text.version + 1
        self._tell(text, content)
        return back

    def _tell(self, text: Text, content: list[dict[str, Any]]) -> None:
        if text.uri.startswith("file:"):
            self.server.change(text.uri, text.version, *content)
            return
        self.book_version += 1
        one = {"document": {"uri": text.uri, "version": text.version}, "changes": content}
        self._tell_book({"cells": {"textContent": [one]}})

    def _tell_book(self, change: Any) -> None:
        book = {"uri": self.book, "version": self.book_version}
        self.server.notify("notebookDocument/didChange", {"notebookDocument": book, "change": change})

    def _restructure(self, others: Sequence[str]) -> str:
        self.book_version += 1
        at = self.dice.randint(0, len(self.cells))
        gone = self.cells[at : at + self.dice.choice((0, 0, 1, 2))]
        moved = gone[:1] if gone and self.dice.random() < 0.4 else []
        new = [] if moved else [self._cell(self.dice.choice(others)) for _ in range(self.dice.choice((0, 1, 2)))]
        if moved:
            self._splice(at, len(gone), [], [], gone[1:])
            at = self.dice.randint(0, len(self.cells))
            self.book_version += 1
            self._splice(at, 0, moved, [], [])
        else:
            self._splice(at, len(gone), new, new, gone)
        return f"cells {at}: {len(gone)} gone, {len(new)} new, {len(moved)} moved"

    def _splice(self, at: int, count: int, come: list[Text], opened: list[Text], closed: list[Text]) -> None:
        self.cells[at : at + count] = come
        array = {"start": at, "deleteCount": count, "cells": [{"kind": 2, "document": cell.uri} for cell in come]}
        structure = {
            "array": array,
            "didOpen": [item(cell) for cell in opened],
            "didClose": [{"uri": cell.uri} for cell in closed],
        }
        self._tell_book({"cells": {"structure": structure}})

    def _open_or_close(self) -> str:
        name = self.dice.choice(self.names)
        if name not in self.files:
            self.open(name)
            return f"open {name}"
        if len(self.files) > 1:
            gone = self.files.pop(name)
            self.server.notify("textDocument/didClose", {"textDocument": {"uri": gone.uri}})
            return f"close {name}"
        return "nothing"

    def _save(self) -> str:
        name = self.dice.choice(list(self.files))
        self._write(name, self.files[name].text)
        self.server.notify("textDocument/didSave", {"textDocument": {"uri": self.files[name].uri}})
        self._tell_changed(name)
        return f"save {name}"

    def _written_by_others(self) -> str:
        name = self.dice.choice(self.names)
        text = (self.root / name).read_bytes().decode()
        for change in random_edit(self.dice, text, [text]):
            text = change.applied(text)
        self._write(name, text)
        self._tell_changed(name)
        return f"{name} written by others"

    def _write(self, name: str, text: str) -> None:
        (self.root / name).write_bytes(text.encode())

    def _tell_changed(self, name: str) -> None:
        change = {"uri": (self.root / name).as_uri(), "type": 2}
        self.server.notify("workspace/didChangeWatchedFiles", {"changes": [change]})

    def close(self) -> None:
        """Closes everything."""
        for text in self.files.values():
            self.server.notify("textDocument/didClose", {"textDocument": {"uri": text.uri}})
        if self.book is not None:
            cells = [{"uri": cell.uri} for cell in self.cells]
            params = {"notebookDocument": {"uri": self.book}, "cellTextDocuments": cells}
            self.server.notify("notebookDocument/didClose", params)

    def state(self) -> dict[str, str]:
        """Returns the texts of the project now: the cells, the open files, and the rest as on the disk."""
        texts = {name: (self.root / name).read_bytes().decode() for name in self.names}
        texts |= {name: text.text for name, text in self.files.items()}
        if self.book is not None:
            texts["book.ipynb"] = notebook_json([cell.text for cell in self.cells]).decode()
        return texts

    def place(self) -> tuple[Text, dict[str, int]]:
        """Returns a random place in an open text."""
        text = self.dice.choice(self.texts())
        at = self.dice.randint(0, len(text.text))
        return text, ranged(text.text, at, at)["start"]


def item(text: Text) -> dict[str, Any]:
    """Returns a text as clients open it."""
    return {"uri": text.uri, "languageId": "python", "version": text.version, "text": text.text}


def outside_line_ends(change: Change, text: str) -> Change:
    """Returns the change with no end between the two characters of a line end, which is not a valid position."""
    start, end = (at - 1 if text[at - 1 : at + 1] == "\r\n" else at for at in (change.start, change.end))
    return Change(start, max(start, end), change.new)


def ranged(text: str, start: int, end: int) -> dict[str, Any]:
    """Returns characters of a text as a range."""
    lines = LineIndex(text.encode())
    places = [lines.position(len(text[:at].encode()), ENCODING) for at in (start, end)]
    return dict(zip(("start", "end"), ({"line": line, "character": column} for line, column in places), strict=True))


def notebook_json(cells: Sequence[str]) -> bytes:
    """Returns the bytes of a notebook file."""
    return json.dumps({"cells": [{"cell_type": "code", "source": text} for text in cells]}).encode()
