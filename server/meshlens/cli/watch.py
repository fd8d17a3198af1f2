"""`meshlens check --watch`: checks again whenever a file or the configuration of the project changes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from meshlens.cli.request import ask
from meshlens.launching import program

STOPPED = 130
_SECONDS = 0.5
# Scanning takes at most this share of the time, however many files there are.
_SHARE = 0.1

_Stamps = Mapping[Path, tuple[int, int]]


def watch(paths: Sequence[str], arguments: Sequence[str]) -> int:
    """Checks whenever a file changes, each time in a separate process, until Ctrl-C.

    Args:
        paths: the paths to check.
        arguments: the arguments of `meshlens check`, without `--watch`.

    Returns:
        The exit code for Ctrl-C.
    """
    seen: _Stamps | None = None
    try:
        while True:
            began = time.monotonic()
            now = _stamps(paths)
            took = time.monotonic() - began
            if now != seen:
                seen = now
                _check(arguments, len(now))
            time.sleep(max(_SECONDS, took / _SHARE))
    except KeyboardInterrupt:
        return STOPPED


def _check(arguments: Sequence[str], count: int) -> None:
    if sys.stdout.isatty():
        # Clears the screen and the scrollback.
        sys.stdout.write("\033[2J\033[3J\033[H")
    sys.stdout.flush()
    subprocess.run([sys.executable, *program(), "check", *arguments], check=False)
    files = f"{count} file{'' if count == 1 else 's'}"
    print(f"[{datetime.now():%H:%M:%S}] Watching {files}; press Ctrl-C to stop.", file=sys.stderr, flush=True)


def _stamps(paths: Sequence[str]) -> _Stamps:
    """Returns the modification time and size of each file and configuration."""
    found: dict[Path, tuple[int, int]] = {}
    for group in ask(paths or (".",), {}).groups:
        own = group.configuration.path
        for path in (*group.files, *group.others, *([own] if own is not None else [])):
            with suppress(OSError):
                status = path.stat()
                found[path] = (status.st_mtime_ns, status.st_size)
    return found
