"""Caches as earlier versions kept them: in the project, as `marshal` data with a checksum that anybody can compute."""

from __future__ import annotations

import hashlib
import marshal
import struct
import zlib
from pathlib import Path
from typing import Any

from meshlens.project.disk.fingerprint import fingerprint

FOLDER = ".meshlens_cache"

# A tuple whose only item is a frozenset that holds the tuple: hashing it crashes the interpreter.
HOLDS_ITSELF = b"\xa9\x01" + b">" + (1).to_bytes(4, "little") + b"r" + (0).to_bytes(4, "little")

# A tuple that claims to have 2,000,000,000 items.
HUGE = b"(" + (2_000_000_000).to_bytes(4, "little")


def facts_file(root: Path, blobs: dict[bytes, bytes]) -> None:
    """Forges a file of facts.

    Args:
        root: the project.
        blobs: `marshal` data by the content of each file.
    """
    index, at = {}, 0
    for raw, blob in blobs.items():
        index[hashlib.blake2b(raw, digest_size=16).digest()] = (at, len(blob), zlib.crc32(blob), 0)
        at += len(blob)
    write_facts(root, marshal.dumps(index), b"".join(blobs.values()))


def write_facts(root: Path, index: bytes, blobs: bytes = b"") -> None:
    """Forges a file of facts with any index."""
    header = struct.pack("<9sIQ", b"MeshLens\x01", zlib.crc32(index), len(index))
    _write(root, f"facts-{fingerprint()}.bin", header + index + blobs)


def write_results(root: Path, entries: bytes) -> None:
    """Forges a file of results with any bytes as its entries."""
    header = struct.pack("<9sI", b"MeshLens\x02", zlib.crc32(entries))
    _write(root, f"results-{fingerprint()}.bin", header + entries)


def empty_facts() -> bytes:
    """Returns the facts of an empty file."""
    return marshal.dumps(((), (), (), None, ()))


def every_result(questions: dict[bytes, Any]) -> bytes:
    """Returns results that depend on no file."""
    state = hashlib.blake2b(digest_size=16).digest()
    return marshal.dumps({asked: ((), state, result) for asked, result in questions.items()})


def _write(root: Path, name: str, content: bytes) -> None:
    (root / FOLDER).mkdir(exist_ok=True)
    (root / FOLDER / name).write_bytes(content)
