"""Runs an untrusted program with limits on time and output, and ends it and all of its children.

Output goes to files instead of pipes, so that nothing blocks, whatever the program and its children do.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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
_SET_CHILD_SUBREAPER = 36
_RESIDENT = 21
_running: set[int] = set()


@dataclass(frozen=True, slots=True)
class Ended:
    """The way in which a program ended.

    Attributes:
        how: "ended" if it ended by itself, "timeout", "stopped" on request, or "flood" if it printed too much.
        code: its exit code, negative for a signal; meaningful only if it ended by itself.
        output: the end of its stdout.
        errors: the end of its stderr.
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
    """Runs a program in an empty folder, then kills what is left of its process group and, on Linux, its descendants.

    On Linux, this process adopts the program's orphans, so even a daemon with its own session and environment is
    found. Other systems do not reveal which program started a daemon.

    Args:
        command: the program, by its path, and its arguments.
        environment: its environment variables.
        seconds: the time limit.
        is_stopped: called many times a second; returns whether the caller no longer wants the answer.

    Raises:
        OSError: the program cannot be started, or there is no space for temporary files.
    """
    mark = f"{_MARK}={uuid4().hex}"
    _adopt_orphans()
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
                creationflags=0x08000200 if sys.platform == "win32" else 0,  # No window, and a separate process group.
            )
            how: Literal["ended", "timeout", "stopped", "flood"] = "stopped"
            _running.add(process.pid)
            try:
                how = _wait(process, (output, errors), time.monotonic() + seconds, is_stopped)
            finally:
                _end_whole(process, mark.encode())
                _running.discard(process.pid)
            return Ended(how, process.returncode or 0, _tail(output, _KEPT_OUTPUT), _text(_tail(errors, _KEPT_ERRORS)))


@contextmanager
def kept_running(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Kept]:
    """Runs a program that answers line by line, in an empty folder and its own session; kills it when the block ends.

    Args:
        command: the program, by its path, and its arguments.
        environment: its environment variables.

    Raises:
        OSError: the program cannot be started, or there is no space for temporary files.
    """
    mark = uuid4().hex
    _adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="meshlens-", ignore_cleanup_errors=True) as room:
        empty = Path(room, "empty")
        empty.mkdir()
        with Path(room, "errors").open("w+b") as errors:
            process = subprocess.Popen(
                command,
                cwd=empty,
                env={**environment, _MARK: mark},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
            _running.add(process.pid)
            try:
                yield Kept(process, errors)
            finally:
                for pipe in (process.stdin, process.stdout):
                    if pipe is not None:
                        with suppress(OSError):
                            pipe.close()
                _end_whole(process, f"{_MARK}={mark}".encode())
                _running.discard(process.pid)


class Kept:
    """A running program that answers line by line."""

    def __init__(self, process: subprocess.Popen[bytes], errors: BinaryIO) -> None:
        self._process = process
        self._errors = errors
        self._left = b""

    def ask(self, line: bytes) -> None:
        """Writes a line to the program.

        Raises:
            OSError: the program has ended.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def answer(self, seconds: float) -> bytes:
        """Returns the program's next line; empty if the program ends or prints no line within the time."""
        assert self._process.stdout is not None
        handle = self._process.stdout.fileno()
        end = time.monotonic() + seconds
        while b"\n" not in self._left and len(self._left) < _KEPT_ERRORS:
            ready, _, _ = select.select([handle], [], [], max(0.0, end - time.monotonic()))
            part = os.read(handle, _KEPT_ERRORS) if ready else b""
            if not part:
                return b""
            self._left += part
        line, _, self._left = self._left.partition(b"\n")
        return line

    @property
    def is_alive(self) -> bool:
        """Returns whether the program is running."""
        return not _has_ended(self._process)

    def complaint(self) -> str:
        """Returns the last line that the program wrote to stderr."""
        lines = _text(_tail(self._errors, _KEPT_ERRORS)).strip().splitlines()
        return lines[-1] if lines else ""


def end_group(group: int) -> None:
    """Kills the members of a process group."""
    _signal_group(group, _KILL)


def memory_of_session(session: int) -> int:
    """Returns the memory that the processes of a session use, in bytes; 0 on systems other than Linux."""
    if sys.platform != "linux":
        return 0
    pages = 0
    for number in _numbers():
        fields = _stat(str(number))
        if len(fields) > _RESIDENT and fields[3] == str(session):
            pages += int(fields[_RESIDENT])
    return pages * os.sysconf("SC_PAGE_SIZE")


def has_ended(number: int) -> bool:
    """Returns whether a Linux process has ended; a zombie has."""
    return _stat(str(number))[:1] in ([], ["Z"], ["X"])


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
    """Returns whether a process has ended; on Linux, does not reap it, because its number still names its group."""
    if sys.platform == "linux":
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    else:  # noqa: RET505 - the type checker reads this file for each platform
        return process.poll() is not None


def _end_whole(process: subprocess.Popen[bytes], mark: bytes) -> None:
    if sys.platform == "win32":
        # A bare name would be searched for in the working directory first.
        program = os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "taskkill.exe")
        subprocess.run([program, "/T", "/F", "/PID", str(process.pid)], capture_output=True, check=False)
    else:
        if not _has_ended(process):
            _signal_group(process.pid, signal.SIGTERM)
            _until(_GRACE, lambda: _has_ended(process))
        _signal_group(process.pid, _KILL)
    # A process that hangs inside a driver cannot be killed; it ends when the driver returns, and nothing waits for it.
    with suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE)
    _until(_GRACE, lambda: not _kill_marked(mark) and not _kill_orphans())


def _until(seconds: float, is_done: Callable[[], bool]) -> None:
    end = time.monotonic() + seconds
    while not is_done() and time.monotonic() < end:
        time.sleep(0.01)


def _kill_marked(mark: bytes) -> bool:
    """Kills processes that inherited the mark in their environment, even those outside the group; Linux only."""
    found = list(_marked(mark))
    for number in found:
        with suppress(OSError):
            os.kill(number, _KILL)
    return bool(found)


def is_stopped(number: int) -> bool:
    """Returns whether a process is suspended by a signal, for example by a debugger or a hostile program."""
    return _stat(str(number))[:1] in (["T"], ["t"])


def _adopt_orphans() -> None:
    """Makes this process the parent of orphans that its programs leave, on Linux."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _kill_orphans() -> bool:
    """Kills orphans adopted from programs: children in a session that is neither ours nor a running program's.

    All other children are in our session or are running programs.
    """
    if sys.platform != "linux":
        return False
    found = False
    for number in _numbers():
        state, parent, _, session, *_ = (*_stat(str(number)), "", "", "", "")
        if parent != str(os.getpid()) or not session.isdigit():
            continue
        if number not in _running and int(session) not in (os.getsid(0), *_running):
            found = found or state != "Z"
            with suppress(OSError):
                os.kill(number, _KILL)
                os.waitpid(number, os.WNOHANG)
    return found


def _stat(number: str) -> list[str]:
    """Returns the state, parent, group, session and more of a Linux process; empty if unavailable."""
    try:
        # The program name before the last parenthesis may contain any character.
        return Path("/proc", number, "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _numbers() -> Iterator[int]:
    with suppress(OSError):
        yield from (int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit())


def _signal_group(group: int, what: int) -> None:
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, what)


def _marked(mark: bytes) -> Iterator[int]:
    for number in _numbers():
        with suppress(OSError):
            if mark in Path("/proc", str(number), "environ").read_bytes().split(b"\0"):
                yield number


def _tail(file: BinaryIO, most: int) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - most))
    return file.read()


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")
