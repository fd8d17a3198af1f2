"""The tour has the findings that its lessons promise, and the README shows the tour's output."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import meshlens as package
from launched import PROGRAM

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
TOUR = ROOT / "docs" / "tour"

LESSONS = {
    "01_two_files_one_axis/sync.py": ["AX101"],
    "02_decorator_with_keywords.py": ["AX207"],
    "03_helper_outside_the_map.py": ["AX101"],
    "04_specs_that_do_not_fit.py": ["AX202"],
    "05_gradient_never_averaged.py": ["AX401"],
    "06_gone_from_jax.py": ["AX501", "AX501"],
    "07_sum_where_a_mean_is_meant.py": ["AX402"],
    "08_one_key_for_all_devices.py": ["AX403"],
    "09_mesh_axis_that_is_not_there.py": ["AX201"],
}


def meshlens(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    beside = str(Path(package.__file__).absolute().parents[1])
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1", "PYTHONUTF8": "1", "PYTHONPATH": beside}
    return subprocess.run(
        [sys.executable, *PROGRAM, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def codes(folder: Path, cwd: Path = ROOT) -> dict[str, list[str]]:
    run = meshlens("check", "--no-cache", "--output-format", "json", str(folder), cwd=cwd)
    assert run.returncode in (0, 1), run.stderr
    found: dict[str, list[str]] = {}
    for item in json.loads(run.stdout):
        name = (cwd / item["filename"]).relative_to(folder).as_posix()
        found.setdefault(name, []).append(item["code"])
    return found


def test_every_lesson_is_found():
    assert codes(TOUR) == LESSONS


@pytest.mark.parametrize("flags", [["--fix"], ["--fix", "--unsafe-fixes"]], ids=" ".join)
def test_fixes_leave_only_lessons(tmp_path, flags):
    copy = tmp_path / "tour"
    shutil.copytree(TOUR, copy)
    meshlens("check", "--no-cache", *flags, str(copy), cwd=tmp_path)
    left = codes(copy, cwd=tmp_path)
    assert all(left[name] <= LESSONS[name] for name in left)
    assert sum(map(len, left.values())) < sum(map(len, LESSONS.values())) - 2


def test_the_readme_shows_what_comes():
    sample = re.search(r"```text\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert sample
    shown = sample[1].rstrip().removesuffix("…").rstrip()
    assert len(shown.split("\n")) > 10
    assert shown in meshlens("check", "--no-cache", "docs/tour").stdout
