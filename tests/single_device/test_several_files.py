"""Projects with several files: a function is converted, and its calls in every file pass split data."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import numbers_of_programs
from command_line import meshlens

PROJECTS = sorted((Path(__file__).parent / "projects").iterdir())


def _converted(project: Path, room: Path) -> Path:
    shutil.copytree(project, room, dirs_exist_ok=True)
    first = (room / "main.py").read_text("utf-8").split("\n")[0]
    for where in first.removeprefix("# convert: ").split():
        ran = meshlens("convert", where, "--to", "jit", "--write", cwd=room)
        assert ran.code == 0, ran.err
    return room


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_the_calls_of_other_files_are_edited_with_one_helper_for_all(project: Path, tmp_path: Path) -> None:
    texts = {path.name: path.read_text("utf-8") for path in _converted(project, tmp_path).glob("*.py")}
    assert sum(text.count("def shard_batch(") for text in texts.values()) == 1
    assert "import error, replicate, shard_batch, train_step" in texts["main.py"]
    assert "train_step(params, shard_batch(inputs), shard_batch(labels))" in texts["main.py"]
    assert "params = replicate(params)\n    for" in texts["main.py"]
    assert "steps.error(params, steps.shard_batch(inputs)" in re.sub(r"\(\s+", "(", texts["report.py"])
    ran = meshlens("check", ".", cwd=tmp_path)
    assert ran.code == 0, ran.out


@pytest.mark.jax
@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_the_numbers_are_the_same(project: Path, tmp_path: Path) -> None:
    assert numbers_of_programs.differences(project / "main.py", _converted(project, tmp_path) / "main.py") == []
