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

    Where processes cannot be started, everything is done here.
    """
    workers = min(os.cpu_count() or 1, 8)
    if workers == 1 or sum(map(len, sources)) < _WORTH_A_POOL:
        return _here(sources)
    # A language server reads little, and would keep what these import.
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    lots = [sources[start :: workers * _LOTS_PER_WORKER] for start in range(workers * _LOTS_PER_WORKER)]
    facts: list[FileFacts | None] = [None] * len(sources)
    try:
        with ProcessPoolExecutor(workers, initializer=_end_with, initargs=(os.getpid(),)) as pool:
            for start, blobs in enumerate(pool.map(_packed_facts, lots)):
                facts[start :: workers * _LOTS_PER_WORKER] = [
                    unpacked_as_needed(blob) if blob else None for blob in blobs
                ]
    except (OSError, BrokenProcessPool):
        return _here(sources)
    return [found if found is not None else extract(source) for found, source in zip(facts, sources, strict=True)]


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
