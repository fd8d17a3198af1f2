"""Checks that broken code costs facts, never an exception or a hang: thousands of corrupted programs, whole folders.

    python tests/bench/corrupt.py programs tests/oracle/programs [--count 10000] [--seed 7] [--limit 10]
    python tests/bench/corrupt.py folder /usr/lib/python3.13/test [--limit 20]

`programs` corrupts the files of a folder, one at a time, and checks each result as a separate project; a failure can
be reproduced with the number that is printed.  `folder` checks every file separately, as it is.
A file that takes longer than the limit counts as a hang.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType

from inprocess import found_in, open_folder

from meshlens.project.workspace import Workspace

_MOST_EDITS = 4
_PIECES = (
    *(b"(", b")", b"[", b"]", b"{", b"}", b'"', b"'", b'"""', b"'''", b":", b",", b"=", b"\\", b"\n", b"\t", b"\0"),
    *(b"@", b"*", b"**", b"def ", b"class ", b"lambda ", b"import ", b"from ", b"with ", b"match ", b"case _:", b"#"),
    *(b"f'{", b"\xff", b"\xc3", b"\xe2\x80\xa8", "é".encode(), "𝒳".encode(), b"\r", b"\f", b"    ", b"return", b"..."),
)


class Hang(BaseException):
    """A file took longer than the limit; no handler in the code under test may swallow this."""


@dataclass(frozen=True)
class Trouble:
    """The failure that stopped a check."""

    name: str
    text: str


def corrupted(source: bytes, chance: random.Random) -> bytes:
    """Returns the bytes after a few random edits."""
    for _ in range(chance.randint(1, _MOST_EDITS)):
        source = chance.choice(_EDITS)(source, chance)
    return source


def run(
    cases: Iterable[tuple[str, Callable[[], object]]], limit: float
) -> tuple[list[Trouble], list[tuple[float, str]]]:
    """Runs each case under the limit; returns what went wrong and how long each took."""
    troubles: list[Trouble] = []
    times: list[tuple[float, str]] = []
    for name, look in cases:
        started = time.perf_counter()
        try:
            with _alarm(limit):
                look()
        except Hang:
            troubles.append(_told(Trouble(name, f"longer than {limit} s\n{traceback.format_exc(limit=-6)}")))
        except Exception:
            troubles.append(_told(Trouble(name, traceback.format_exc(limit=-6))))
        times.append((time.perf_counter() - started, name))
    return troubles, times


def programs(folder: Path, count: int, seed: int, first: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yields `count` corruptions of the files of a folder, each with its number."""
    files = sorted(folder.rglob("*.py"))
    sources = [path.read_bytes() for path in files]
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        path = root / "main.py"
        path.write_bytes(b"")
        empty = open_folder(root)
        for number in range(first, first + count):
            chance = random.Random(f"{seed}-{number}")
            index = chance.randrange(len(files))
            content = corrupted(sources[index], chance)
            yield f"{number} ({files[index].name})", partial(_look, empty, path, content)


def folder_files(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yields every Python file of a folder, each by itself."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "main.py")
        path.write_bytes(b"")
        empty = open_folder(Path(scratch))
        for file in sorted(folder.rglob("*.py")):
            if file.is_file():
                content = file.read_bytes()
                yield str(file.relative_to(folder)), partial(_look, empty, path, content)


def _told(trouble: Trouble) -> Trouble:
    print(f"--- {trouble.name}\n{trouble.text}", flush=True)
    return trouble


def _look(empty: Workspace, path: Path, content: bytes) -> None:
    workspace = empty.with_file(path, content)
    if workspace.view(path).records is not None:
        list(found_in(workspace, [path]))


@contextlib.contextmanager
def _alarm(limit: float) -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise Hang

    previous = signal.signal(signal.SIGALRM, ring)
    # The timer fires again, in case the first exception was raised where Python ignores it.
    signal.setitimer(signal.ITIMER_REAL, limit, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def _range(source: bytes, chance: random.Random, most: int) -> tuple[int, int]:
    start = chance.randint(0, len(source))
    return start, min(len(source), start + chance.randint(1, most))


def _delete(source: bytes, chance: random.Random) -> bytes:
    start, end = _range(source, chance, chance.choice([1, 1, 8, 80]))
    return source[:start] + source[end:]


def _duplicate(source: bytes, chance: random.Random) -> bytes:
    start, end = _range(source, chance, chance.choice([4, 40, 400]))
    return source[:end] + source[start:end] * chance.choice([1, 1, 1, 30]) + source[end:]


def _insert(source: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(source))
    return source[:at] + chance.choice(_PIECES) * chance.choice([1, 1, 1, 1, 2, 200]) + source[at:]


def _truncate(source: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(source))
    return source[:at] if chance.random() < 0.8 else source[at:]


def _swap_lines(source: bytes, chance: random.Random) -> bytes:
    lines = source.splitlines(keepends=True)
    if len(lines) > 1:
        one, other = chance.sample(range(len(lines)), 2)
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def _swap_words(source: bytes, chance: random.Random) -> bytes:
    words = source.split(b" ")
    if len(words) > 1:
        one, other = chance.sample(range(len(words)), 2)
        words[one], words[other] = words[other], words[one]
    return b" ".join(words)


def _flip(source: bytes, chance: random.Random) -> bytes:
    if not source:
        return source
    at = chance.randrange(len(source))
    return source[:at] + bytes([chance.randrange(256)]) + source[at + 1 :]


def _indent(source: bytes, chance: random.Random) -> bytes:
    lines = source.splitlines(keepends=True)
    if not lines:
        return source
    at = chance.randrange(len(lines))
    lines[at] = b"    " + lines[at] if chance.random() < 0.5 else lines[at].lstrip(b" ")
    return b"".join(lines)


_EDITS = (_delete, _duplicate, _insert, _insert, _truncate, _swap_lines, _swap_words, _flip, _indent)


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["programs", "folder"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first corruption")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--limit", type=float, default=20.0)
    arguments = parser.parse_args()
    cases = (
        programs(arguments.folder, arguments.count, arguments.seed, arguments.first)
        if arguments.what == "programs"
        else folder_files(arguments.folder)
    )
    troubles, times = run(cases, arguments.limit)
    total = sum(seconds for seconds, _ in times)
    print(f"{len(times)} checked in {total:.1f} s, {len(troubles)} of them with an exception or a hang")
    for seconds, name in sorted(times, reverse=True)[:5]:
        print(f"    {seconds:8.3f} s  {name}")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(_main())
