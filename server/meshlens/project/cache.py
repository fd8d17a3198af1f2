"""Facts kept on disk under the hash of the bytes that they were drawn from.

One file for a project; each file's facts are decoded only when they are asked for.  The format is `marshal`, which
cannot run code; a file that is damaged, or was written by another version, counts as empty.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import struct
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO

import meshlens
from meshlens.cache_files import write_cache_file
from meshlens.facts.model import FileFacts
from meshlens.facts.packing import packed, unpacked

_MAGIC = b"MeshLens\x01"
_HEADER = struct.Struct("<9sIQ")
_RUNS_KEPT = 30

_Entry = tuple[int, int, int, int]


def digest(raw: bytes) -> bytes:
    """What stands for a file's content."""
    return hashlib.blake2b(raw, digest_size=16).digest()


class FactsCache:
    """The facts of files by the hash of their bytes; safe to share between checkouts and branches.

    Reads and writes never fail: where the disk does not play along, nothing is remembered.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"facts-{fingerprint()}.bin"
        self._file: BinaryIO | None = None
        self._base = 0
        self._entries: dict[bytes, _Entry] = {}
        self._used: set[bytes] = set()
        self._new: dict[bytes, bytes] = {}
        self._load()

    def get(self, raw: bytes, decode: Callable[[bytes], FileFacts] = unpacked) -> FileFacts | None:
        """The facts of a file with these bytes, None if they are not known.

        Args:
            raw: the bytes.
            decode: makes them of what is on the disk.
        """
        key = digest(raw)
        blob = self._new.get(key) or self._blob(key)
        if blob is None:
            return None
        try:
            facts = decode(blob)
        except (ValueError, EOFError, TypeError, KeyError, IndexError):
            self._entries.pop(key, None)
            return None
        self._used.add(key)
        return facts

    def put(self, raw: bytes, facts: FileFacts) -> None:
        """Remembers the facts of a file with these bytes."""
        if facts.failure:
            return
        with suppress(ValueError):
            self._new[digest(raw)] = packed(facts)

    def save(self) -> None:
        """Writes what is new; a reader sees the old file or the new one, never a half."""
        if not self._new:
            return
        index: dict[bytes, _Entry] = {}
        blobs: list[bytes] = []
        at = 0
        for key, (_, _, _, age) in list(self._entries.items()):
            age = 0 if key in self._used else age + 1
            blob = self._blob(key) if age <= _RUNS_KEPT and key not in self._new else None
            if blob is not None:
                index[key] = (at, len(blob), zlib.crc32(blob), age)
                blobs.append(blob)
                at += len(blob)
        for key, blob in self._new.items():
            index[key] = (at, len(blob), zlib.crc32(blob), 0)
            blobs.append(blob)
            at += len(blob)
        packed = marshal.dumps(index)
        self.close()
        header = _HEADER.pack(_MAGIC, zlib.crc32(packed), len(packed))
        write_cache_file(self._path, b"".join((header, packed, *blobs)))
        self._entries, self._new = {}, {}
        self._load()

    def close(self) -> None:
        """Lets go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _load(self) -> None:
        try:
            self._file = self._path.open("rb")
            magic, checksum, size = _HEADER.unpack(self._file.read(_HEADER.size))
            packed = self._file.read(size) if magic == _MAGIC and size < 1 << 30 else b""
            if zlib.crc32(packed) != checksum:
                raise ValueError("damaged")
            entries = marshal.loads(packed)
            if not isinstance(entries, dict):
                raise TypeError("not an index")
        except (OSError, struct.error, ValueError, EOFError, TypeError):
            self.close()
            return
        self._entries = entries
        self._base = _HEADER.size + size

    def _blob(self, key: bytes) -> bytes | None:
        entry = self._entries.get(key)
        if entry is None or self._file is None:
            return None
        offset, size, checksum, _ = entry
        try:
            self._file.seek(self._base + offset)
            blob = self._file.read(size)
        except (OSError, ValueError):
            return None
        return blob if len(blob) == size and zlib.crc32(blob) == checksum else None


@cache
def fingerprint() -> str:
    """What stands for this program: its version, its own files and the Python that runs it."""
    parts = [meshlens.__version__, sys.version, str(marshal.version)]
    own = os.path.dirname(meshlens.__file__)
    for folder in sorted(entry.path for entry in os.scandir(own) if entry.is_dir() and entry.name[0] not in "._"):
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                status = entry.stat()
                parts.append(f"{entry.path}:{status.st_mtime_ns}:{status.st_size}")
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=6).hexdigest()
