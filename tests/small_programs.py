"""A small program as a project: its files, a planted file beside them that holds a finding, and the checks of both."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from limited_checks import CPU_SECONDS, Checks, Limited, failure

MOST_BYTES = 2048
PLANTED = "planted.py"
PLANTED_TEXT = """\
import jax
from jax import lax


def total(x):
    return lax.psum(x, "bacth")


mapped = jax.pmap(total, axis_name="batch")
"""

_ANOTHER_FILE = re.compile(r"^# === ([\w/]+\.py)$", re.MULTILINE)


def size(text: str) -> int:
    """Returns the size of a program in bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def files_of(text: str) -> Mapping[str, bytes]:
    """Returns the files of a program, in which a line `# === NAME` begins another file."""
    first, *others = _ANOTHER_FILE.split(text)
    files = {"program.py": first, **dict(zip(others[::2], others[1::2], strict=True))}
    return {name: source.encode("utf-8", "surrogatepass") for name, source in files.items()}


def write_project(text: str, folder: Path) -> None:
    """Writes a program and the planted file into an empty folder."""
    for name, source in {**files_of(text), PLANTED: PLANTED_TEXT.encode()}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source)


def checked(text: str, checks: Checks, cpu_seconds: float = CPU_SECONDS) -> tuple[str, Limited]:
    """Checks a program in a folder of its own and returns what is wrong, if anything, and the check."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        write_project(text, folder)
        ran = checks.check(folder)
    finally:
        shutil.rmtree(folder)
    return failure(ran, PLANTED, cpu_seconds), ran


def minimized(text: str, still_fails: Callable[[str], bool], attempts: int = 150) -> str:
    """Removes lines from a program as long as it still fails: large pieces first, then single lines."""
    lines = text.splitlines(keepends=True)
    piece = max(1, len(lines) // 2)
    while attempts > 0:
        at, removed = 0, False
        while at < len(lines) and attempts > 0:
            fewer = lines[:at] + lines[at + piece :]
            attempts -= 1
            if fewer and still_fails("".join(fewer)):
                lines, removed = fewer, True
            else:
                at += piece
        if piece == 1 and not removed:
            break
        piece = max(1, piece // 2)
    return "".join(lines)
