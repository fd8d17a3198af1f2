"""The caches on disk: what is read equals what was written, and no content of a cache file can do harm."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import TYPO
from meshlens.caches.folder import Cache
from meshlens.facts.disk.restored import restored
from meshlens.facts.disk.stored import stored
from meshlens.facts.extract import extract
from meshlens.project.disk import cache as caching
from meshlens.project.disk.cache import FactsCache
from meshlens.project.disk.fingerprint import fingerprint
from meshlens.project.disk.results import ResultsCache, question
from own_cache import KEY, cache_in

SOURCES = [path.read_bytes() for path in sorted((Path(__file__).parent / "oracle" / "programs").glob("*.py"))[:40]]
ODD = (
    b"# meshlens: devices=8\nx = 1.5, None, ..., -0.0, 10**40, 1e400, 0x" + b"f" * 40 + b", '\\ud800'  # noqa: AX101\n"
    b"def f(:\n  # meshlens: ignore[AX101]\n  y = '\xc3\xa9'\n"
)
LONG_NAMES = b"class AnEstimatorWithALongName:\n  def a(self): 1\n  def a_method_that_gives(self): 1\n  def b(self): 1"
EVERY_NODE = b"""\
import a.b as c, d
from .. import e as f
from x import *
class K(Base, metaclass=M, **kw):
    y: int = 3
    async def m(self, /, a, b: int = 2, *args, c=4, **kw) -> None:
        async with a as b, c: await d
        async for i in x:
            yield i
        else:
            yield
        global g
        nonlocal h
        return [q async for q in w if q if not q]
@deco(1)
def f(*, k): return lambda z=1, *a: z if a else -z
x[1:2, ::3] = {**a, "k": v}; y = {1, *b}; z = (*c, True, None, ...)
u = {k: v for k, v in w}; t = f"{a}{b!r}"; s = a < b <= c is not d; r = a and b or not c
x += 1; x @= 2; del x, y
assert n := 1, "no"
while a:
    break
else:
    continue
try:
    pass
except (A, B) as e:
    raise
except C:
    raise D from e
else: pass
finally: pass
match p:
    case {"a": 1, **rest} if rest: pass
    case [A(b=c), *_] | None: pass
"""


def _filled(folder: Path, sources: list[bytes] = SOURCES) -> FactsCache:
    cache = FactsCache(cache_in(folder))
    for raw in sources:
        cache.put(raw, extract(raw))
    cache.save()
    return cache


def _file(folder: Path, kind: str = "facts") -> Path:
    (path,) = folder.rglob(f"{kind}-*.bin")
    return path


@pytest.mark.parametrize("source", [*SOURCES, ODD, EVERY_NODE, LONG_NAMES, b""])
def test_what_is_decoded_as_needed_is_the_same(source):
    facts = extract(source)
    later = restored(stored(facts), len(source), is_whole=False)
    assert [block.names for block in later.blocks.values()] == [block.names for block in facts.blocks.values()]
    assert later == facts
    again = restored(stored(restored(stored(facts), len(source), is_whole=True)), len(source), is_whole=True)
    assert again == facts
    assert repr([block.shape for block in again.blocks.values()]) == repr([b.shape for b in facts.blocks.values()])


def test_what_comes_back_is_what_went_in(tmp_path):
    _filled(tmp_path / "c", [*SOURCES, ODD, b""])
    cache = FactsCache(cache_in(tmp_path / "c"))
    for raw in [*SOURCES, ODD, b""]:
        assert cache.get(raw, len(raw)) == extract(raw)
    assert cache.get(b"something else", 14) is None


def test_saving_adds(tmp_path):
    _filled(tmp_path, SOURCES[:3])
    _filled(tmp_path, SOURCES[3:5])
    cache = FactsCache(cache_in(tmp_path))
    assert [cache.get(raw, len(raw)) is not None for raw in SOURCES[:6]] == [True] * 5 + [False]


def test_nothing_new_is_nothing_written(tmp_path):
    _filled(tmp_path)
    before = _file(tmp_path).stat().st_mtime_ns
    cache = FactsCache(cache_in(tmp_path))
    cache.get(SOURCES[0], len(SOURCES[0]))
    cache.save()
    assert _file(tmp_path).stat().st_mtime_ns == before


def test_what_another_version_wrote_is_cleared_away(tmp_path):
    folder = cache_in(tmp_path).folder
    folder.mkdir(mode=0o700)
    (folder / "facts-000000.bin").write_bytes(b"old")
    _filled(tmp_path)
    assert _file(tmp_path).name == f"facts-{fingerprint()}.bin"


def test_what_is_not_used_for_long_is_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(caching, "_RUNS_KEPT", 2)
    _filled(tmp_path, SOURCES[:1])
    for raw in SOURCES[1:5]:
        _filled(tmp_path, [raw])
    cache = FactsCache(cache_in(tmp_path))
    assert cache.get(SOURCES[0], len(SOURCES[0])) is None
    assert cache.get(SOURCES[4], len(SOURCES[4])) is not None


def test_a_file_of_facts_has_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(caching, "_MOST_BYTES", 20_000)
    for raw in SOURCES:
        _filled(tmp_path, [raw])
    assert _file(tmp_path).stat().st_size < 24_000
    last = SOURCES[-1]
    assert FactsCache(cache_in(tmp_path)).get(last, len(last)) is not None


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
    cache = FactsCache(cache_in(tmp_path))
    for source in SOURCES[:4]:
        assert cache.get(source, len(source)) in (None, extract(source))
    cache.put(SOURCES[5], extract(SOURCES[5]))
    cache.save()
    assert FactsCache(cache_in(tmp_path)).get(SOURCES[5], len(SOURCES[5])) == extract(SOURCES[5])


def test_what_another_key_has_sealed_is_nothing(tmp_path):
    place = cache_in(tmp_path)
    other = Cache(place.folder, bytes(32))
    forged = FactsCache(other)
    forged.put(SOURCES[0], extract(b""))
    forged.save()
    _results(other).put("q", [], [], 2 * 10**18)
    assert forged.get(SOURCES[0], len(SOURCES[0])) == extract(b"")
    assert FactsCache(place).get(SOURCES[0], len(SOURCES[0])) is None
    assert _results(place).get("q", [], list) is None


def test_what_is_sealed_for_one_project_or_purpose_is_nothing_for_another(tmp_path):
    place = cache_in(tmp_path)
    _filled(tmp_path, SOURCES[:1])
    other = Cache(place.folder.with_name("fedcba9876543210fedcba98"), KEY)
    other.folder.mkdir(mode=0o700)
    (other.folder / _file(tmp_path).name).write_bytes(_file(tmp_path).read_bytes())
    assert FactsCache(place).get(SOURCES[0], len(SOURCES[0])) is not None
    assert FactsCache(other).get(SOURCES[0], len(SOURCES[0])) is None
    (place.folder / f"results-{fingerprint()}.bin").write_bytes(_file(place.folder).read_bytes())
    assert _results(place).get("q", [], list) is None


@pytest.mark.parametrize("content", [b"", b"x", b"not a cache at all", os.urandom(4096)])
def test_a_foreign_file(tmp_path, content):
    folder = cache_in(tmp_path).folder
    folder.mkdir(mode=0o700)
    (folder / f"facts-{fingerprint()}.bin").write_bytes(content)
    assert FactsCache(cache_in(tmp_path)).get(SOURCES[0], len(SOURCES[0])) is None
    _filled(tmp_path)
    assert FactsCache(cache_in(tmp_path)).get(SOURCES[0], len(SOURCES[0])) is not None


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    _filled(tmp_path / "file")
    results = _results(cache_in(tmp_path / "file"))
    results.put("q", [], [], 0)
    assert results.get("q", [], list) is None


def _source(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text(TYPO)
    return tmp_path / "project" / "a.py"


def _results(cache: Cache) -> ResultsCache:
    return ResultsCache(cache)


def _aged(path: Path, seconds: int = 1_000_000_000) -> str:
    os.utime(path, (seconds, seconds))
    return str(path)


def test_results_hold_while_files_stay(tmp_path):
    source = _source(tmp_path)
    cache = _results(cache_in(tmp_path / "c"))
    asked = question("all", (1, 2))
    cache.put(asked, [_aged(source)], [["x", 1], None], 2 * 10**18)
    assert _results(cache_in(tmp_path / "c")).get(asked, [str(source)], list) == [["x", 1], None]
    assert cache.get(question("all", (1, 3)), [], list) is None
    source.write_text(TYPO + "\n")
    assert cache.get(asked, [], list) is None


def test_results_that_do_not_hang_on_what_was_asked_for_do_not_hold(tmp_path):
    source = _source(tmp_path)
    cache = _results(cache_in(tmp_path / "c"))
    cache.put("q", [], [], 2 * 10**18)
    assert cache.get("q", [], list) == []
    assert cache.get("q", [str(source)], list) is None


def test_results_notice_new_files_beside_old_ones(tmp_path):
    source = _source(tmp_path)
    cache = _results(cache_in(tmp_path / "c"))
    cache.put("q", [_aged(source)], [], 2 * 10**18)
    assert cache.get("q", [], list) == []
    (source.parent / "b.py").write_text("")
    assert cache.get("q", [], list) is None


def test_results_of_files_that_are_still_warm_are_not_kept(tmp_path):
    source = _source(tmp_path)
    cache = _results(cache_in(tmp_path / "c"))
    cache.put("q", [str(source)], [], source.stat().st_mtime_ns)
    assert cache.get("q", [], list) is None


def test_damaged_results(tmp_path):
    source = _source(tmp_path)
    cache = _results(cache_in(tmp_path / "c"))
    cache.put("q", [_aged(source)], [], 2 * 10**18)
    assert cache.get("q", [], list) == []
    raw = _file(tmp_path / "c", "results").read_bytes()
    for place in range(len(raw)):
        _file(tmp_path / "c", "results").write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        assert cache.get("q", [], list) is None


def test_a_check_in_which_nothing_has_changed_does_not_load_the_analysis(tmp_path):
    project, cache = tmp_path / "project", tmp_path / "cache"
    project.mkdir()
    (project / "pyproject.toml").write_text("[tool.meshlens]\n")
    (project / "train.py").write_text(TYPO)
    os.utime(project / "train.py", (1, 1))
    command = [sys.executable, "-X", "importtime", "-m", "meshlens", "check", "--cache-dir", str(cache)]
    first, second = (subprocess.run(command, cwd=project, capture_output=True, check=False) for _ in range(2))
    assert first.stdout == second.stdout != b""
    assert [b" meshlens.axes.interpreter\n" in one.stderr for one in (first, second)] == [True, False]
