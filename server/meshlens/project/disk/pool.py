"""Extracts the facts of many files in worker processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from meshlens.facts.disk.grammar import NotFacts
from meshlens.facts.disk.restored import restored
from meshlens.facts.disk.stored import stored
from meshlens.facts.extract import Memo, extract
from meshlens.facts.model import FileFacts
from meshlens.project.disk.workers import answers_of

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

_WORTH_A_POOL = 2_000_000
_LOTS_PER_WORKER = 4
_SAFE_PATH = "PYTHONSAFEPATH"


@dataclass(frozen=True, slots=True)
class Extracted:
    """The facts of a source text.

    Attributes:
        facts: its facts.
        stored: the facts as bytes to store on disk; empty if not requested or not possible.
    """

    facts: FileFacts
    stored: bytes


def extract_all(sources: Sequence[bytes], *, is_stored: bool) -> list[Extracted]:
    """Returns the facts of every text, in order, using several processes if there is a lot of work.

    If processes cannot be started, this process does all the work. A text whose process crashes gets empty facts.

    Args:
        sources: the texts.
        is_stored: whether to include the bytes to store on disk.
    """
    workers = min(os.cpu_count() or 1, 8)
    context = _context()
    if workers == 1 or sum(map(len, sources)) < _WORTH_A_POOL or context is None:
        return _here(sources, is_stored=is_stored)
    count = workers * _LOTS_PER_WORKER
    lots = [tuple(range(start, len(sources), count)) for start in range(count)]
    reading = _Reading(sources, context, is_stored, {})
    try:
        left = _read_lots(reading, lots, workers)
        # A process may have been killed for a reason unrelated to its texts, so try again.
        left = _read_lots(reading, left, workers) if left else left
        _read_each(reading, [place for lot in left for place in lot])
    except OSError:
        pass
    found = reading.found
    memo: Memo = {}
    return [
        found[place] if place in found else _extracted(extract(source, memo), is_stored=is_stored)
        for place, source in enumerate(sources)
    ]


@dataclass(frozen=True, slots=True)
class _Reading:
    """Texts that worker processes read.

    Attributes:
        sources: the texts.
        context: the multiprocessing context that starts processes.
        is_stored: whether to include the bytes to store on disk.
        found: the results by the index of the text.
    """

    sources: Sequence[bytes]
    context: BaseContext
    is_stored: bool
    found: dict[int, Extracted]


def _read_lots(reading: _Reading, lots: Sequence[tuple[int, ...]], workers: int) -> list[tuple[int, ...]]:
    """Makes worker processes read texts; returns the batches left over because a process ended."""
    tasks = [[reading.sources[place] for place in lot] for lot in lots]
    with _safe_path():
        answers = answers_of(_stored_facts, tasks, workers, reading.context)
    for lot, blobs in zip(lots, answers, strict=True):
        for place, blob in zip(lot, blobs or (), strict=False):
            if blob:
                facts = restored(blob, len(reading.sources[place]), is_whole=False)
                reading.found[place] = Extracted(facts, blob if reading.is_stored else b"")
    return [lot for lot, blobs in zip(lots, answers, strict=True) if blobs is None]


def _read_each(reading: _Reading, places: Sequence[int]) -> None:
    """Makes one process read texts in turn; if it dies, a new process continues after the text being read."""
    waiting = list(places)
    while waiting:
        left = _read_lots(reading, [(place,) for place in waiting], 1)
        if not left:
            return
        culprit = left[0][0]
        reading.found[culprit] = Extracted(FileFacts((), {}, failure="the process that was reading it ended"), b"")
        waiting = [place for (place,) in left[1:]]


def _context() -> BaseContext | None:
    """Returns the context that starts processes; None if they would import modules from the working directory.

    If they are not forked, Python starts them with `-c`, which puts the working directory first on `sys.path` unless an
    environment variable or a flag disables this; Python 3.10 has only the flag `-I`.
    """
    from multiprocessing import get_context

    if "linux" in sys.platform:
        return get_context("fork")
    if sys.flags.isolated or sys.version_info >= (3, 11):
        return get_context("spawn")
    return None


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keeps the working directory off the `sys.path` of processes started in this context."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def _here(sources: Sequence[bytes], *, is_stored: bool) -> list[Extracted]:
    memo: Memo = {}
    return [_extracted(extract(source, memo), is_stored=is_stored) for source in sources]


def _extracted(facts: FileFacts, *, is_stored: bool) -> Extracted:
    return Extracted(facts, _stored(facts) if is_stored else b"")


def _stored_facts(sources: Sequence[bytes]) -> list[bytes]:
    """Returns the facts of each text as bytes; empty for facts that cannot be stored."""
    memo: Memo = {}
    return [_stored(extract(source, memo)) for source in sources]


def _stored(facts: FileFacts) -> bytes:
    if facts.failure:
        return b""
    try:
        return stored(facts)
    except NotFacts:
        return b""
