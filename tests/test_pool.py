"""Workers that are halted, and workers that could import what lies in the working folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import meshlens
from command_line import write

PACKAGE = str(Path(meshlens.__file__).parents[1])
READ = """
import sys
sys.path.insert(0, {package!r})
from meshlens.project import pool
if __name__ == "__main__":
    pool.os.cpu_count = lambda: 2
    pool.STOPPED_SECONDS = 1.0
    sources = [b"def f_%d(x):\\n    return x\\n" % number * 20000 for number in range(8)]
    print("begin", flush=True)
    read = pool.extract_all(sources, is_stored=False)
    print(len(read), sorted(name for name in sys.modules if "process" in name), flush=True)
"""


def _children(process: int) -> list[int]:
    return [int(number) for number in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.deep
@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells which children a process has")
@pytest.mark.skipif(sys.version_info < (3, 12), reason="older pools wait for a worker that ended while they fed it")
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
    assert "concurrent.futures.process" in said


@pytest.mark.deep
@pytest.mark.skipif(sys.version_info < (3, 11), reason="there no process is started on these systems")
def test_a_worker_that_is_not_forked_imports_nothing_of_the_working_folder(tmp_path: Path):
    """As on macOS and Windows: Python starts it with `-c`, before anything of ours could clear its path."""
    caught = tmp_path / "caught"
    trap = f"open({str(caught)!r}, 'a').write(__name__)\n"
    names = ("multiprocessing", "pickle", "json", "encodings", "threading", "signal")
    root = write(tmp_path / "workspace", {f"{name}.py": trap for name in names})
    read = READ.replace("from meshlens.project", "sys.platform = 'darwin'\nfrom meshlens.project")
    script = write(tmp_path, {"read.py": read.format(package=PACKAGE)}) / "read.py"
    # As a console script is run: not isolated, and with a folder of programs first on its path.
    done = subprocess.run([sys.executable, script], cwd=root, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout.splitlines()[-1].startswith("8 "), done.stderr
    assert not caught.exists(), caught.read_text()
