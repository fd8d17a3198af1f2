"""Converts the `step` of a program, and runs the program before and after its conversion."""

from __future__ import annotations

from pathlib import Path

import numbers_of_programs
from bench.inprocess import open_folder
from command_line import meshlens, write
from meshlens.refactoring.everywhere import Job, convert_everywhere
from meshlens.refactoring.model import Wishes
from meshlens.refactoring.targets import assist_for, places_named


def converted_step(tmp_path: Path, text: str, target: str) -> str:
    """Returns a program after the conversion of its `step`."""
    write(tmp_path, {"main.py": text})
    ran = meshlens("convert", "main.py::step", "--to", target, "--devices", "8", "--write", cwd=tmp_path)
    assert ran.code == 0, ran.err
    return (tmp_path / "main.py").read_text()


def converted_steps(folder: Path, text: str, count: int, target: str) -> tuple[str, list[int]]:
    """Returns a program after the conversion of `step0`, `step1`, …, and the numbers of the steps that are refused."""
    file = folder / "main.py"
    file.write_text(text)
    jobs = [Job(file, places_named(target, f"step{n}")) for n in range(count)]
    done = convert_everywhere(open_folder(folder), jobs, assist_for(target), Wishes())
    refused = [n for n, outcomes in enumerate(done.outcomes) if all(one.refused is not None for one in outcomes)]
    return done.workspace.files[str(file)].source.decode(), refused


def refusal(tmp_path: Path, text: str) -> str:
    """Returns why a step is refused; the reason must be the same for pmap and shard_map."""
    write(tmp_path, {"main.py": text})
    reasons = set()
    for target in ("pmap", "shard_map"):
        ran = meshlens("convert", "main.py::step", "--to", target, "--write", cwd=tmp_path)
        assert ran.code == 1, ran.err
        reasons.add(ran.err.split("refused (")[1].split(")")[0])
    assert (tmp_path / "main.py").read_text() == text
    (reason,) = reasons
    return reason


def runs_alike(tmp_path: Path, text: str, after: str) -> None:
    """Makes sure that a program ends with the same numbers after its conversion."""
    (tmp_path / "before.py").write_text(text)
    (tmp_path / "after.py").write_text(after)
    found = numbers_of_programs.differences(tmp_path / "before.py", tmp_path / "after.py")
    assert found == [], found
