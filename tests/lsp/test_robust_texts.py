"""Edits that do not fit, and texts that nobody would write: answers stay right, and the log notes what was odd."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from meshlens.text import LineIndex
from raw_client import PULLS, Server, served

CLIENT = {**PULLS, "general": {"positionEncodings": ["utf-16"]}}
WRONG = 'import jax\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yields one server for everything that a server has to survive."""
    with served(tmp_path_factory.mktemp("open"), CLIENT) as one:
        yield one
        assert "Traceback" not in one.log and "crashed" not in one.log


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """Returns the URI of the test's own text."""
    return (tmp_path / "train.py").as_uri()


def _at(line: int, start: int, end_line: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": end_line, "character": end}}


def _codes(server: Server, uri: str) -> list[str]:
    return [found["code"] for found in server.findings(uri)]


def test_an_edit_of_a_text_that_is_not_open(server: Server, uri: str):
    for version in (2, 3):
        server.change(uri, version, {"text": WRONG})
    assert _codes(server, uri) == []
    assert server.log.count(f"ignored an edit to {uri}, which is not open") == 1
    server.open(uri, WRONG)
    server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    server.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert _codes(server, uri) == []


def test_an_edit_of_another_language_is_no_news(server: Server, tmp_path: Path):
    notes = (tmp_path / "notes.md").as_uri()
    server.open(notes, "text", language="markdown")
    server.change(notes, 2, {"text": WRONG})
    assert _codes(server, notes) == []
    assert notes not in server.log


def test_versions_out_of_order(server: Server, uri: str):
    server.open(uri, WRONG, version=7)
    server.change(uri, 5, {"text": WRONG.replace("bacth", "batch")})
    server.change(uri, 5, {"text": WRONG})
    assert _codes(server, uri) == ["AX101"]
    assert server.log.count(f"{uri}: versions arrived out of order") == 1


def test_versions_that_are_not_counted(server: Server, uri: str):
    server.open(uri, WRONG)
    server.change(uri, None, {"text": WRONG.replace("bacth", "batch")})
    assert _codes(server, uri) == []


def test_opening_twice_takes_the_newer_text(server: Server, uri: str):
    server.open(uri, WRONG.replace("bacth", "batch"))
    server.open(uri, WRONG)
    assert _codes(server, uri) == ["AX101"]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (_at(900, 0, 900, 0), WRONG + "#"),
        (_at(0, 900, 0, 900), WRONG.replace("import jax", "import jax#", 1)),
        (_at(0, 900, 900, 900), "import jax#"),
        (_at(2, 4, 0, 10), "import jax# = jax" + WRONG.split(" = jax", 1)[1]),
        (_at(-3, 0, -3, 0), "#" + WRONG),
        (_at(0, -3, 0, -1), "#" + WRONG),
    ],
)
def test_ranges_that_lie_outside_the_text(server: Server, uri: str, where: dict[str, Any], expected: str):
    server.open(uri, WRONG)
    server.change(uri, 2, {"range": where, "text": "#"})
    server.open(twin := uri.replace("train", "twin"), expected)
    assert server.findings(uri) == server.findings(twin)
    for one in (uri, twin):
        server.notify("textDocument/didClose", {"textDocument": {"uri": one}})


def test_half_a_character(server: Server, uri: str):
    server.open(uri, WRONG)
    # A client may send half of a UTF-16 surrogate pair, because JSON can express it.
    body = b'{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"%s","version":2},'
    body += b'"contentChanges":[{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":0}},'
    body = body % uri.encode() + b'"text":"x = \'\\ud83d\'"}]}}'
    server.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    assert _codes(server, uri) == ["AX101"]
    server.change(uri, 3, {"range": _at(1, 0, 1, 7), "text": 'y = "🙂"; x = jax.lax.psum(1, "i")'})
    assert [found["range"]["start"]["character"] for found in server.findings(uri)] == [30, 42]


@pytest.mark.parametrize(("end", "line"), [("\r\n", 2), ("\r", 2), ("\n\r", 3), ("\r\r\n", 4)])
def test_line_ends_of_every_kind(server: Server, uri: str, end: str, line: int):
    server.open(uri, WRONG.replace("\n", end))
    (found,) = server.findings(uri)
    assert found["range"]["start"] == {"line": line, "character": 42}
    server.change(uri, 2, {"range": _at(line, 43, line, 48), "text": "batch"})
    assert _codes(server, uri) == []


def test_a_text_of_5_mb_is_left_alone(server: Server, uri: str):
    server.open(uri, WRONG * 60_000)
    assert _codes(server, uri) == []
    server.change(uri, 2, {"range": _at(0, 0, 0, 0), "text": "x"})
    hover = {"textDocument": {"uri": uri}, "position": {"line": 2, "character": 40}}
    assert server.request("textDocument/hover", hover) is None
    assert server.log.count("train.py, which is larger than 1,000,000 bytes") == 1
    server.change(uri, 3, {"text": WRONG})
    assert _codes(server, uri) == ["AX101"]
    server.change(uri, 4, {"range": _at(0, 0, 0, 0), "text": WRONG * 60_000})
    assert _codes(server, uri) == []
    server.change(uri, 5, {"text": WRONG})
    assert _codes(server, uri) == ["AX101"]


@pytest.mark.deep
@pytest.mark.parametrize("line", ['x = "' + "é" * 480_000 + '"; ', "x = [" + "1, " * 300_000 + "]; "])
def test_a_line_of_1_mb(server: Server, uri: str, line: str):
    server.open(uri, "import jax\n" + line + WRONG.split("\n")[2])
    (found,) = server.findings(uri)
    assert found["range"]["start"] == {"line": 1, "character": len(line) + 42}
    server.change(uri, 2, {"range": _at(1, len(line) + 43, 1, len(line) + 48), "text": "batch"})
    assert _codes(server, uri) == []


def test_lines_of_large_texts_with_mixed_ends_are_found():
    source = b"a\rb\nc\r\n" * 300_000
    lines = LineIndex(source)
    assert len(lines.starts) == 900_001
    assert lines.position(len(source) - 3) == (899_999, 0)


@pytest.mark.parametrize(("column", "expected"), [(0, 0), (1, 1), (2, 5), (3, 5), (4, 7), (5, 8), (90, 8)])
def test_a_column_within_a_pair_counts_the_whole_pair(column: int, expected: int):
    assert LineIndex("a🙂éb\n".encode()).offset(0, column, "utf-16") == expected
