"""A cache of facts on disk, keyed by a hash of the bytes that they were extracted from.

Each project has one cache file with a sealed index; the facts of each source file have their own seal, and are decoded
on demand. A cache file that is damaged, was not sealed by this user, or comes from another version counts as empty.
"""

from __future__ import annotations

import hashlib
import logging
import os
import struct
from contextlib import suppress
from typing import BinaryIO, NamedTuple

from meshlens.caches.folder import Cache
from meshlens.caches.own_files import NotOurs, open_file
from meshlens.caches.sealed import SEAL, is_sealed, seal, sealing_key, write_cache_file
from meshlens.facts.disk.grammar import NotFacts
from meshlens.facts.disk.restored import restored
from meshlens.facts.disk.stored import stored
from meshlens.facts.model import FileFacts
from meshlens.project.disk.fingerprint import fingerprint

_DIGEST = 16
_COUNT = struct.Struct("<I")
_ROW = struct.Struct(f"<{_DIGEST}sQII{SEAL}s")
_RUNS_KEPT = 30
_MOST_BYTES = 1 << 28
_log = logging.getLogger("meshlens")


class _Entry(NamedTuple):
    """The location of one file's facts.

    Attributes:
        offset, size: the bytes that contain them; the offset counts from the end of the index.
        age: the number of runs since they were last used.
        seal: their seal.
    """

    offset: int
    size: int
    age: int
    seal: bytes


class FactsCache:
    """The facts of files by the hash of their bytes, valid for every branch of a project.

    Reads and writes never fail: if the disk fails, nothing is cached.
    """

    def __init__(self, place: Cache) -> None:
        self._place = place
        self._name = f"facts-{fingerprint()}.bin"
        self._key = sealing_key(place, self._name)
        self._file: BinaryIO | None = None
        self._base = 0
        self._size = 0
        self._entries: dict[bytes, _Entry] = {}
        self._used: set[bytes] = set()
        self._new: dict[bytes, bytes] = {}
        self._load()

    def get(self, raw: bytes, size: int, *, is_whole: bool = True) -> FileFacts | None:
        """Returns the facts of a file with these bytes; None if they are unknown.

        Args:
            raw: the bytes.
            size: the length of its Python text.
            is_whole: whether to also read the bodies of functions, which are otherwise read on demand.
        """
        digest = self._digest(raw)
        blob = self._new.get(digest) or self._blob(digest)
        if blob is None:
            return None
        try:
            facts = restored(blob, size, is_whole=is_whole)
        except NotFacts as error:
            _log.info("ignored facts in %s: %s", self._place.folder, error)
            self._entries.pop(digest, None)
            return None
        self._used.add(digest)
        return facts

    def put(self, raw: bytes, facts: FileFacts) -> None:
        """Stores the facts of a file with these bytes."""
        if facts.failure:
            return
        with suppress(NotFacts):
            self.put_stored(raw, stored(facts))

    def put_stored(self, raw: bytes, blob: bytes) -> None:
        """Stores facts that are already serialized."""
        self._new[self._digest(raw)] = blob

    def save(self) -> None:
        """Writes new entries; a reader sees the old file or the new one, never a partial one."""
        if not self._new:
            return
        blobs = {digest: (0, blob) for digest, blob in self._new.items()}
        for digest, entry in sorted(self._entries.items(), key=lambda item: item[1].age):
            age = 0 if digest in self._used else entry.age + 1
            blob = self._blob(digest) if age <= _RUNS_KEPT and digest not in blobs else None
            if blob is not None:
                blobs[digest] = (age, blob)
        rows: list[bytes] = []
        content: list[bytes] = []
        at = 0
        for digest, (age, blob) in blobs.items():
            if at + len(blob) > _MOST_BYTES:
                continue
            rows.append(_ROW.pack(digest, at, len(blob), age, seal(self._key, digest + blob)))
            content.append(blob)
            at += len(blob)
        index = _COUNT.pack(len(rows)) + b"".join(rows)
        self.close()
        write_cache_file(self._place, self._name, b"".join((index, seal(self._key, index), *content)))
        self._entries, self._new = {}, {}
        self._load()

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _digest(self, raw: bytes) -> bytes:
        """Returns a digest of a file's content; without the key, nobody can create other content with this digest."""
        return hashlib.blake2b(raw, key=self._key, digest_size=_DIGEST).digest()

    def _load(self) -> None:
        try:
            self._file = file = open_file(self._place.folder / self._name, 2 * _MOST_BYTES)
            if file is None:
                return
            head = file.read(_COUNT.size)
            size = _COUNT.unpack(head)[0] * _ROW.size
            self._size = os.fstat(file.fileno()).st_size
            if size > self._size:
                raise ValueError("its index is longer than the file")
            index = head + file.read(size)
            if not is_sealed(self._key, index, file.read(SEAL)):
                raise ValueError("not sealed by the user's key")
            rows = _ROW.iter_unpack(index[_COUNT.size :])
            self._entries = {digest: _Entry(*where) for digest, *where in rows}
        except (OSError, NotOurs, struct.error, ValueError) as error:
            _log.info("ignored the cache in %s: %s", self._place.folder, error)
            self.close()
            return
        self._base = len(index) + SEAL

    def _blob(self, digest: bytes) -> bytes | None:
        entry = self._entries.get(digest)
        if entry is None or self._file is None or self._base + entry.offset + entry.size > self._size:
            return None
        try:
            self._file.seek(self._base + entry.offset)
            blob = self._file.read(entry.size)
        except (OSError, ValueError, OverflowError):
            return None
        return blob if is_sealed(self._key, digest + blob, entry.seal) else None
