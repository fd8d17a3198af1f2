"""Notebooks, cell by cell and as one text: cells come, go, move and change their kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from meshlens.text import LineIndex
from raw_client import Server, served
from recorded_clients import CLIENTS, claiming, claims, first_of, recorded

KNOWS = "notebookDocument.synchronization"

SETUP = '%matplotlib inline\nimport jax\ntitle = "é🙂变量"\n'
STEP = 'title = "é🙂"; step = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")\n'
PYTHON, MARKUP = 2, 1


class Book:
    """An open notebook."""

    def __init__(self, server: Server, root: Path, *texts: str) -> None:
        self.server, self.path = server, root / "book.ipynb"
        self.uri, self.version, self.texts = self.path.as_uri(), 1, dict(enumerate(texts))
        cells = [{"kind": PYTHON, "document": self.cell(number)} for number in self.texts]
        book = {"uri": self.uri, "notebookType": "jupyter-notebook", "version": 1, "cells": cells}
        items = [self._item(number) for number in self.texts]
        server.notify("notebookDocument/didOpen", {"notebookDocument": book, "cellTextDocuments": items})

    def cell(self, number: int) -> str:
        """Returns the URI of a cell."""
        return f"vscode-notebook-cell:{self.path}#c{number}"

    def _item(self, number: int, language: str = "python") -> dict[str, Any]:
        return {"uri": self.cell(number), "languageId": language, "version": 1, "text": self.texts[number]}

    def change(self, cells: dict[str, Any]) -> None:
        """Reports a change of the cells."""
        self.version += 1
        book = {"uri": self.uri, "version": self.version}
        self.server.notify("notebookDocument/didChange", {"notebookDocument": book, "change": {"cells": cells}})

    def splice(self, start: int, gone: list[int], come: list[int], new: dict[int, str] | None = None) -> None:
        """Replaces cells; those that are new are opened, and those that do not come back are closed."""
        self.texts |= new or {}
        array = {
            "start": start,
            "deleteCount": len(gone),
            "cells": [{"kind": 2, "document": self.cell(n)} for n in come],
        }
        opened = [self._item(number) for number in new or ()]
        closed = [{"uri": self.cell(number)} for number in gone if number not in come]
        self.change({"structure": {"array": array, "didOpen": opened, "didClose": closed}})

    def found(self, number: int) -> list[tuple[str, str]]:
        """Returns the findings in a cell: their codes, and the text that is underlined."""
        lines = LineIndex(self.texts[number].encode())
        made = []
        for one in self.server.findings(self.cell(number)):
            ends = [lines.offset(one["range"][end]["line"], one["range"][end]["character"], "utf-16") for end in EDGES]
            made.append((one["code"], self.texts[number].encode()[ends[0] : ends[1]].decode()))
        return made

    def close(self) -> None:
        """Closes the notebook."""
        cells = [{"uri": self.cell(number)} for number in self.texts]
        self.server.notify(
            "notebookDocument/didClose", {"notebookDocument": {"uri": self.uri}, "cellTextDocuments": cells}
        )


EDGES = ("start", "end")


@pytest.fixture(scope="module", params=first_of(claiming(KNOWS, "textDocument.diagnostic")))
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yields one server per client for all notebooks."""
    with served(tmp_path_factory.mktemp("open"), recorded(request.param)["capabilities"]) as one:
        yield one
        assert "crashed" not in one.log and "Traceback" not in one.log


def test_cells_come_go_move_and_change_their_kind(server: Server, tmp_path: Path):
    book = Book(server, tmp_path, SETUP, STEP)
    wrong = [("AX101", '"bacth"')]
    assert (book.found(0), book.found(1)) == ([], wrong)
    book.splice(1, [], [2], {2: "!nvidia-smi\n# 🙂🙂\nx = 1"})
    assert (book.found(1), book.found(2)) == (wrong, [])
    book.splice(0, [0], [])
    assert book.found(1) == []
    book.splice(2, [], [3], {3: SETUP})
    assert book.found(1) == []
    book.splice(2, [3], [])
    book.splice(0, [], [4], {4: SETUP})
    assert book.found(1) == wrong
    book.change({"data": [{"kind": MARKUP, "document": book.cell(4)}]})
    assert book.found(1) == []
    book.change({"data": [{"kind": PYTHON, "document": book.cell(4)}]})
    assert book.found(1) == wrong
    at = STEP.index("bacth") + 1
    where = {"start": {"line": 0, "character": at}, "end": {"line": 0, "character": at + 5}}
    edit = {"document": {"uri": book.cell(1), "version": 2}, "changes": [{"range": where, "text": "batch"}]}
    book.change({"textContent": [edit]})
    book.texts[1] = STEP.replace("bacth", "batch")
    assert book.found(1) == []
    book.close()
    assert server.findings(book.cell(1)) == []


def test_a_fix_lies_in_its_cell(server: Server, tmp_path: Path):
    book = Book(server, tmp_path, SETUP, STEP)
    (found,) = server.findings(book.cell(1))
    params = {"textDocument": {"uri": book.cell(1)}, "range": found["range"], "context": {"diagnostics": []}}
    fix = server.request("codeAction/resolve", server.request("textDocument/codeAction", params)[0])
    (change,) = fix["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": book.cell(1), "version": 1}
    (edit,) = change["edits"]
    at = len(STEP[: STEP.index("bacth")].encode("utf-16-le")) // 2
    assert edit["newText"].strip("\"'") == "batch"
    assert edit["range"]["start"]["character"] in (at, at - 1)
    hover = {"textDocument": {"uri": book.cell(1)}, "position": {"line": 0, "character": at + 1}}
    assert server.request("textDocument/hover", hover) is not None
    assert server.request("textDocument/hover", {**hover, "textDocument": {"uri": book.cell(0)}}) is None
    book.close()


@pytest.mark.parametrize("client", first_of(CLIENTS))
def test_only_those_who_know_notebooks_are_offered_them(tmp_path: Path, client: str):
    server = Server(tmp_path)
    try:
        offered = server.initialize(tmp_path, recorded(client)["capabilities"])["capabilities"]
        assert ("notebookDocumentSync" in offered) == claims(client, KNOWS)
    finally:
        server.stop()


def test_the_names_of_other_cells_are_known(server: Server, tmp_path: Path):
    book = Book(
        server,
        tmp_path,
        SETUP + 'AXIS = "batch"\n',
        'title = "é🙂"; step = jax.pmap(lambda x: jax.lax.psum(x, AXIS), axis_name="batch")',
    )
    column = len(book.texts[1][: book.texts[1].index("AXIS")].encode("utf-16-le")) // 2
    place = {"textDocument": {"uri": book.cell(1)}, "position": {"line": 0, "character": column + 1}}
    (found,) = server.request("textDocument/definition", place)
    assert found["uri"] in (book.cell(0), book.cell(1))
    context = {"context": {"includeDeclaration": True}}
    references = server.request("textDocument/references", {**place, **context})
    assert {one["uri"] for one in references} == {book.cell(0), book.cell(1)}
    column = len(book.texts[1][: book.texts[1].index('"batch"')].encode("utf-16-le")) // 2
    place["position"] = {"line": 0, "character": column + 2}
    edit = server.request("textDocument/rename", {**place, "newName": "rows"})
    changed = {one["textDocument"]["uri"]: one["edits"] for one in edit["documentChanges"]}
    assert {uri: [each["newText"].strip("\"'") for each in edits] for uri, edits in changed.items()} == {
        book.cell(0): ["rows"],
        book.cell(1): ["rows"],
    }
    book.close()


def test_a_closed_notebook_is_read_from_the_disk_by_nobody_else(server: Server, tmp_path: Path):
    raw = {"cells": [{"cell_type": "code", "source": SETUP + STEP}]}
    (tmp_path / "book.ipynb").write_text(json.dumps(raw))
    book = Book(server, tmp_path, SETUP, STEP)
    assert book.found(1)
    book.close()
    again = Book(server, tmp_path, SETUP, STEP.replace("bacth", "batch"))
    assert again.found(1) == []
    again.close()


def test_a_notebook_that_is_sent_as_one_text(server: Server, tmp_path: Path):
    uri = (tmp_path / ".virtual_documents" / "nb.ipynb").as_uri()
    # JupyterLab writes magics as calls, or leaves them as they are.
    text = "get_ipython().run_line_magic('matplotlib', 'inline')\n" + SETUP + "\n\n" + STEP
    server.open(uri, text)
    (found,) = server.findings(uri)
    assert found["range"]["start"]["line"] == text[: text.index("bacth")].count("\n")
    line = found["range"]["start"]
    where = {"start": line, "end": {**line, "character": line["character"] + 7}}
    server.change(uri, 2, {"range": where, "text": '"batch"'})
    assert server.findings(uri) == []
