"""The cache on disk: what comes back equals what went in, and nothing that lies there can do harm."""

from __future__ import annotations

import marshal
import os
import struct
from pathlib import Path

import pytest

from command_line import TYPO
from meshlens.facts.extract import extract
from meshlens.facts.packing import packed, unpacked, unpacked_as_needed
from meshlens.project import cache as caching
from meshlens.project.cache import FactsCache, fingerprint
from meshlens.project.results import ResultsCache, question

SOURCES = [path.read_bytes() for path in sorted((Path(__file__).parent / "oracle" / "programs").glob("*.py"))[:40]]
ODD = (
    b"# meshlens: devices=8\nx = 1.5, None, ..., -0.0, 10**40  # noqa: AX101\n"
    b"def f(:\n  # meshlens: ignore[AX101]\n  y = '\xc3\xa9'\n"
)


def _filled(folder, sources=SOURCES):
    cache = FactsCache(folder)
    for raw in sources:
        cache.put(raw, extract(raw))
    cache.save()
    return cache


def _file(folder, kind="facts"):
    (path,) = folder.glob(f"{kind}-*.bin")
    return path


@pytest.mark.parametrize("source", [*SOURCES, ODD, b""])
def test_what_is_decoded_as_needed_is_the_same_and_is_packed_again_as_it_is(source):
    facts = extract(source)
    blob = packed(facts)
    later = unpacked_as_needed(blob)
    assert marshal.loads(packed(later)) == marshal.loads(blob)
    assert [block.names for block in later.blocks.values()] == [block.names for block in facts.blocks.values()]
    assert later == facts
    assert unpacked(packed(unpacked(blob))) == facts


def test_what_comes_back_is_what_went_in(tmp_path):
    _filled(tmp_path / "c", [*SOURCES, ODD, b""])
    cache = FactsCache(tmp_path / "c")
    for raw in [*SOURCES, ODD, b""]:
        assert cache.get(raw) == extract(raw)
    assert cache.get(b"something else") is None


def test_saving_adds(tmp_path):
    _filled(tmp_path, SOURCES[:3])
    _filled(tmp_path, SOURCES[3:5])
    cache = FactsCache(tmp_path)
    assert [cache.get(raw) is not None for raw in SOURCES[:6]] == [True] * 5 + [False]


def test_a_folder_says_what_it_is(tmp_path):
    _filled(tmp_path / "a" / "c")
    assert (tmp_path / "a" / "c" / ".gitignore").read_text().endswith("*\n")
    assert (tmp_path / "a" / "c" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_nothing_new_is_nothing_written(tmp_path):
    _filled(tmp_path)
    before = _file(tmp_path).stat().st_mtime_ns
    cache = FactsCache(tmp_path)
    cache.get(SOURCES[0])
    cache.save()
    assert _file(tmp_path).stat().st_mtime_ns == before


def test_what_another_version_wrote_is_cleared_away(tmp_path, monkeypatch):
    (tmp_path / "facts-000000.bin").write_bytes(b"old")
    _filled(tmp_path)
    assert _file(tmp_path).name == f"facts-{fingerprint()}.bin"


def test_what_is_not_used_for_long_is_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(caching, "_RUNS_KEPT", 2)
    _filled(tmp_path, SOURCES[:1])
    for raw in SOURCES[1:5]:
        _filled(tmp_path, [raw])
    assert FactsCache(tmp_path).get(SOURCES[0]) is None
    assert FactsCache(tmp_path).get(SOURCES[4]) is not None


@pytest.mark.parametrize("seed", range(60))
def test_damage_costs_only_time(tmp_path, seed):
    _filled(tmp_path, SOURCES[:4])
    raw = bytearray(_file(tmp_path).read_bytes())
    place = seed * len(raw) // 60
    if seed % 3 == 0:
        raw[place] ^= 0xFF
    elif seed % 3 == 1:
        del raw[place:]
    else:
        raw[place:place] = b"\x00\xff" * 7
    _file(tmp_path).write_bytes(raw)
    cache = FactsCache(tmp_path)
    for source in SOURCES[:4]:
        assert cache.get(source) in (None, extract(source))
    cache.put(SOURCES[5], extract(SOURCES[5]))
    cache.save()
    assert FactsCache(tmp_path).get(SOURCES[5]) == extract(SOURCES[5])


@pytest.mark.parametrize("content", [b"", b"x", b"not a cache at all", os.urandom(4096)])
def test_a_foreign_file(tmp_path, content):
    path = tmp_path / f"facts-{fingerprint()}.bin"
    path.write_bytes(content)
    assert FactsCache(tmp_path).get(SOURCES[0]) is None
    _filled(tmp_path)
    assert FactsCache(tmp_path).get(SOURCES[0]) is not None


def test_an_index_of_another_shape(tmp_path):
    packed = marshal.dumps([1, 2])
    header = struct.pack("<9sIQ", b"MeshLens\x01", __import__("zlib").crc32(packed), len(packed))
    (tmp_path / f"facts-{fingerprint()}.bin").write_bytes(header + packed)
    assert FactsCache(tmp_path).get(SOURCES[0]) is None


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    _filled(tmp_path / "file" / "c")
    ResultsCache(tmp_path / "file" / "c").put(b"q", [], (), 0)
    assert ResultsCache(tmp_path / "file" / "c").get(b"q") is None


def _aged(path, seconds=1_000_000_000):
    os.utime(path, (seconds, seconds))
    return str(path)


def test_results_hold_while_files_stay(tmp_path):
    source = tmp_path / "a.py"
    source.write_text(TYPO)
    cache = ResultsCache(tmp_path / "c")
    asked = question("all", (1, 2))
    cache.put(asked, [_aged(source)], (("x", 1), None), 2 * 10**18)
    assert ResultsCache(tmp_path / "c").get(asked) == (("x", 1), None)
    assert cache.get(question("all", (1, 3))) is None
    source.write_text(TYPO + "\n")
    assert cache.get(asked) is None


def test_results_notice_new_files_beside_old_ones(tmp_path):
    source = tmp_path / "pkg" / "a.py"
    source.parent.mkdir()
    source.write_text(TYPO)
    cache = ResultsCache(tmp_path / "c")
    cache.put(b"q", [_aged(source)], (), 2 * 10**18)
    assert cache.get(b"q") == ()
    (tmp_path / "pkg" / "b.py").write_text("")
    assert cache.get(b"q") is None


def test_results_of_files_that_are_still_warm_are_not_kept(tmp_path):
    source = tmp_path / "a.py"
    source.write_text(TYPO)
    cache = ResultsCache(tmp_path / "c")
    cache.put(b"q", [str(source)], (), source.stat().st_mtime_ns)
    assert cache.get(b"q") is None


def test_damaged_results(tmp_path):
    source = tmp_path / "a.py"
    source.write_text(TYPO)
    ResultsCache(tmp_path / "c").put(b"q", [_aged(source)], (), 2 * 10**18)
    raw = _file(tmp_path / "c", "results").read_bytes()
    for place in range(len(raw)):
        _file(tmp_path / "c", "results").write_bytes(raw[:place] + b"\x7f" + raw[place + 1 :])
        assert ResultsCache(tmp_path / "c").get(b"q") in (None, ())
