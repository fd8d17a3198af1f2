"""The hooks under pre-commit, and the step of the action, in a user's repository."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import write
from real_editors import FILES, absent

pytestmark = pytest.mark.editors
ROOT = Path(__file__).parents[3]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = write(tmp_path / "repository", FILES)
    _run(["git", "init", "--quiet"], root)
    _run(["git", "add", "."], root)
    return root


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns the folder where pre-commit keeps what it has installed."""
    return str(tmp_path_factory.mktemp("hooks"))


def test_the_hook_stops_a_commit(repository: Path, home: str):
    done = _hook("meshlens", repository, home)
    assert done.returncode == 1, done.stdout
    assert 'axis "bacth" is not bound here (bound: "batch")' in done.stdout
    assert "train.py:7" in done.stdout


def test_the_other_hook_repairs(repository: Path, home: str):
    done = _hook("meshlens-fix", repository, home)
    assert done.returncode == 1, "a hook that changes files fails, so that they are looked at"
    assert "files were modified by this hook" in done.stdout
    assert '"bacth"' not in (repository / "train.py").read_text("utf-8")
    _run(["git", "add", "."], repository)
    assert _hook("meshlens-fix", repository, home).returncode == 0


def test_the_configuration_in_the_readme_runs(repository: Path, home: str):
    (text,) = (block for block in _yaml() if "pre-commit-config.yaml" in block)
    commit = _run(["git", "rev-parse", "HEAD"], ROOT).stdout.strip() or absent("a git checkout of MeshLens")
    text = text.replace("/path/to/meshlens\n", f"{ROOT}\n").replace("rev: 0a1b2c3", f"rev: {commit}")
    write(repository, {".pre-commit-config.yaml": text})
    done = _pre_commit(["run", "--all-files"], repository, home)
    assert done.returncode == 1, done.stdout
    assert 'axis "bacth" is not bound here (bound: "batch")' in done.stdout


def test_the_workflow_in_the_readme_writes_sarif(repository: Path, tmp_path: Path):
    (command,) = (line for block in _yaml() for line in re.findall(r"- run: (.*)", block))
    command = re.sub(r"git\+https://\S+", shlex.quote(str(ROOT)), command)
    done = _run(["bash", "-e", "-c", command], repository, PIPX_HOME=str(tmp_path / "pipx"))
    assert done.returncode == 0, done.stderr
    log = json.loads((repository / "meshlens.sarif").read_text("utf-8"))
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["AX101"]


def test_the_step_of_the_action_annotates(repository: Path, tmp_path: Path):
    done = _step(repository, tmp_path)
    assert done.returncode == 1, done.stderr
    assert re.search(r"^::error .*file=train\.py,line=7,.*::.*is not bound here", done.stdout, re.MULTILINE), (
        done.stdout
    )


def test_the_step_of_the_action_runs_nothing_of_the_repository(repository: Path, tmp_path: Path):
    """Adds modules that pipx, pip or venv would import and a file that pipx would run, as a pull request can do."""
    caught = tmp_path / "caught"
    trap = f"open({str(caught)!r}, 'a').write(__name__)\n"
    names = ("pip", "venv", "ensurepip", "pipx", "json", "runpy", "meshlens", "click", "sitecustomize", "subprocess")
    write(repository, {f"{name}.py": trap for name in names} | {"meshlens": f"#!/usr/bin/env python3\n{trap}"})
    done = _step(repository, tmp_path)
    assert "is not bound here" in done.stdout, done.stderr
    assert not caught.exists(), caught.read_text()


def test_the_action_compares_costs_with_a_baseline(repository: Path, tmp_path: Path):
    program = Path(__file__).parents[2] / "tracing" / "programs" / "data_parallel.py"
    write(repository, {"train.py": program.read_text("utf-8")})
    cost = f"train.py::entry --devices 8 --timeout 120 --interpreter {sys.executable} --baseline costs.json"
    written = _step(repository, tmp_path, "COST", f"{cost} --write-baseline")
    assert written.returncode == 0, written.stderr
    assert _step(repository, tmp_path, "COST", cost).returncode == 0
    write(repository, {"train.py": program.read_text("utf-8").replace("1024", "2048")})
    grown = _step(repository, tmp_path, "COST", cost)
    assert grown.returncode == 1
    assert "has grown" in grown.stderr


def _step(
    repository: Path, tmp_path: Path, name: str = "ARGUMENTS", value: str = "."
) -> subprocess.CompletedProcess[str]:
    steps = re.findall(r"^ +run: \|\n((?: {8,}.*\n)+)", (ROOT / "action.yml").read_text("utf-8"), re.MULTILINE)
    (step,) = (one for one in steps if f'<<< "${name}"' in one)
    told = {name: value, "VERSION": "", "GITHUB_ACTION_PATH": str(ROOT), "PIPX_HOME": str(tmp_path / "pipx")}
    bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step]
    return _run(bash, repository, **told)


def _yaml() -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)


def _hook(name: str, repository: Path, home: str) -> subprocess.CompletedProcess[str]:
    if _run(["git", "rev-parse", "HEAD"], ROOT).returncode:
        absent("a git checkout of MeshLens")
    return _pre_commit(["try-repo", ROOT, name, "--all-files"], repository, home)


def _pre_commit(words: list[str | Path], repository: Path, home: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "pre-commit"
    if not program.is_file():
        absent("pre-commit")
    return _run([program, *words], repository, PRE_COMMIT_HOME=home)


def _run(command: list[str | Path], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    own = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    assert shutil.which(command[0], path=own), f"{command[0]} is not installed"
    return subprocess.run(
        command,
        cwd=folder,
        env={
            **os.environ,
            "PATH": own,
            "PRE_COMMIT_HOME": str(folder.parent / "hooks"),
            "PYTHONPATH": "",
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_uvx_runs_it_without_installing_it(repository: Path):
    """Runs it from the checkout, as `uvx meshlens check` does once it is on PyPI."""
    uv = shutil.which("uv") or absent("uv")
    command = [uv, "tool", "run", "--quiet", "--from", str(ROOT), "meshlens", "check", "--output-format", "concise"]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "train.py:7" in done.stdout
