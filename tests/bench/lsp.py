"""Times the language server beside ruff's and an empty pygls server, alternating between them in one run.

    python tests/bench/lsp.py                        start, keystrokes, requests after one; 200 to 5,000 lines
    python tests/bench/lsp.py --file big.py          a real file
    python tests/bench/lsp.py --open DIR --file DIR/train.py     in a large project: while and after it is indexed

Compare columns, not absolute values: the machine's load is in all of them.  ruff must be on the PATH.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from generate import module
from lsp_client import Client, memories, memory, start

EMPTY = """
from lsprotocol import types
from pygls.lsp.server import LanguageServer
server = LanguageServer("empty", "0")
def answer(ls, params):
    document = params.text_document
    ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, [], document.version))
server.feature("textDocument/didOpen")(answer)
server.feature("textDocument/didChange")(answer)
server.start_io()
"""
SERVERS: Mapping[str, Sequence[str]] = {
    "ruff": ("ruff", "server"),
    "meshlens": (sys.executable, "-I", "-m", "meshlens", "server"),
    "empty": (sys.executable, "-c", EMPTY),
}
TYPED = 'y_p = lax.psum(x, "data")'
REQUESTS = ("hover", "completion", "definition", "codeAction")

Samples = dict[str, list[float]]


class Text:
    """A text as a client edits it."""

    def __init__(self, path: Path) -> None:
        self.uri, self.lines, self.version = path.as_uri(), path.read_text().split("\n"), 1

    def change(self, start: tuple[int, int], end: tuple[int, int], new: str) -> dict[str, Any]:
        """Edits the text; returns the parameters of the `didChange`."""
        head, tail = self.lines[start[0]][: start[1]], self.lines[end[0]][end[1] :]
        self.lines[start[0] : end[0] + 1] = (head + new + tail).split("\n")
        self.version += 1
        where = {
            "start": {"line": start[0], "character": start[1]},
            "end": {"line": end[0], "character": end[1]},
        }
        document = {"uri": self.uri, "version": self.version}
        return {"textDocument": document, "contentChanges": [{"range": where, "text": new}]}

    def statement(self, part: float) -> int:
        """Returns a line near a fraction of the text that is a complete assignment in a function."""
        near = sorted(range(len(self.lines) - 1), key=lambda line: abs(line - int(len(self.lines) * part)))
        pattern = re.compile(r"^ {4,8}[a-z_]\w* = [^#\"']*[\w)\]]$")
        return next(
            line
            for line in near
            if pattern.match(self.lines[line])
            and self.lines[line].count("(") == self.lines[line].count(")")
            and re.match(r" *", self.lines[line])[0] == re.match(r" *", self.lines[line + 1])[0]  # type: ignore[index]
        )


def keystrokes(text: Text) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields what somebody types at three places: a statement, an open bracket, a comment, lines above everything."""
    for part in (0.1, 0.5, 0.9):
        line = text.statement(part)
        end = len(text.lines[line])
        indent = re.match(r" *", text.lines[line])[0]  # type: ignore[index]
        yield "newline", text.change((line, end), (line, end), "\n" + indent)
        for letter in TYPED:
            at = (line + 1, len(text.lines[line + 1]))
            yield "type", text.change(at, at, letter)
        for _ in range(4):
            at = (line + 1, len(text.lines[line + 1]))
            yield "break", text.change(at, at, "(")
            yield "mend", text.change(at, (at[0], at[1] + 1), "")
        for letter in "  # ":
            at = (line + 1, len(text.lines[line + 1]))
            yield "comment", text.change(at, at, letter)
        yield "delete", text.change((line + 1, 0), (line + 2, 0), "")
    for _ in range(3):
        yield "shift", text.change((0, 0), (0, 0), "\n")
        yield "shift", text.change((0, 0), (1, 0), "")


def session(name: str, path: Path, root: Path, into: Samples) -> None:
    """Runs one session of one server over one file."""
    client, took = start(SERVERS[name], root)
    into["initialize"].append(took)
    try:
        text = Text(path)
        item = {"uri": text.uri, "languageId": "python", "version": 1, "text": "\n".join(text.lines)}
        sent = client.notify("textDocument/didOpen", {"textDocument": item})
        into["open"].append(client.diagnostics(sent, text.uri, 1))
        client.rest(0.5)
        for kind, params in keystrokes(text):
            sent = client.notify("textDocument/didChange", params)
            seconds = client.diagnostics(sent, text.uri, text.version)
            into["keystroke"].append(seconds)
            into[f"keystroke: {kind}"].append(seconds)
            client.rest(0.02)
        if name == "meshlens":
            _requests(client, text, into)
        into["memory"].append(memory(client.process.pid) / 1000)
    finally:
        client.close()


def _requests(client: Client, text: Text, into: Samples) -> None:
    """Times requests that are sent together with an edit."""
    chance = random.Random(5)
    line = text.statement(0.5)
    places = [
        (number, found.start() + 1)
        for number, content in enumerate(text.lines)
        for found in re.finditer(r"psum|pmean|shard_map|pmap|\"\w+\"", content)
    ]
    for turn in range(40):
        at = len(text.lines[line])
        edit = (
            text.change((line, at), (line, at), " ") if turn % 2 == 0 else text.change((line, at - 1), (line, at), "")
        )
        for kind in REQUESTS:
            row, column = chance.choice(places)
            position = {"line": row, "character": column}
            params: dict[str, Any] = {"textDocument": {"uri": text.uri}, "position": position}
            if kind == "codeAction":
                params |= {"range": {"start": position, "end": position}, "context": {"diagnostics": []}}
            before = [("textDocument/didChange", edit)] if kind == REQUESTS[turn % len(REQUESTS)] else []
            seconds, _ = client.request(f"textDocument/{kind}", params, before)
            into[f"{kind} behind an edit" if before else kind].append(seconds)
            client.rest(0.01)


def in_project(root: Path, path: Path) -> None:
    """Types in a file of a large project, while the project is indexed and afterwards."""
    client, _ = start(SERVERS["meshlens"], root)
    try:
        text = Text(path)
        item = {"uri": text.uri, "languageId": "python", "version": 1, "text": "\n".join(text.lines)}
        sent = client.notify("textDocument/didOpen", {"textDocument": item})
        print(f"first findings after {client.diagnostics(sent, text.uri, 1) * 1000:.0f} ms")
        for phase in ("while it is indexed", "afterwards"):
            taken: list[float] = []
            for _, params in keystrokes(text):
                sent = client.notify("textDocument/didChange", params)
                taken.append(client.diagnostics(sent, text.uri, text.version))
                client.rest(0.05)
            print(f"{phase}: {_shown(taken)} ms; {memories(client.process.pid)}")
            while client.progressing:
                client.rest(1.0)
            print(f"  then: {memories(client.process.pid)}")
        client.rest(30.0)
        print(f"at rest: {memories(client.process.pid)}")
    finally:
        client.close()


def _shown(samples: Sequence[float]) -> str:
    ordered = sorted(samples)
    return f"{statistics.median(ordered) * 1000:.2f} / {ordered[int(len(ordered) * 0.95)] * 1000:.2f}"


def _table(title: str, by_server: Mapping[str, Samples]) -> None:
    names = list(by_server)
    print(f"\n### {title}\n\n| p50 / p95, ms | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for measure in dict.fromkeys(measure for samples in by_server.values() for measure in samples):
        cells = []
        for name in names:
            samples, base = by_server[name].get(measure, []), by_server[names[0]].get(measure, [])
            times = f" ({statistics.median(samples) / statistics.median(base):.2f}x)" if samples and base else ""
            cells.append(f"{_shown(samples)}{times}" if samples else "")
        print(f"| {measure} | {' | '.join(cells)} |")


def main() -> None:
    """Runs what the command line requests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="a real file instead of generated ones")
    parser.add_argument("--open", type=Path, help="the project of that file")
    parser.add_argument("--lines", default="200,1000,5000")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--servers", default="ruff,meshlens,empty")
    given = parser.parse_args()
    if given.open:
        in_project(given.open.absolute(), given.file.absolute())
        return
    names = given.servers.split(",")
    with tempfile.TemporaryDirectory() as folder:
        paths = [given.file] if given.file else []
        for lines in () if given.file else map(int, given.lines.split(",")):
            paths.append(Path(folder) / f"generated_{lines}.py")
            paths[-1].write_text(module(lines, 7))
        for path in paths:
            by_server: dict[str, Samples] = {name: defaultdict(list) for name in names}
            for turn in range(given.rounds):
                for name in names[turn % len(names) :] + names[: turn % len(names)]:
                    with tempfile.TemporaryDirectory() as root:
                        copy = Path(shutil.copy(path, Path(root) / path.name))
                        session(name, copy, Path(root), by_server[name])
            _table(path.name, by_server)


if __name__ == "__main__":
    main()
