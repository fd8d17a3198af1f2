"""Runs a program that may do anything: within a time limit, with bounded output, and leaves none of its children.

Output goes to files instead of pipes, so that nothing blocks whatever the program and its children do with it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal
from uuid import uuid4

_MOST_OUTPUT = 32 << 20
_KEPT_OUTPUT = 4 << 20
_KEPT_ERRORS = 1 << 16
_GRACE = 1.0
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
_MARK = "MESHLENS_PROBE"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended.

    Attributes:
        how: "ended" by itself, "timeout", "stopped" because it was asked to, or "flood" if it printed without end.
        code: its exit code, negative for a signal; only if it ended by itself.
        output: the end of what it wrote to stdout.
        errors: the end of what it wrote to stderr.
    """

    how: Literal["ended", "timeout", "stopped", "flood"]
    code: int
    output: bytes
    errors: str


def run_bounded(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    seconds: float,
    is_stopped: Callable[[], bool],
) -> Ended:
    """Runs a program in an empty folder and kills it whole: its group, and on Linux whatever it started elsewhere.

    Args:
        command: the program, by its path, and its arguments.
        environment: all the variables that it sees.
        seconds: how long it may run.
        is_stopped: asked a few times a second whether nobody waits for the answer any more.

    Raises:
        OSError: the program cannot be started, or there is no room for temporary files.
    """
    mark = f"{_MARK}={uuid4().hex}"
    with tempfile.TemporaryDirectory(prefix="meshlens-", ignore_cleanup_errors=True) as room:
        empty = Path(room, "empty")
        empty.mkdir()
        with Path(room, "output").open("w+b") as output, Path(room, "errors").open("w+b") as errors:
            process = subprocess.Popen(
                command,
                cwd=empty,
                env={**environment, _MARK: mark.partition("=")[2]},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=sys.platform != "win32",
                creationflags=0x08000200 if sys.platform == "win32" else 0,  # no window, a process group of its own
            )
            how: Literal["ended", "timeout", "stopped", "flood"] = "stopped"
            try:
                how = _wait(process, (output, errors), time.monotonic() + seconds, is_stopped)
            finally:
                _end_whole(process, mark.encode())
            return Ended(how, process.returncode or 0, _tail(output, _KEPT_OUTPUT), _text(_tail(errors, _KEPT_ERRORS)))


def _wait(
    process: subprocess.Popen[bytes], files: tuple[BinaryIO, ...], end: float, is_stopped: Callable[[], bool]
) -> Literal["ended", "timeout", "stopped", "flood"]:
    pause = 0.002
    while not _has_ended(process):
        if is_stopped():
            return "stopped"
        if time.monotonic() >= end:
            return "timeout"
        if sum(os.fstat(file.fileno()).st_size for file in files) > _MOST_OUTPUT:
            return "flood"
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)
    return "ended"


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether a process has ended; on Linux without letting go of its number, which its group still bears."""
    if sys.platform == "linux":
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    else:  # noqa: RET505 - the type checker reads this file for each platform
        return process.poll() is not None


def _end_whole(process: subprocess.Popen[bytes], mark: bytes) -> None:
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True, check=False)
    else:
        if not _has_ended(process):
            _signal_group(process.pid, signal.SIGTERM)
            _until(_GRACE, lambda: _has_ended(process))
        _signal_group(process.pid, _KILL)
    # What hangs inside a driver cannot be killed; it ends when the driver lets go, and nobody waits for it here.
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
    _until(_GRACE, lambda: not _kill_marked(mark))


def _until(seconds: float, is_done: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while not is_done() and time.monotonic() < end:
        time.sleep(0.01)


def _kill_marked(mark: bytes) -> bool:
    """Kills what inherited the mark in its environment, so also what left the group; Linux tells it."""
    found = list(_marked(mark))
    for number in found:
        with suppress(OSError):
            os.kill(number, _KILL)
    return bool(found)


def _signal_group(group: int, what: int) -> None:
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, what)


def _marked(mark: bytes) -> Iterator[int]:
    with suppress(OSError):
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            with suppress(OSError):
                if mark in Path(entry.path, "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


def _tail(file: BinaryIO, most: int) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - most))
    return file.read()


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")
