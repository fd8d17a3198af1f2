"""Works in a project for a long time, as people do, and shows how the server's memory grows.

    python tests/bench/long_session.py FOLDER [--edits 20000] [--seed 7]

The folder is copied.  A few files are open at a time; statements are typed letter by letter, undone, pasted and
saved; files are opened and closed, and now and then a file is restored to its first text.  Findings are requested
after each edit.  Prints the memory of the server, and of the process beside it, after every thousand edits, and at
the end that of a new server that opens the same texts: whatever a session has beyond that, it did not release.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# If this runs as a script, Python finds only the modules next to it.
sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.lsp_client import family
from raw_client import Server

CAPABILITIES = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {"diagnostics": {"refreshSupport": True}},
    "textDocument": {
        "diagnostic": {},
        "hover": {"contentFormat": ["markdown"]},
        "completion": {"completionItem": {"snippetSupport": True}},
    },
}
STATEMENTS = (
    'loss = jax.lax.pmean(loss, axis_name="batch")',
    "params = jax.tree.map(lambda x: x + 1, params)",
    'step = jax.pmap(step, axis_name="data", in_axes=(0, None))',
    "x = jnp.asarray(x)[None, :]",
    "print(f'{x.shape} {y!r}')",
    "key, other = jax.random.split(key)",
    "for i in range(jax.device_count()): total = total + i",
    "if x is None: return None",
    'raise ValueError("what (is) this")',
    "spec = P('data', None, ('model', 'fsdp'))",
)
NEW_FUNCTION = '\n\ndef helper_{0}(x):\n    """Doc."""\n    y = jax.lax.psum(x, "batch")\n    return y + {0}\n'
MOST_OPEN = 6
REST = 0.45
LONG_REST = 4.0
MOST_RESTS = 60
"""Maximum number of rests that are waited for the server, which reads a large project beside the edits."""
IDLE = 0.2
"""CPU time in seconds, in one rest, below which the server and the processes beside it are idle."""
THOUSAND = 1_000


@dataclass
class Open:
    """One open file: its lines as the editor has them, and the changes that undo the last edits."""

    path: Path
    lines: list[str]
    version: int = 1
    past: list[tuple[tuple[int, int], tuple[int, int], str]] = field(default_factory=list)

    @property
    def uri(self) -> str:
        """Returns the URI of the file."""
        return self.path.as_uri()


@dataclass
class Worker:
    """Somebody who edits a project.

    Attributes:
        server: the server that is told of the edits.
        first: the files of the project with their first texts.
        edits: how many were made.
        open: the open files, the most recently edited one last.
    """

    server: Server
    dice: random.Random
    first: dict[Path, str]
    edits: int = 0
    open: dict[Path, Open] = field(default_factory=dict)

    def work(self) -> Iterator[int]:
        """Edits forever; yields the number of each edit."""
        doings = (self._type, self._type, self._type, self._paste, self._delete, self._rename, self._define)
        while True:
            while len(self.open) < min(MOST_OPEN, len(self.first)):
                self._open_another()
            if self.dice.random() < 0.12:
                self._open_another()
            path = self.dice.choice(list(self.open))
            text = self.open[path] = self.open.pop(path)
            before = len(text.past)
            yield from self.dice.choice(doings)(text)
            self._look(text)
            if self.dice.random() < 0.6:
                while len(text.past) > before:
                    yield self._undo(text)
            elif self.dice.random() < 0.5:
                self._save(text)

    def _open_another(self) -> None:
        path = self.dice.choice(list(self.first))
        if path in self.open:
            return
        while len(self.open) >= MOST_OPEN:
            gone = self.open.pop(next(iter(self.open)))
            self.server.notify("textDocument/didClose", {"textDocument": {"uri": gone.uri}})
            self._restore(gone.path)
        source = path.read_text("utf-8")
        self.open[path] = Open(path, source.split("\n"))
        self.server.open(path.as_uri(), source)

    def _restore(self, path: Path) -> None:
        """Restores a file on the disk to its first text, so that the project stays as large as it was."""
        if path.read_text("utf-8") != self.first[path]:
            path.write_text(self.first[path], "utf-8")
            self._tell_changed(path)

    def _save(self, text: Open) -> None:
        text.path.write_text("\n".join(text.lines), "utf-8")
        self.server.notify("textDocument/didSave", {"textDocument": {"uri": text.uri}})
        self._tell_changed(text.path)

    def _tell_changed(self, path: Path) -> None:
        self.server.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": path.as_uri(), "type": 2}]})

    def _look(self, text: Open) -> None:
        line = self.dice.randrange(len(text.lines))
        position = {"line": line, "character": len(text.lines[line]) // 2}
        self.server.request("textDocument/hover", {"textDocument": {"uri": text.uri}, "position": position})

    def _place(self, text: Open) -> tuple[int, str]:
        """Returns a line, usually in a function, and the indent of the line."""
        inner = [number for number, line in enumerate(text.lines) if line[:1] == " " and line.strip()]
        number = self.dice.choice(inner) if inner and self.dice.random() < 0.9 else self.dice.randrange(len(text.lines))
        line = text.lines[number]
        return number, line[: len(line) - len(line.lstrip())]

    def _type(self, text: Open) -> Iterator[int]:
        number, indent = self._place(text)
        end = len(text.lines[number])
        yield self._edit(text, (number, end), (number, end), f"\n{indent}")
        at = len(indent)
        for letter in self.dice.choice(STATEMENTS):
            yield self._edit(text, (number + 1, at), (number + 1, at), letter)
            at += 1

    def _paste(self, text: Open) -> Iterator[int]:
        number, _ = self._place(text)
        other = self.dice.choice(list(self.first.values())).split("\n")
        start = self.dice.randrange(len(other))
        piece = "\n".join(other[start : start + self.dice.randint(1, 12)])
        yield self._edit(text, (number, 0), (number, 0), f"{piece}\n")

    def _delete(self, text: Open) -> Iterator[int]:
        number, _ = self._place(text)
        if number + 1 < len(text.lines):
            yield self._edit(text, (number, 0), (number + 1, 0), "")

    def _rename(self, text: Open) -> Iterator[int]:
        number, _ = self._place(text)
        line = text.lines[number]
        yield self._edit(text, (number, 0), (number, len(line)), line.replace("x", "x_new").replace("batch", "data"))

    def _define(self, text: Open) -> Iterator[int]:
        number = len(text.lines) - 1
        end = len(text.lines[number])
        yield self._edit(text, (number, end), (number, end), NEW_FUNCTION.format(self.edits))

    def _undo(self, text: Open) -> int:
        start, end, old = text.past.pop()
        number = self._edit(text, start, end, old)
        text.past.pop()
        return number

    def _edit(self, text: Open, start: tuple[int, int], end: tuple[int, int], new: str) -> int:
        lines = text.lines
        old = "\n".join([*lines[start[0] : end[0]], lines[end[0]]])
        old = old[start[1] : len(old) - (len(lines[end[0]]) - end[1])]
        head, tail = lines[start[0]][: start[1]], lines[end[0]][end[1] :]
        made = (head + new + tail).split("\n")
        lines[start[0] : end[0] + 1] = made
        last = start[0] + len(made) - 1
        text.past.append((start, (last, len(made[-1]) - len(tail)), old))
        text.version += 1
        where = {"start": _position(text, *start), "end": {"line": end[0], "character": end[1]}}
        self.server.change(text.uri, text.version, {"range": where, "text": new})
        self.server.findings(text.uri)
        del self.server.notified[:]
        self.edits += 1
        return self.edits


def _position(text: Open, line: int, column: int) -> dict[str, int]:
    return {"line": line, "character": column}


@dataclass
class Figures:
    """The results of a session.

    Attributes:
        server, beside: the MiB of the server and of the process beside it, after each thousand edits.
        seconds, cpu: the time up to the last thousand edits, and the server's CPU time.
        texts: the texts that were open then.
    """

    server: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    seconds: float = 0.0
    cpu: float = 0.0
    texts: dict[Path, str] = field(default_factory=dict)


def session(folder: Path, edits: int, seed: int, server: Server | None = None) -> Iterator[tuple[int, Figures]]:
    """Works in a copy of a folder; after each thousand edits, yields the number of edits and the figures so far.

    Args:
        folder: the project.
        edits: how many to make.
        seed: the seed of the edits.
        server: a server of the folder; if none is given, one is started.
    """
    figures, started = Figures(), time.monotonic()
    texts = {path: path.read_bytes() for path in sorted(folder.rglob("*.py"))}
    first = {path: raw.decode() for path, raw in texts.items() if raw.isascii() and b"\r" not in raw and raw.strip()}
    server = server or Server(folder, MESHLENS_DETECT_DEVICES="0")
    try:
        server.initialize(folder, CAPABILITIES)
        worker = Worker(server, random.Random(seed), first)
        for number in worker.work():
            if number % 100 == 0:
                server.settle(REST)
            if number % THOUSAND == 0:
                _wait_until_idle(server)
                one, *others = [_resident(process) for process in family(server.process.pid)]
                figures.server.append(one)
                figures.beside.append(sum(others))
                figures.seconds, figures.cpu = time.monotonic() - started, _cpu(server.process.pid)
                figures.texts = {path: "\n".join(text.lines) for path, text in worker.open.items()}
                yield number, figures
            if number >= edits:
                break
    finally:
        server.stop()


def _of_a_new_server(server: Server, folder: Path, texts: dict[Path, str]) -> float:
    """Returns the MiB of a server that opens some texts."""
    try:
        server.initialize(folder, CAPABILITIES)
        for path, text in texts.items():
            server.open(path.as_uri(), text)
            server.findings(path.as_uri())
        _wait_until_idle(server)
        return _resident(server.process.pid)
    finally:
        server.stop()


def _wait_until_idle(server: Server) -> None:
    """Waits until the server has read the project, and has nothing left to do."""
    before = sum(_cpu(process) for process in family(server.process.pid))
    for _ in range(MOST_RESTS):
        server.settle(LONG_REST)
        now = sum(_cpu(process) for process in family(server.process.pid))
        if now - before < IDLE:
            return
        before = now


def _resident(process: int) -> float:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def _cpu(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--edits", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--python", default=sys.executable, help="the Python whose MeshLens is the server")
    parser.add_argument("--code", default="", help="what that runs instead of the server")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / given.folder.name
        ignored: Any = shutil.ignore_patterns(".git", ".meshlens_cache")
        shutil.copytree(given.folder, folder, ignore=ignored, symlinks=True)
        (folder / ".git").mkdir()
        code = ("-c", given.code) if given.code else ("-m", "meshlens", "server")
        server = Server(folder, code, given.python, MESHLENS_DETECT_DEVICES="0", PYTHONPATH="")
        figures = Figures()
        for number, figures in session(folder, given.edits, given.seed, server):
            print(
                f"{number:6,} edits: server {figures.server[-1]:6.1f} MiB, beside it {figures.beside[-1]:6.1f}; "
                f"{figures.seconds:5.0f} s, {figures.cpu:5.1f} s of CPU",
                flush=True,
            )
        new = Server(folder, code, given.python, MESHLENS_DETECT_DEVICES="0", PYTHONPATH="")
        fresh = _of_a_new_server(new, folder, figures.texts)
    print(f"after the first {THOUSAND:,} edits {figures.server[-1] - figures.server[0]:+.1f} MiB")
    print(f"a new server with the same {len(figures.texts)} files open: {fresh:.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
