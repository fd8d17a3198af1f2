"""`--fix` changes the text of a file and nothing else about it; the leftovers of a killed run are soon removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import FIXED, TYPO, meshlens, write
from meshlens.cli.writing import CannotWrite, write_all

POSIX = pytest.mark.skipif(os.name == "nt", reason="links and signals of another kind")
WRITES_FOR_EVER = """
import os, sys
from pathlib import Path
from meshlens.cli.writing import write_all
fsync = os.fsync
def tell(descriptor):
    fsync(descriptor)
    print("writing", flush=True)
    sys.stdin.read()
os.fsync = tell
write_all({Path("a.py"): b"new"})
"""


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@POSIX
def test_a_hard_link_stays_one(tmp_path):
    write(tmp_path, {"a.py": TYPO})
    os.link(tmp_path / "a.py", tmp_path / "other")
    assert meshlens("check", "--fix", "--select", "AX101", "a.py", cwd=tmp_path).code == 0
    assert (tmp_path / "other").read_text() == (tmp_path / "a.py").read_text() == FIXED
    assert (tmp_path / "a.py").samefile(tmp_path / "other")
    assert _names(tmp_path) == ["a.py", "other"]


@pytest.mark.parametrize("size", [0, 3, 100_000])
@POSIX
def test_a_hard_link_gets_all_of_the_text_and_no_more(tmp_path, size):
    write(tmp_path, {"a.py": b"before" * 1000})
    os.link(tmp_path / "a.py", tmp_path / "other")
    write_all({tmp_path / "a.py": b"x" * size})
    assert (tmp_path / "other").read_bytes() == b"x" * size


@POSIX
def test_a_hard_link_that_cannot_be_written_is_what_it_was(tmp_path, monkeypatch):
    write(tmp_path, {"a.py": "before"})
    os.link(tmp_path / "a.py", tmp_path / "other")
    fsync, calls = os.fsync, []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWrite, match="No space left on device"):
        write_all({tmp_path / "a.py": b"a longer text"})
    assert (tmp_path / "other").read_text() == "before"
    assert _names(tmp_path) == ["a.py", "other"]


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="no extended attributes here")
def test_extended_attributes_stay(tmp_path):
    write(tmp_path, {"a.py": TYPO})
    try:
        os.setxattr(tmp_path / "a.py", "user.meshlens", b"kept")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    assert meshlens("check", "--fix", "--select", "AX101", "a.py", cwd=tmp_path).code == 0
    assert os.getxattr(tmp_path / "a.py", "user.meshlens") == b"kept"


@POSIX
def test_what_a_killed_run_leaves_goes_with_the_next_write(tmp_path):
    write(tmp_path, {"a.py": "old", ".meshlens-x.part": "not ours", "b.part": "not ours"})
    (tmp_path / ".meshlens-1-link.part").symlink_to("b.part")
    run = subprocess.Popen(
        [sys.executable, "-c", WRITES_FOR_EVER], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert run.stdout is not None and run.stdin is not None
    assert run.stdout.readline() == b"writing\n"
    alive = _names(tmp_path)
    assert len(alive) == 5
    write_all({tmp_path / "c.py": b""})
    assert set(alive) < set(_names(tmp_path)), "the file of a run that lives is its own"
    run.send_signal(signal.SIGKILL)
    run.wait(timeout=60)
    run.stdin.close()
    run.stdout.close()
    assert (tmp_path / "a.py").read_text() == "old"
    write_all({tmp_path / "a.py": b"new"})
    assert _names(tmp_path) == [".meshlens-1-link.part", ".meshlens-x.part", "a.py", "b.part", "c.py"]
