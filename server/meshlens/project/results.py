"""The results of whole runs kept on disk: where no file has changed since, nothing needs to be computed at all."""

from __future__ import annotations

import hashlib
import marshal
import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from meshlens.cache_files import write_cache_file
from meshlens.project.cache import fingerprint

_HEADER = struct.Struct("<9sI")
_MAGIC = b"MeshLens\x02"
_RUNS_KEPT = 12

# A file that changed this shortly before a run could change again without its time telling.
_CLOCK_STEP = 50_000_000


class ResultsCache:
    """Results by what was asked for, each with the files that it depends on."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"results-{fingerprint()}.bin"

    def get(self, question: bytes) -> Any:
        """The result of the same run, None if there is none or a file has changed since.

        Args:
            question: stands for all that was asked for, the files included.
        """
        entry = self._load().get(question)
        if entry is None:
            return None
        files, state, result = entry
        return result if _state(files)[0] == state else None

    def put(self, question: bytes, files: Sequence[str], result: Any, started: int) -> None:
        """Remembers a result.

        Args:
            question: as for `get`.
            files: every file that was read; where imports look is remembered with them.
            result: nested tuples of plain values.
            started: when the run began, in nanoseconds; nothing is kept if a file is younger.
        """
        if not self._path.parent.is_dir():
            write_cache_file(self._path, b"")
        state, newest = _state(files)
        if newest > started - _CLOCK_STEP:
            return
        entries = self._load()
        entries.pop(question, None)
        entries[question] = (tuple(files), state, result)
        while len(entries) > _RUNS_KEPT:
            del entries[next(iter(entries))]
        packed = marshal.dumps(entries)
        write_cache_file(self._path, _HEADER.pack(_MAGIC, zlib.crc32(packed)) + packed)

    def _load(self) -> dict[bytes, Any]:
        try:
            content = self._path.read_bytes()
            magic, checksum = _HEADER.unpack_from(content)
            packed = memoryview(content)[_HEADER.size :]
            if magic != _MAGIC or zlib.crc32(packed) != checksum:
                return {}
            entries = marshal.loads(packed)
        except (OSError, struct.error, ValueError, EOFError, TypeError):
            return {}
        return entries if isinstance(entries, dict) else {}


def question(*parts: object) -> bytes:
    """What stands for a run: everything that was asked for, in one hash."""
    return hashlib.blake2b(repr(parts).encode("utf-8", "replace"), digest_size=16).digest()


def _state(files: Iterable[str]) -> tuple[bytes, int]:
    """What stands for the state of files and of the folders that they lie in; the time of the youngest file."""
    seen = hashlib.blake2b(digest_size=16)
    folders: dict[str, None] = {}
    newest = 0
    for file in files:
        status = _stat(file)
        newest = max(newest, status[0])
        seen.update(repr((file, status)).encode("utf-8", "replace"))
        folders[os.path.dirname(file)] = None
    for folder in folders:
        seen.update(repr((folder, _stat(folder)[0])).encode("utf-8", "replace"))
    return seen.digest(), newest


def _stat(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except OSError:
        return 0, -1
    return status.st_mtime_ns, status.st_size
