"""Caches that nobody should trust: damaged ones, foreign ones, and those that only the user's key could have sealed."""

from __future__ import annotations

import json
import marshal
import pickle
import random
import struct
from collections.abc import Callable, Mapping
from typing import Any

import forged_before
from meshlens.caches.folder import Cache
from meshlens.caches.sealed import SEAL, seal, sealing_key
from meshlens.facts.disk.grammar import HEADER, ROW
from meshlens.project.disk.cache import _COUNT
from meshlens.project.disk.cache import _ROW as INDEX_ROW

_HOSTILE_NUMBERS = (0, 1, 2, 127, 255, 256, 65_535, 65_536, (1 << 31) - 1, 1 << 31, (1 << 32) - 1)
_HOSTILE_VALUES: tuple[Any, ...] = (
    None, True, -1, 1 << 70, 1e308, float("nan"), "", "x" * 5000, "\ud800", [], {}, [[]], [None] * 50, {"a": []},
)  # fmt: skip


def damaged(raw: bytes, chance: random.Random) -> bytes:
    """Returns bytes some of which were flipped, cut, doubled or inserted."""
    content = bytearray(raw)
    for _ in range(chance.choice((1, 1, 1, 2, 8, 40))):
        place = chance.randrange(len(content) + 1)
        kind = chance.randrange(6)
        if kind == 0 and place < len(content):
            content[place] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del content[place : place + chance.choice((1, 4, 100, 1 << 20))]
        elif kind == 2:
            content[place:place] = chance.randbytes(chance.choice((1, 4, 64)))
        elif kind == 3:
            content[place : place + 4] = struct.pack("<I", chance.choice(_HOSTILE_NUMBERS))
        elif kind == 4:
            other = chance.randrange(len(content) + 1)
            content[place:place] = content[other : other + chance.randrange(200)]
        elif place < len(content):
            content[place] = chance.choice((0, 1, 127, 128, 255))
    return bytes(content)


def foreign(chance: random.Random) -> bytes:
    """Returns what another program, or an earlier version, might have written."""
    kinds: tuple[Callable[[], bytes], ...] = (
        lambda: b"",
        lambda: chance.randbytes(chance.choice((1, 16, 20, 36, 400, 20_000))),
        lambda: b"\x00" * chance.choice((1, 20, 100_000)),
        lambda: b"\xff" * chance.choice((4, 20, 5000)),
        lambda: b"[" * 100_000,
        lambda: forged_before.HOLDS_ITSELF,
        lambda: forged_before.HUGE,
        lambda: marshal.dumps(((), (), (), None, ())),
        lambda: pickle.dumps({"files": ()}),
        lambda: json.dumps({"q": [[], "", []]}).encode(),
        lambda: struct.pack("<I", 1 << 31) + b"\x00" * 100,
    )
    return chance.choice(kinds)()


def sealed_anyway(cache: Cache, name: str, content: bytes) -> bytes:
    """Returns a whole file as somebody who has the user's key could have sealed it."""
    return seal(sealing_key(cache, name), content) + content


def facts_file(cache: Cache, name: str, blobs: Mapping[bytes, bytes], chance: random.Random | None = None) -> bytes:
    """Returns a file of facts as the owner of the user's key could write it; with `chance`, its index is hostile."""
    key = sealing_key(cache, name)
    rows, at = [], 0
    for digest, blob in blobs.items():
        offset, size = at, len(blob)
        if chance is not None and chance.random() < 0.5:
            offset, size = chance.choice((offset, 1 << 63, 1 << 40)), chance.choice(_HOSTILE_NUMBERS)
        rows.append(INDEX_ROW.pack(digest, offset, size, 0, seal(key, digest + blob)))
        at += len(blob)
    count = len(rows) if chance is None or chance.random() < 0.5 else chance.choice(_HOSTILE_NUMBERS)
    index = _COUNT.pack(count) + b"".join(rows)
    return b"".join((index, seal(key, index), *blobs.values()))


def blobs_of(raw: bytes) -> dict[bytes, bytes]:
    """Returns the facts in a file of ours, by digest."""
    (count,) = _COUNT.unpack_from(raw)
    base = _COUNT.size + count * INDEX_ROW.size
    rows = INDEX_ROW.iter_unpack(raw[_COUNT.size : base])
    base += SEAL
    return {digest: raw[base + offset : base + offset + size] for digest, offset, size, *_ in rows}


def hostile_blob(blob: bytes, chance: random.Random) -> bytes:
    """Returns facts of which one part is hostile, while the rest stays where it was."""
    if len(blob) < HEADER.size:
        return foreign(chance)
    size, count = HEADER.unpack_from(blob)
    table = HEADER.size + size
    data = table + count * ROW.size
    kind = chance.randrange(4) if data < len(blob) else 3
    if kind == 0:
        try:
            words = json.loads(blob[HEADER.size : table])
        except ValueError:
            return damaged(blob, chance)
        said = json.dumps(hostile_values(words, chance)).encode()
        return HEADER.pack(len(said), count) + said + blob[table:]
    if kind == 1:
        return blob[:table] + damaged(blob[table:data], chance)[: data - table].ljust(data - table, b"\0") + blob[data:]
    if kind == 2:
        content = bytearray(blob)
        for _ in range(chance.choice((1, 2, 10))):
            place = chance.randrange(data, len(content)) if data < len(content) else 0
            content[place] = chance.choice((0, 1, 2, 3, chance.randrange(256), content[place] ^ 1))
        return bytes(content)
    return damaged(blob, chance)


def hostile_values(value: Any, chance: random.Random) -> Any:
    """Returns JSON values, one of which is replaced by something else."""
    if isinstance(value, list) and value and chance.random() < 0.9:
        place = chance.randrange(len(value))
        kind = chance.random()
        if kind < 0.1:
            return value[:place] + value[place + 1 :]
        if kind < 0.2:
            return [*value[:place], value[place], *value[place:]]
        return [*value[:place], hostile_values(value[place], chance), *value[place + 1 :]]
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(list(value))
        return {**value, key: hostile_values(value[key], chance)}
    return chance.choice(_HOSTILE_VALUES)


__all__ = ["blobs_of", "damaged", "facts_file", "foreign", "hostile_blob", "hostile_values", "sealed_anyway"]
