"""Reports are kept on disk until what they depend on changes; whatever happens to the file, there is an answer."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from fake_interpreters import answer, fake, raised
from meshlens.caches.sealed import read_sealed, write_sealed
from meshlens.devices.reports import FILE, kept_report, new_report, report_of
from meshlens.devices.runner import Question
from own_cache import cache_in

NOWHERE = Path("/nonexistent")
ENVIRON = {"PATH": "", "JAX_PLATFORMS": "cpu"}


class Asked:
    """An interpreter in an environment of its own; counts how often it was asked."""

    def __init__(self, tmp_path: Path) -> None:
        self.environment = tmp_path / "environment"
        self.packages = self.environment / "lib" / "python3.11" / "site-packages"
        self.packages.mkdir(parents=True)
        self.log = tmp_path / "log"
        self.cache = cache_in(tmp_path / "caches")
        self.python = self.says(answer())

    def says(self, line: str) -> str:
        body = f"open({str(self.log)!r}, 'a').write('x')\nprint({line!r})"
        return fake(self.environment / "bin", body)

    def times(self) -> int:
        return len(self.log.read_text()) if self.log.exists() else 0

    def report(self, environ=ENVIRON, **question):
        return report_of(Question(self.python, **question), self.cache, environ=environ, root=NOWHERE)


@pytest.fixture
def asked(tmp_path) -> Asked:
    return Asked(tmp_path)


def test_a_report_is_kept(asked):
    assert kept_report(Question(asked.python), asked.cache, environ=ENVIRON, root=NOWHERE) is None
    first = asked.report()
    assert asked.report() == first == kept_report(Question(asked.python), asked.cache, environ=ENVIRON, root=NOWHERE)
    assert asked.times() == 1


def test_again(asked):
    asked.report()
    new_report(Question(asked.python), asked.cache, environ=ENVIRON, root=NOWHERE)
    assert asked.times() == 2


def _later(path: Path) -> None:
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))


@pytest.mark.parametrize("change", ["a package", "the interpreter", "a variable", "the level", "a tpu"])
def test_what_a_report_hangs_on(asked, change):
    asked.report()
    environ, question = dict(ENVIRON), {}
    if change == "a package":
        (asked.packages / "jax-0.11.0.dist-info").mkdir()
        _later(asked.packages)
    elif change == "the interpreter":
        _later(Path(asked.python))
    elif change == "a variable":
        environ["JAX_PLATFORMS"] = "cuda"
    elif change == "the level":
        question["level"] = "installed"
    else:
        question["may_start_tpu"] = True
    asked.report(environ, **question)
    assert asked.times() == 2


def test_a_container_that_is_handed_a_gpu(asked, tmp_path):
    def report() -> None:
        report_of(Question(asked.python), asked.cache, environ=ENVIRON, root=tmp_path / "root")

    report()
    (tmp_path / "root" / "dev" / "dri").mkdir(parents=True)
    report()
    assert asked.times() == 1
    (tmp_path / "root" / "dev" / "nvidia0").touch()
    report()
    assert asked.times() == 2


def test_a_variable_that_no_probe_sees_changes_nothing(asked):
    asked.report()
    asked.report({**ENVIRON, "PYTHONPATH": "x", "EDITOR": "y"})
    assert asked.times() == 1


def test_what_failed_is_asked_again(asked):
    asked.says(raised("RuntimeError", "the TPU is already in use by another process"))
    assert asked.report().failure is not None
    asked.says(answer())
    assert asked.report().failure is None


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\x00", b"[" * 100_000, b'{"devices": 3}'])
def test_a_damaged_file_is_made_anew(asked, content):
    first = asked.report()
    write_sealed(asked.cache, FILE, content)
    assert asked.report().devices == first.devices
    assert asked.times() == 2
    assert asked.report().devices == first.devices
    assert asked.times() == 2


def test_a_file_that_is_not_sealed_is_made_anew(asked):
    assert asked.report().python == "3.11.8"
    path = asked.cache.folder / FILE
    path.write_bytes(path.read_bytes().replace(b"3.11.8", b"3.11.9"))
    assert asked.report().python == "3.11.8"
    assert asked.times() == 2


@pytest.mark.parametrize("change", [{"contract": 2}, {"devices": 3}, {"level": None}])
def test_a_damaged_entry_is_made_anew(asked, change):
    asked.report()
    entries = json.loads(read_sealed(asked.cache, FILE, 1 << 22))
    for entry in entries.values():
        entry["report"].update(change)
    write_sealed(asked.cache, FILE, json.dumps(entries).encode())
    assert asked.report().failure is None
    assert asked.times() == 2


def test_a_cache_that_cannot_be_written_is_no_failure(asked):
    asked.cache.folder.parent.write_text("a file where the folder should be")
    assert asked.report().failure is None
    assert asked.report().failure is None
    assert asked.times() == 2


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_must_not_be_written_is_no_failure(asked):
    asked.cache.folder.parent.mkdir(mode=0o500)
    assert asked.report().failure is None


def test_an_untrusted_workspace_has_no_part_in_it(asked, tmp_path):
    elsewhere = tmp_path / "workspace"
    elsewhere.mkdir()
    asked.report(untrusted=(elsewhere,), level="installed")
    assert not asked.cache.folder.exists()
    asked.report(level="installed")
    entries = json.loads(read_sealed(asked.cache, FILE, 1 << 22))
    for entry in entries.values():
        entry["report"]["python"] = "planted"
    write_sealed(asked.cache, FILE, json.dumps(entries).encode())
    assert asked.report(level="installed").python == "planted"
    # No program is asked for its version, either.
    assert asked.report(untrusted=(elsewhere,), level="installed").python == ""


@pytest.mark.slow
def test_few_are_kept(asked, tmp_path):
    for number in range(25):
        python = fake(tmp_path / f"{number}", f"print({answer()!r})")
        report_of(Question(python), asked.cache, environ=ENVIRON, root=NOWHERE)
    entries = json.loads(read_sealed(asked.cache, FILE, 1 << 22))
    assert len(entries) == 20
    assert list(entries)[-1].endswith(f"{tmp_path / '24' / 'python'}")
