"""Workers that are halted, and workers that could import what is in the working directory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

import meshlens
from command_line import write
from meshlens.facts.extract import extract
from meshlens.facts.model import FileFacts
from meshlens.project.disk import pool, workers

pytestmark = pytest.mark.slow

PACKAGE = str(Path(meshlens.__file__).parents[1])
READ = """
import sys
sys.path.insert(0, {package!r})
from meshlens.project.disk import pool, workers
if __name__ == "__main__":
    pool.os.cpu_count = lambda: 2
    workers.STOPPED_SECONDS = 1.0
    sources = [b"def f_%d(x):\\n    return x\\n" % number * 20000 for number in range(8)]
    print("begin", flush=True)
    read = pool.extract_all(sources, is_stored=False)
    print(len(read), sorted(name for name in sys.modules if "popen" in name), flush=True)
"""


def _children(process: int) -> list[int]:
    return [int(number) for number in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells which children a process has")
def test_a_worker_that_is_halted_is_given_up_and_its_work_done_here(tmp_path: Path):
    script = write(tmp_path, {"read.py": READ.format(package=PACKAGE)}) / "read.py"
    reading = subprocess.Popen([sys.executable, "-I", script], stdout=subprocess.PIPE, text=True)
    assert reading.stdout is not None
    reading.stdout.readline()
    until = time.monotonic() + 60
    while not (workers := _children(reading.pid)) and time.monotonic() < until:
        time.sleep(0.005)
    os.kill(workers[0], signal.SIGSTOP)
    try:
        said, _ = reading.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        pytest.fail("a halted worker is waited for without end")
    finally:
        for worker in workers:
            if Path(f"/proc/{worker}").exists():
                os.kill(worker, signal.SIGKILL)
        reading.kill()
    assert said.startswith("8 ")
    assert "multiprocessing.popen_fork" in said


@pytest.mark.skipif(os.name != "posix", reason="workers are forked")
def test_texts_that_end_their_workers_while_more_is_handed_out_leave_the_others(monkeypatch: pytest.MonkeyPatch):
    """Uses texts each of which is larger than a pipe's buffer."""
    texts = [b"x_%d = '%s'\n" % (number, b"y" * 120_000) for number in range(24)]
    texts[0], texts[9] = b"ends\n" + texts[0], b"ends\n" + texts[9]

    def extracted(source: bytes, memo: Any = None) -> FileFacts:
        if source.startswith(b"ends"):
            os._exit(1)
        return extract(source, memo)

    monkeypatch.setattr(pool, "extract", extracted)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    found = pool.extract_all(texts, is_stored=True)
    assert [place for place, one in enumerate(found) if one.facts.failure] == [0, 9]
    assert all(one.stored for place, one in enumerate(found) if place not in (0, 9))


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells whether a process is halted")
@pytest.mark.parametrize("halts", ["while it reads", "while it answers"])
def test_a_worker_that_halts_itself_is_given_up(monkeypatch: pytest.MonkeyPatch, halts: str):
    def work(task: bytes) -> Any:
        if task.startswith(b"halts"):
            if halts == "while it reads":
                os.kill(os.getpid(), signal.SIGSTOP)
            Connection._send = _halts_halfway  # type: ignore[attr-defined]
        return len(task)

    monkeypatch.setattr(workers, "STOPPED_SECONDS", 1.0)
    monkeypatch.setattr(workers, "LOOK_SECONDS", 0.1)
    large = b"x" * 1_000_000
    tasks = [large, b"halts", large, large]
    assert workers.answers_of(work, tasks, 2, get_context("fork")) == [1_000_000, None, 1_000_000, 1_000_000]


def _halts_halfway(pipe: Any, message: bytes, write: Any = os.write) -> None:
    write(pipe.fileno(), message[: len(message) // 2])
    os.kill(os.getpid(), signal.SIGSTOP)


@pytest.mark.deep
@pytest.mark.skipif(sys.version_info < (3, 11), reason="there no process is started on these systems")
def test_a_worker_that_is_not_forked_imports_nothing_of_the_working_directory(tmp_path: Path):
    """Checks what happens on macOS and Windows: Python starts with `-c`, before our code could clear its path."""
    caught = tmp_path / "caught"
    trap = f"open({str(caught)!r}, 'a').write(__name__)\n"
    names = ("multiprocessing", "pickle", "json", "encodings", "threading", "signal")
    root = write(tmp_path / "workspace", {f"{name}.py": trap for name in names})
    read = READ.replace("from meshlens.project", "sys.platform = 'darwin'\nfrom meshlens.project")
    script = write(tmp_path, {"read.py": read.format(package=PACKAGE)}) / "read.py"
    # Run as a console script is: not isolated, and with a folder of programs first on its path.
    done = subprocess.run([sys.executable, script], cwd=root, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.splitlines()[-1].startswith("8 "), done.stderr
    assert not caught.exists(), caught.read_text()
