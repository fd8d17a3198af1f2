"""A cache of complete results on disk: a result is reused if no file has changed since it was stored."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from meshlens.caches.folder import Cache
from meshlens.caches.sealed import read_sealed, write_sealed
from meshlens.project.disk.fingerprint import fingerprint

_RUNS_KEPT = 12
_MOST_BYTES = 1 << 26

# If a file changed less than this many nanoseconds before a run, it could change again with the same timestamp.
_CLOCK_STEP = 50_000_000

_Result = TypeVar("_Result")
_log = logging.getLogger("meshlens")


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored result.

    Attributes:
        files: every file that was read.
        state: a hash of their state and that of their folders.
        result: the result as JSON values.
    """

    files: tuple[str, ...]
    state: str
    result: Any


class ResultsCache:
    """Results by request, each with the files that it depends on."""

    def __init__(self, place: Cache) -> None:
        self._place = place
        self._name = f"results-{fingerprint()}.bin"

    def get(self, question: str, asked: Iterable[str], decode: Callable[[Any], _Result]) -> _Result | None:
        """Returns the stored result of a request; None if there is none or a file has changed since.

        Args:
            question: identifies the whole request, including the files.
            asked: the requested files, all of which the stored run must have read.
            decode: decodes the result from JSON values; may raise ValueError, TypeError, LookupError.
        """
        try:
            kept = self._load().get(question)
            if kept is None or not set(asked) <= set(kept.files) or _state(kept.files)[0] != kept.state:
                return None
            return decode(kept.result)
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            _log.info("ignored results in %s: %s", self._place.folder, error)
            return None

    def put(self, question: str, files: Sequence[str], result: Any, started: int) -> None:
        """Stores a result.

        Args:
            question: as for `get`.
            files: every file that was read; the stored state covers these files and their folders.
            result: the result as JSON values.
            started: when the run began, in nanoseconds; nothing is stored if a file is newer.
        """
        state, newest = _state(files)
        if newest > started - _CLOCK_STEP:
            return
        try:
            entries = self._load()
        except (ValueError, TypeError, LookupError, RecursionError):
            entries = {}
        entries.pop(question, None)
        entries[question] = Kept(tuple(files), state, result)
        newest_ones = list(entries.items())[-_RUNS_KEPT:]
        said = {asked: (kept.files, kept.state, kept.result) for asked, kept in newest_ones}
        content = json.dumps(said, separators=(",", ":")).encode("ascii")
        if len(content) <= _MOST_BYTES:
            write_sealed(self._place, self._name, content)

    def _load(self) -> dict[str, Kept]:
        """Returns the contents of the file.

        Raises:
            ValueError, TypeError, LookupError, RecursionError: the file was written by another program.
        """
        content = read_sealed(self._place, self._name, _MOST_BYTES)
        found = json.loads(content) if content is not None else {}
        if not isinstance(found, dict):
            raise TypeError("not results")
        return {asked: _kept(*entry) for asked, entry in found.items()}


def question(*parts: object) -> str:
    """Returns a hash that identifies a run by everything that was requested."""
    return hashlib.blake2b(repr(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()


def _kept(files: Any, state: Any, result: Any) -> Kept:
    if type(files) is not list or set(map(type, files)) - {str} or type(state) is not str:
        raise ValueError("not a result")
    return Kept(tuple(files), state, result)


def _state(files: Iterable[str]) -> tuple[str, int]:
    """Returns a hash of the state of files and their folders, and the time of the newest file."""
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
    return seen.hexdigest(), newest


def _stat(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return 0, -1
    return status.st_mtime_ns, status.st_size
