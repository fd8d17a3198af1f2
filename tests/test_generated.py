"""The generated pages are up to date: `meshlens docs` would change nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from launched import PROGRAM

ROOT = Path(__file__).parents[1]


def test_generated_pages_are_fresh():
    run = subprocess.run(
        [sys.executable, *PROGRAM, "docs", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
