"""Extracts the facts of many files at once, in worker processes."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from threading import Thread

from meshlens.facts.extract import Memo, extract
from meshlens.facts.model import FileFacts
from meshlens.facts.packing import packed, unpacked_as_needed

_WORTH_A_POOL = 2_000_000
_LOTS_PER_WORKER = 4
PARENT_SECONDS = 0.4
"""How often a worker looks whether whoever started it still lives."""


def extract_all(sources: Sequence[bytes]) -> list[FileFacts]:
    """The facts of every text, in order; a little work is done here, much work by one process for each core.

    Where processes cannot be started, everything is done here; a text that ends the process that reads it says nothing.
    """
    workers = min(os.cpu_count() or 1, 8)
    if workers == 1 or sum(map(len, sources)) < _WORTH_A_POOL:
        return _here(sources)
    count = workers * _LOTS_PER_WORKER
    lots = [tuple(range(start, len(sources), count)) for start in range(count)]
    facts: dict[int, FileFacts] = {}
    try:
        left = _read_lots(sources, lots, workers, facts)
        # What ended a process may have come from outside, and had nothing to do with what it read.
        left = _read_lots(sources, left, workers, facts) if left else left
        _read_each(sources, [place for lot in left for place in lot], facts)
    except OSError:
        pass
    memo: Memo = {}
    return [facts[place] if place in facts else extract(source, memo) for place, source in enumerate(sources)]


def _read_lots(
    sources: Sequence[bytes], lots: Sequence[tuple[int, ...]], workers: int, facts: dict[int, FileFacts]
) -> list[tuple[int, ...]]:
    """Has worker processes read some texts; the lots that are left because one of them ended."""
    # A language server reads little, and would keep what these import.
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    left: list[tuple[int, ...]] = []
    with ProcessPoolExecutor(workers, initializer=_end_with, initargs=(os.getpid(),)) as pool:
        asked = []
        for lot in lots:
            try:
                asked.append((lot, pool.submit(_packed_facts, [sources[place] for place in lot])))
            except BrokenProcessPool:
                left.append(lot)
        for lot, answer in asked:
            try:
                blobs = answer.result()
            except BrokenProcessPool:
                left.append(lot)
                continue
            facts.update((place, unpacked_as_needed(blob)) for place, blob in zip(lot, blobs, strict=True) if blob)
    return left


def _read_each(sources: Sequence[bytes], places: Sequence[int], facts: dict[int, FileFacts]) -> None:
    """Has one process read texts one after the other; where it ends, another one goes on after the text it was at."""
    waiting = list(places)
    while waiting:
        left = _read_lots(sources, [(place,) for place in waiting], 1, facts)
        if not left:
            return
        culprit = left[0][0]
        facts[culprit] = FileFacts((), {}, failure="the process that read it ended")
        waiting = [place for (place,) in left[1:]]


def _here(sources: Sequence[bytes]) -> list[FileFacts]:
    memo: Memo = {}
    return [extract(source, memo) for source in sources]


def _end_with(parent: int) -> None:
    """Has a worker end when the process that started it was killed: it would wait for work for ever."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_SECONDS)
        os._exit(1)

    if os.name == "posix":
        Thread(target=watch, daemon=True, name="parent").start()


def _packed_facts(sources: Sequence[bytes]) -> list[bytes]:
    """What a worker does; an empty answer stands for facts that cannot be packed."""
    memo: Memo = {}
    return [_pack(extract(source, memo)) for source in sources]


def _pack(facts: FileFacts) -> bytes:
    if facts.failure:
        return b""
    try:
        return packed(facts)
    except ValueError:
        return b""
