"""The user's cache folder: private to the user; left alone if it is a link, a repository's or another user's."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import depth
from command_line import TYPO, start, write
from meshlens.caches import sealed
from meshlens.caches.folder import Cache, cache_of
from meshlens.caches.sealed import read_sealed, write_sealed

pytestmark = pytest.mark.slow

POSIX = pytest.mark.skipif(os.name == "nt", reason="owners and permissions of another kind")
ROOT = pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="only root gives files away")
NAME = "results-000000000000.bin"
FOUND = (1, b"a.py:7:29: AX101", b"")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = write(tmp_path / "project", {"a.py": TYPO, "pyproject.toml": ""})
    for path in (*root.iterdir(), root):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return root


@pytest.fixture
def caches(tmp_path: Path) -> Path:
    return tmp_path / "caches"


def _check(project: Path, caches: Path) -> tuple[int, bytes, bytes]:
    run = start("check", "--output-format", "concise", cwd=project, MESHLENS_CACHE_DIR=str(caches))
    out, err = run.communicate(timeout=300)
    return run.returncode, out[:16], err


def _cache(project: Path, caches: Path) -> Cache:
    cache = cache_of(project, caches)
    assert cache is not None
    return cache


def _tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@POSIX
def test_only_the_user_may_read_it(project, caches):
    assert _check(project, caches) == FOUND
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (caches, *caches.rglob("*")) if path.is_dir()}
    assert modes == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in caches.rglob("*.bin")} == {0o600}
    assert stat.S_IMODE((caches / "key").stat().st_mode) == 0o600
    assert len((caches / "key").read_bytes()) == 32
    assert (caches / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_projects_do_not_share(tmp_path, caches):
    one, other = (_cache(write(tmp_path / name, {"a.py": ""}), caches) for name in ("one", "other"))
    assert one.folder != other.folder
    assert one.key == other.key


@POSIX
@pytest.mark.parametrize("which", depth.some(["folder", "project", "key", "facts"], 1))
def test_a_link_is_left_alone(project, caches, tmp_path, which):
    assert _check(project, caches) == FOUND
    cache = _cache(project, caches)
    (facts,) = cache.folder.glob("facts-*.bin")
    place = {"folder": caches, "project": cache.folder, "key": caches / "key", "facts": facts}[which]
    for results in cache.folder.glob("results-*.bin"):
        results.unlink()
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    (project / "a.py").write_text(TYPO + "\n")
    elsewhere = tmp_path / "elsewhere"
    before = _tree(elsewhere) if elsewhere.is_dir() else {"": elsewhere.read_bytes()}
    assert _check(project, caches) == FOUND
    assert place.is_symlink()
    assert (_tree(elsewhere) if elsewhere.is_dir() else {"": elsewhere.read_bytes()}) == before


@ROOT
@pytest.mark.parametrize("which", depth.some(["folder", "project", "key", "facts"], 1))
def test_what_belongs_to_somebody_else_is_left_alone(project, caches, which):
    assert _check(project, caches) == FOUND
    cache = _cache(project, caches)
    (facts,) = cache.folder.glob("facts-*.bin")
    for results in cache.folder.glob("results-*.bin"):
        results.unlink()
    place = {"folder": caches, "project": cache.folder, "key": caches / "key", "facts": facts}[which]
    (project / "a.py").write_text(TYPO + "\n")
    os.chown(place, 12345, 12345)
    before = facts.read_bytes()
    assert _check(project, caches) == FOUND
    assert facts.read_bytes() == before
    assert place.stat().st_uid == 12345


@POSIX
@pytest.mark.parametrize(
    ("which", "mode"), depth.some([("folder", 0o777), ("folder", 0o720), ("key", 0o644), ("key", 0o620)], 1)
)
def test_what_others_may_write_is_no_cache(project, caches, which, mode):
    _cache(project, caches)
    (caches if which == "folder" else caches / "key").chmod(mode)
    assert cache_of(project, caches) is None
    assert _check(project, caches) == FOUND
    assert sorted(path.name for path in caches.iterdir()) == ["CACHEDIR.TAG", "key"]


@pytest.mark.parametrize("place", ["", "cache", "deep/er"])
def test_none_in_a_repository(tmp_path, project, place):
    repository = write(tmp_path / "other", {".git/HEAD": ""})
    assert cache_of(project, repository / place) is None
    assert cache_of(project, project / place) is None
    assert cache_of(project, Path("relative")) is None
    assert _tree(repository) == {".git/HEAD": b""}


@POSIX
def test_none_in_a_repository_by_a_link(tmp_path, project):
    (project / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "outside").symlink_to(project)
    assert cache_of(project, project / "link" / "cache") is None
    assert cache_of(project, tmp_path / "outside" / "cache") is None
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_log_says_why_there_is_none(project, caches, caplog):
    caches.write_text("a file")
    assert cache_of(project, caches) is None
    assert [record.getMessage() for record in caplog.records] == [
        f"cannot use a cache in {caches}: caches is a link or a file"
    ]


def test_half_a_key_is_made_anew_once_nobody_can_be_writing_it(project, caches):
    _cache(project, caches)
    (caches / "key").write_bytes(b"half")
    assert cache_of(project, caches) is None
    os.utime(caches / "key", (1_000_000_000, 1_000_000_000))
    assert len(_cache(project, caches).key) == 32


KEYS = """
import sys
from pathlib import Path
from meshlens.caches.folder import cache_of
sys.stdin.read()
print(cache_of(Path(sys.argv[1]), Path(sys.argv[2])).key.hex())
"""


@pytest.mark.deep
def test_runs_that_begin_together_have_one_key(project, caches):
    command = [sys.executable, "-c", KEYS, str(project), str(caches)]
    pipe = subprocess.PIPE
    runs = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(6)]
    keys = {run.communicate("", timeout=120)[0] for run in runs}
    assert len(keys) == 1
    assert len(keys.pop().strip()) == 64
    assert sorted(path.name for path in caches.iterdir()) == ["CACHEDIR.TAG", "key"]


WRITES = """
import sys
from pathlib import Path
from meshlens.caches.folder import cache_of
from meshlens.caches.sealed import read_sealed, write_sealed
cache = cache_of(Path(sys.argv[1]), Path(sys.argv[2]))
print("ready", flush=True)
for number in range(int(sys.argv[3])):
    write_sealed(cache, "results-000000000000.bin", bytes([number % 256]) * 300_000)
    found = read_sealed(cache, "results-000000000000.bin", 1 << 20)
    assert found is None or len(set(found)) == 1 and len(found) == 300_000, len(found)
"""


def _writer(project: Path, caches: Path, count: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", WRITES, str(project), str(caches), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


@pytest.mark.deep
def test_runs_that_write_together(project, caches):
    runs = [_writer(project, caches, 60) for _ in range(3)]
    for run in runs:
        run.communicate(timeout=300)
    assert [run.returncode for run in runs] == [0, 0, 0]
    cache = _cache(project, caches)
    assert [path.name for path in cache.folder.iterdir()] == [NAME]
    assert len(read_sealed(cache, NAME, 1 << 20) or b"") == 300_000


@pytest.mark.deep
@POSIX
def test_runs_that_are_killed_while_they_write(project, caches):
    cache = _cache(project, caches)
    for delay in range(12):
        run = _writer(project, caches, 1_000_000)
        assert run.stdout is not None
        run.stdout.readline()
        time.sleep(0.002 * delay)
        run.send_signal(signal.SIGKILL)
        run.wait(timeout=60)
        run.stdout.close()
        content = read_sealed(cache, NAME, 1 << 20)
        assert content is None or len(set(content)) == 1
    planted = cache.folder / f".{NAME}.1-abc.part"
    planted.write_bytes(b"half")
    write_sealed(cache, NAME, b"whole")
    assert planted.exists(), "it may be that of a run that is under way"
    for part in cache.folder.glob(".*.part"):
        os.utime(part, (1_000_000_000, 1_000_000_000))
    write_sealed(cache, NAME, b"whole")
    assert [path.name for path in cache.folder.iterdir()] == [NAME]


def test_old_projects_go_and_what_is_not_ours_stays(project, caches, monkeypatch):
    kept = _cache(project, caches)
    monkeypatch.setattr(sealed, "MOST_PROJECTS", 3)
    for number in range(5):
        other = Cache(caches / f"{number:024x}", kept.key)
        write_sealed(other, NAME, b"x")
        os.utime(other.folder / NAME, (1_900_000_000 + number, 1_900_000_000 + number))
    (caches / "other").mkdir()
    write_sealed(kept, NAME, b"x")
    left = sorted(path.name for path in caches.iterdir() if path.is_dir())
    assert left == sorted([f"{3:024x}", f"{4:024x}", "other", kept.folder.name])
    os.utime(caches / f"{3:024x}" / NAME, (1_000_000_000, 1_000_000_000))
    (caches / f"{3:024x}" / "mine").write_text("")
    os.utime(caches / f"{3:024x}" / "mine", (1_000_000_000, 1_000_000_000))
    write_sealed(kept, NAME, b"x")
    assert [path.name for path in (caches / f"{3:024x}").iterdir()] == ["mine"]
    assert (caches / f"{4:024x}" / NAME).exists()


def test_many_bytes_go_too(project, caches, monkeypatch):
    kept = _cache(project, caches)
    monkeypatch.setattr(sealed, "MOST_BYTES", 2500)
    for number in range(4):
        write_sealed(Cache(caches / f"{number:024x}", kept.key), NAME, b"x" * 1000)
        os.utime(caches / f"{number:024x}" / NAME, (1_900_000_000 + number, 1_900_000_000 + number))
    write_sealed(kept, NAME, b"x" * 1000)
    assert sorted(path.name for path in caches.iterdir() if path.is_dir()) == sorted([f"{3:024x}", kept.folder.name])
