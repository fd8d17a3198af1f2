"""Exercises the compiled modules while the compiler's counters run: `python compiled/practice.py FOLDER`.

FOLDER holds the package. The files that are checked are our own; the counts are written when Python exits.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
TIMES = {"server": 1, "docs/tour": 5, "tests/oracle": 10}
"""The folders to check, and how often: few lines of our own code have to do with JAX."""


def practise(folder: Path) -> None:
    """Reads, interprets and checks the files of a folder."""
    from meshlens.checking.check import check
    from meshlens.project.workspace import open_workspace
    from meshlens.settings import Settings

    files = sorted(folder.rglob("*.py"))
    workspace = open_workspace([folder], files=files)
    for path in files:
        check(workspace.view(path), Settings())


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    for name, times in TIMES.items():
        for _ in range(times):
            practise(ROOT / name)
