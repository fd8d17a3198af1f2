"""Adoption of MeshLens in a repository: a first configuration, comments on old findings, watching, completion."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import IO

import jsonschema
import pytest

from command_line import CELL, CLEAN, TYPO, meshlens, start, write
from fake_interpreters import ANSWER, answer, says
from launched import PROGRAM
from meshlens.cli.schema import schema
from meshlens.project.settings.jax_version import JaxVersion
from meshlens.settings import keys

pytestmark = pytest.mark.slow

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GPUS = [{**ANSWER["devices"][0], "platform": "gpu", "kind": "NVIDIA H100 80GB HBM3", "id": n} for n in range(4)]  # type: ignore[index]


def test_a_new_project_gets_a_file_of_its_own(tmp_path: Path):
    write(tmp_path, {"requirements.txt": "jax==0.4.35\n", "vendor/other.py": TYPO, "train.py": TYPO})
    ran = meshlens("init", "--no-detect", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    written = (tmp_path / "meshlens.toml").read_text()
    assert tomllib.loads(written) == {"exclude": ["vendor"]}
    assert '# jax-version = "0.4.35"' in written
    assert "Wrote meshlens.toml:" in ran.out
    found = meshlens("check", "--output-format", "concise", cwd=tmp_path).out
    assert "train.py:7:" in found
    assert "vendor" not in found


def test_the_version_that_the_python_here_has_is_written_where_the_project_sets_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    says(tmp_path / "bin", answer())
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    ran = meshlens("init", "--print", cwd=write(tmp_path / "project", {"train.py": CLEAN, "meshlens.toml": ""}))
    assert tomllib.loads(ran.out)["jax-version"] == json.loads(answer())["versions"]["jax"]
    assert "no version was found" in meshlens("init", "--print", "--no-detect", cwd=tmp_path / "project").out


def test_pyproject_keeps_what_it_has(tmp_path: Path):
    (tmp_path / "pyproject.toml").write_bytes(b'[project]\r\nname = "x"\r\n')
    assert meshlens("init", "--devices", "2x4", cwd=tmp_path).code == 0
    written = (tmp_path / "pyproject.toml").read_bytes()
    assert written.startswith(b'[project]\r\nname = "x"\r\n\r\n[tool.meshlens]\r\n')
    assert b"\n" not in written.replace(b"\r\n", b"")
    assert tomllib.loads(written.decode())["tool"]["meshlens"] == {"devices": "2x4"}
    again = meshlens("init", cwd=tmp_path)
    assert (again.code, again.out) == (2, "")
    assert again.err == "meshlens: pyproject.toml already has a configuration; run `meshlens config` to see it\n"


def test_the_devices_that_the_projects_python_has_become_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    says(tmp_path / ".venv" / "bin", answer(devices=GPUS, default_backend="gpu"))
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    ran = meshlens("init", "--print", cwd=tmp_path)
    assert ran.code == 0
    assert (
        "devices = 4  # the target, for rules that count devices; this machine has 4 × NVIDIA H100 80GB HBM3" in ran.out
    )
    assert not (tmp_path / "meshlens.toml").exists()


def test_comments_accept_what_is_there_and_nothing_new(tmp_path: Path):
    two = TYPO + '\n\nprint(jax.pmap(lambda x: jax.lax.psum(x, "a") + jax.lax.psum(x, "b"), axis_name="c")(1))\n'
    write(tmp_path, {"old.py": two, "clean.py": CLEAN})
    ran = meshlens("check", "--add-noqa", cwd=tmp_path)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "Added 2 comments in 1 file.\n"
    assert (tmp_path / "clean.py").read_text() == CLEAN
    assert meshlens("check", cwd=tmp_path).code == 0
    lines = (tmp_path / "old.py").read_text().splitlines()
    assert lines[6] == '    return jax.lax.pmean(x, "bacth")  # meshlens: ignore[unbound-axis]'
    (tmp_path / "new.py").write_text(TYPO)
    assert meshlens("check", cwd=tmp_path).code == 1


def test_comments_keep_the_encoding_and_the_line_ends_of_a_file(tmp_path: Path):
    text = "# -*- coding: latin-1 -*-\r\n# é\r\n" + TYPO.replace("\n", "\r\n")
    (tmp_path / "old.py").write_bytes(text.encode("latin-1"))
    assert meshlens("check", "--add-noqa", cwd=tmp_path).code == 0
    kept = (tmp_path / "old.py").read_bytes().decode("latin-1")
    assert kept == text.replace('"bacth")', '"bacth")  # meshlens: ignore[unbound-axis]')


def test_comments_go_into_the_cells_of_a_notebook(tmp_path: Path):
    cells = [
        {**CELL, "source": ["import jax\n", "\n", "def step(x):\n", "    return jax.lax.psum(x, 'bacth')"]},
        {"cell_type": "markdown", "metadata": {}, "source": ["# Steps"]},
        {**CELL, "source": ["jax.pmap(step, axis_name='batch')(jax.numpy.ones(8))\n", "jax.tree_map(abs, [1])"]},
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)
    write(tmp_path, {"steps.ipynb": text})
    ran = meshlens("check", "--add-noqa", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "Added 2 comments in 1 file.\n")
    written = (tmp_path / "steps.ipynb").read_text()
    one, other = "'bacth')  # meshlens: ignore[unbound-axis]", "jax.tree_map(abs, [1])  # meshlens: ignore[removed-api]"
    assert written == text.replace("'bacth')", one).replace("jax.tree_map(abs, [1])", other)
    assert meshlens("check", cwd=tmp_path).code == 0


@pytest.mark.parametrize("other", ["--fix", "--diff"])
def test_comments_and_repairs_are_two_things(tmp_path: Path, other: str):
    ran = meshlens("check", "--add-noqa", other, cwd=tmp_path)
    assert ran.code == 2
    assert "--add-noqa cannot be combined with" in ran.err


def test_a_change_is_checked_while_it_watches(tmp_path: Path):
    write(tmp_path, {"train.py": TYPO})
    process = start("check", "--watch", "--output-format", "concise", cwd=tmp_path)
    timer = Timer(240, process.kill)
    timer.start()
    try:
        assert process.stdout is not None
        _read_until(process.stdout, lambda line: "AX101" in line)
        write(tmp_path, {"train.py": TYPO.replace("bacth", "batch")})
        _read_until(process.stdout, lambda line: line.startswith("Nothing to report"))
        write(tmp_path, {"other.py": TYPO})
        _read_until(process.stdout, lambda line: line.startswith("other.py"))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


def _read_until(lines: IO[bytes], is_it: Callable[[str], bool]) -> None:
    for line in lines:
        if is_it(line.decode()):
            return
    raise AssertionError("it ended before it said so")


def test_the_version_of_the_active_environment_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    version = JaxVersion((0, 9, 1), "installed in the active environment, /env")
    monkeypatch.setattr("meshlens.cli.init.default_jax_version", lambda: version)
    said = meshlens("init", "--print", "--devices", "8", cwd=write(tmp_path, {"a.py": CLEAN})).out
    assert '# jax-version = "0.9.1"  # installed in the active environment, /env; used by default\n' in said


def test_nothing_is_watched_on_stdin(tmp_path: Path):
    assert "--watch needs files" in meshlens("check", "--watch", "-", cwd=tmp_path).err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_asks_the_program(tmp_path: Path, shell: str):
    ran = meshlens("completion", shell, cwd=tmp_path)
    assert ran.code == 0
    assert f"_MESHLENS_COMPLETE={shell}_complete" in ran.out


def test_bash_completes_commands_and_options(tmp_path: Path):
    asked = {"_MESHLENS_COMPLETE": "bash_complete", "COMP_WORDS": "meshlens check --wat", "COMP_CWORD": "2"}
    process = start(cwd=tmp_path, **asked)
    assert process.communicate(timeout=60)[0].decode().split() == ["plain,--watch"]


@pytest.mark.skipif(os.name != "posix" or shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("check costm", "check costme.py "),
        ("parallelize costm", "parallelize costme.py "),
        ("cost --baseline costm", "cost --baseline costme.py "),
        ("explain unb", "explain unbound-axis "),
        ("check --select AX501,unb", "check --select AX501,unbound-axis "),
    ],
)
def test_a_real_bash_completes_files_and_rules(tmp_path: Path, typed: str, completed: str):
    import pty

    write(tmp_path, {"costme.py": CLEAN})
    program = tmp_path / "bin" / "meshlens"
    write(tmp_path, {"bin/meshlens": f'#!/bin/sh\nexec {shlex.join([sys.executable, *PROGRAM])} "$@"\n'})
    program.chmod(0o755)
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PS1": "$ ", "TERM": "dumb"}
    command = ["bash", "--norc", "--noprofile", "-i"]
    bash = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    try:
        os.write(ours, b'eval "$(meshlens completion bash)"; echo rea""dy\n')
        _seen(ours, "ready\r\n")
        os.write(ours, f"meshlens {typed}\t".encode())
        _seen(ours, f"meshlens {completed}")
    finally:
        bash.kill()
        bash.wait()
        os.close(ours)
        os.close(theirs)


def _seen(terminal: int, text: str) -> None:
    """Waits until a terminal has shown a text."""
    shown = b""
    while text.encode() not in shown:
        ready, _, _ = select.select([terminal], [], [], 60)
        assert ready, shown.decode()
        shown += os.read(terminal, 1024)


def test_the_schema_takes_every_example_and_no_other_key(tmp_path: Path):
    described = json.loads(meshlens("config", "--schema", cwd=tmp_path).out)
    jsonschema.Draft7Validator.check_schema(described)
    for key, entry in keys().items():
        jsonschema.validate(tomllib.loads(entry.metadata["example"]), described)
        assert key in described["properties"]
    for wrong in ({"device": 8}, {"devices": 0}, {"ignore": "AX101"}, {"jax-version": "new"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, described)


def test_the_schema_that_is_shipped_is_that_of_the_code():
    assert (Path(__file__).parents[1] / "docs" / "meshlens.schema.json").read_text("utf-8") == schema()
