"""Extracts the facts of many files at once, in worker processes."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from threading import Thread

from meshlens.facts.extract import Memo, extract
from meshlens.facts.grammar import NotFacts
from meshlens.facts.model import FileFacts
from meshlens.facts.packing import packed, unpacked_as_needed
from meshlens.facts.stored import stored

_WORTH_A_POOL = 2_000_000
_LOTS_PER_WORKER = 4
PARENT_SECONDS = 0.4
"""How often a worker looks whether whoever started it still lives."""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What one text says.

    Attributes:
        facts: just that.
        stored: the same as bytes for the disk; empty where they were not asked for or cannot be had.
    """

    facts: FileFacts
    stored: bytes


def extract_all(sources: Sequence[bytes], *, is_stored: bool) -> list[Extracted]:
    """The facts of every text, in order; a little work is done here, much work by one process for each core.

    Where processes cannot be started, everything is done here.

    Args:
        sources: the texts.
        is_stored: gives the bytes for the disk too.
    """
    workers = min(os.cpu_count() or 1, 8)
    if workers == 1 or sum(map(len, sources)) < _WORTH_A_POOL:
        return _here(sources, is_stored=is_stored)
    # A language server reads little, and would keep what these import.
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    lots = [sources[start :: workers * _LOTS_PER_WORKER] for start in range(workers * _LOTS_PER_WORKER)]
    found: list[Extracted | None] = [None] * len(sources)
    try:
        with ProcessPoolExecutor(workers, initializer=_end_with, initargs=(os.getpid(),)) as pool:
            for start, blobs in enumerate(pool.map(partial(_packed_facts, is_stored=is_stored), lots)):
                found[start :: workers * _LOTS_PER_WORKER] = [
                    Extracted(unpacked_as_needed(blob), kept) if blob else None for blob, kept in blobs
                ]
    except (OSError, BrokenProcessPool):
        return _here(sources, is_stored=is_stored)
    return [
        one if one is not None else _extracted(extract(source), is_stored=is_stored)
        for one, source in zip(found, sources, strict=True)
    ]


def _here(sources: Sequence[bytes], *, is_stored: bool) -> list[Extracted]:
    memo: Memo = {}
    return [_extracted(extract(source, memo), is_stored=is_stored) for source in sources]


def _extracted(facts: FileFacts, *, is_stored: bool) -> Extracted:
    return Extracted(facts, _stored(facts) if is_stored else b"")


def _end_with(parent: int) -> None:
    """Has a worker end when the process that started it was killed: it would wait for work for ever."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_SECONDS)
        os._exit(1)

    if os.name == "posix":
        Thread(target=watch, daemon=True, name="parent").start()


def _packed_facts(sources: Sequence[bytes], *, is_stored: bool) -> list[tuple[bytes, bytes]]:
    """What a worker does; an empty answer stands for facts that cannot be packed."""
    memo: Memo = {}
    answers: list[tuple[bytes, bytes]] = []
    for source in sources:
        facts = extract(source, memo)
        answers.append((_pack(facts), _stored(facts) if is_stored else b""))
    return answers


def _stored(facts: FileFacts) -> bytes:
    try:
        return stored(facts)
    except NotFacts:
        return b""


def _pack(facts: FileFacts) -> bytes:
    try:
        return packed(facts)
    except ValueError:
        return b""
