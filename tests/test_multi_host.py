"""Programs converted for several hosts: two processes with four devices each end as one with eight devices does."""

from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import depth
import dsl
import numbers_of_programs
import projects
import virtual_devices
from meshlens.refactoring.model import Proposal, Wishes
from meshlens.refactoring.registry import Assist, assist_named
from meshlens.text import Span
from ports import free_port

CASES = Path(__file__).parent / "cases" / "assists" / "make-multi-host-ready.md"
READY = assist_named("make-multi-host-ready")
PROCESSES, DEVICES = 2, 4


def _converted(path: Path | str, text: str) -> list[Any]:
    return [
        pytest.param(case, id=f"{path}: {case.name}") for case in dsl.parse(text, str(path)) if case.after is not None
    ]


def _page(assist: Assist) -> dsl.Case:
    [case] = dsl.parse(assist.page, assist.name)
    return case


@pytest.mark.jax
@pytest.mark.parametrize(
    "case", depth.some([*_converted("cases", CASES.read_text("utf-8")), *_converted("page", READY.page)], 1)
)
def test_two_processes_agree_with_one(case: dsl.Case, tmp_path: Path) -> None:
    root = tmp_path / "before"
    root.mkdir()
    project = projects.write(case, root)
    _compare(root / "main.py", _ready(project, case.before[0].cursors[0]).sources["main.py"], tmp_path)


@pytest.mark.jax
@pytest.mark.parametrize("name", ["convert-to-pmap"])
def test_what_another_assist_made_is_made_ready(name: str, tmp_path: Path) -> None:
    assist = assist_named(name)
    case = _page(assist)
    root = tmp_path / "before"
    root.mkdir()
    project = projects.write(case, root)
    at = len(case.before[0].text[: case.before[0].cursors[0]].encode())
    answer = assist.propose(project.open().view(project.path("main.py")), Span(at, at), Wishes())
    assert isinstance(answer, Proposal)
    mapped = projects.with_file_edits(project, answer.edits())
    cursor = mapped.sources["main.py"].index(b"def step") + len("def ")
    _compare(root / "main.py", _ready(mapped, cursor).sources["main.py"], tmp_path)


@pytest.mark.jax
def test_a_program_that_is_told_half_of_who_it_is_does_not_run_alone(tmp_path: Path) -> None:
    case = _page(READY)
    root = tmp_path / "before"
    root.mkdir()
    after = _ready(projects.write(case, root), case.before[0].cursors[0]).sources["main.py"]
    (tmp_path / "after.py").write_bytes(after)
    environment = {**os.environ, **virtual_devices.environment(), "JAX_NUM_PROCESSES": "2", "JAX_PROCESS_ID": "0"}
    ran = subprocess.run([sys.executable, tmp_path / "after.py"], env=environment, capture_output=True, text=True)
    assert ran.returncode == 1
    assert "coordinator_address" in ran.stderr


def _ready(project: projects.Project, cursor: int) -> projects.Project:
    answer = READY.propose(project.open().view(project.path("main.py")), Span(cursor, cursor), Wishes())
    assert isinstance(answer, Proposal), answer
    return projects.with_file_edits(project, answer.edits())


def _compare(before: Path, after: bytes, folder: Path) -> None:
    """Fails if the processes of a converted program do not end with the same numbers as the program before."""
    [alone] = _run(before, folder, 1)
    assert alone
    changed = folder / "after.py"
    changed.write_bytes(after)
    together = _run(changed, folder, PROCESSES)
    assert [list(numbers_of_programs.unequal(alone, one)) for one in together] == [[]] * PROCESSES


def _run(program: Path, folder: Path, count: int) -> list[dict[str, Any]]:
    """Returns what each of the processes of a program ends with."""
    address = f"127.0.0.1:{free_port()}"
    runner = inspect.getfile(numbers_of_programs)
    python = os.environ.get("MESHLENS_JAX_PYTHON", sys.executable)
    each = DEVICES * PROCESSES // count
    processes = []
    for index in range(count):
        environment = {**os.environ, **virtual_devices.environment(each)}
        if count > 1:
            environment |= {
                "JAX_COORDINATOR_ADDRESS": address,
                "JAX_NUM_PROCESSES": str(count),
                "JAX_PROCESS_ID": str(index),
                "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo",
            }
        command = [python, runner, str(program), str(folder / f"{count}.{index}")]
        processes.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE))
    try:
        ends = [process.communicate(timeout=numbers_of_programs.SECONDS)[1].decode() for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * count, "\n".join(ends)
    return [pickle.loads((folder / f"{count}.{index}").read_bytes()) for index in range(count)]
