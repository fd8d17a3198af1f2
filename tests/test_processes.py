"""A program that is asked a question is killed completely, whatever it does, and leaves no process behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fake_interpreters import fake, is_alive, outlives
from meshlens.devices.processes import run_bounded

pytestmark = pytest.mark.slow

NUMBER = "open({file!r}, 'w').write(str(os.getpid()))"


def run(program: str, seconds: float = 30.0, environment: dict[str, str] | None = None):
    return run_bounded([program], environment or {}, seconds=seconds, is_stopped=lambda: False)


def _is_written(file: Path) -> bool:
    return file.exists() and bool(file.read_text())


def _number(file: Path) -> int:
    return int(file.read_text())


@pytest.mark.parametrize(
    "leave",
    [
        pytest.param("pass", id="in the group"),
        pytest.param("signal.signal(signal.SIGTERM, signal.SIG_IGN)", id="ignores SIGTERM"),
        pytest.param("os.setsid()", id="in a session of its own"),
        pytest.param("os.setsid()\n    if os.fork(): os._exit(0)", id="a daemon"),
    ],
)
def test_a_child_does_not_outlive_the_program(tmp_path, leave):
    if "setsid" in leave and sys.platform != "linux":
        leave = "pass"  # only Linux shows which processes inherited an environment
    file = tmp_path / "child"
    written = NUMBER.format(file=str(file))
    body = f"if not os.fork():\n    {leave}\n    {written}\n    time.sleep(600)\n"
    ended = run(
        fake(
            tmp_path,
            f"{body}while not (os.path.exists({str(file)!r}) and open({str(file)!r}).read()): time.sleep(0.01)",
        )
    )
    assert ended.how == "ended"
    assert not outlives(_number(file))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives an orphan to another process than the first")
@pytest.mark.parametrize("forks", [1, 3])
def test_a_daemon_with_an_empty_environment_does_not_outlive_the_program(tmp_path, forks):
    """Checks a daemon that has a session and an environment of its own, and whose parents are gone."""
    file, daemon = tmp_path / "child", tmp_path / "daemon.py"
    daemon.write_text(f"import os, time\n{NUMBER.format(file=str(file))}\ntime.sleep(600)\n")
    leave = "    os.setsid()\n    if os.fork(): os._exit(0)\n" * forks
    started = f"    os.execve({sys.executable!r}, [{sys.executable!r}, '-IS', {str(daemon)!r}], {{}})\n"
    waits = f"while not (os.path.exists({str(file)!r}) and open({str(file)!r}).read()): time.sleep(0.01)"
    ended = run(fake(tmp_path, f"if not os.fork():\n{leave}{started}{waits}"))
    assert ended.how == "ended"
    assert not outlives(_number(file))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives an orphan to another process than the first")
def test_what_we_started_ourselves_is_not_taken_for_an_orphan(tmp_path):
    own = subprocess.Popen([sys.executable, "-IS", "-c", "import time; time.sleep(600)"])
    try:
        assert run(fake(tmp_path, "pass")).how == "ended"
        assert is_alive(own.pid)
        assert own.poll() is None
    finally:
        own.kill()
        own.wait()


def test_a_program_that_ignores_sigterm_is_killed(tmp_path):
    file = tmp_path / "number"
    body = f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{NUMBER.format(file=str(file))}\ntime.sleep(600)"
    ended = run_bounded([fake(tmp_path, body)], {}, seconds=600, is_stopped=lambda: _is_written(file))
    assert ended.how == "stopped"
    assert not outlives(_number(file))


def test_a_living_process_is_seen_as_one():
    assert is_alive(os.getpid())


def test_it_runs_in_an_empty_folder_that_is_gone_afterwards(tmp_path):
    ended = run(fake(tmp_path, "open('left', 'w'); print(os.getcwd(), os.listdir())"))
    folder = ended.output.decode().split()[0]
    assert ended.output.decode().split()[1:] == ["['left']"]
    assert folder != os.getcwd()
    assert not Path(folder).exists()
    assert Path(folder).is_relative_to(os.path.realpath(tempfile.gettempdir()))


def test_output_and_errors_are_kept_apart(tmp_path):
    ended = run(fake(tmp_path, "print('out'); print('err', file=sys.stderr); sys.stdin.read(); sys.exit(3)"))
    assert (ended.how, ended.code, ended.output, ended.errors) == ("ended", 3, b"out\n", "err\n")


def test_the_end_of_much_output_is_kept(tmp_path):
    ended = run(fake(tmp_path, "print('x' * 6_000_000); print('end')"))
    assert ended.how == "ended"
    assert len(ended.output) == 4 << 20
    assert ended.output.endswith(b"x\nend\n")


def test_the_environment_is_the_one_that_is_given(tmp_path):
    ended = run(
        fake(tmp_path, "print(sorted(name for name in os.environ if name != 'LC_CTYPE'))"), environment={"A": "1"}
    )
    assert ended.output == b"['A', 'MESHLENS_PROBE']\n"


def test_the_time_limit(tmp_path):
    assert run(fake(tmp_path, "time.sleep(600)"), 0.2).how == "timeout"


def test_asking_stops_it(tmp_path):
    asked = []
    program = fake(tmp_path, "time.sleep(600)")
    ended = run_bounded([program], {}, seconds=600, is_stopped=lambda: bool(asked) or asked.append(1))
    assert ended.how == "stopped"
