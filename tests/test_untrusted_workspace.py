"""Nothing in an untrusted workspace is imported or run, whatever tricks it plays; in a trusted one it is.

Each trick leaves a file behind if it works.  The same test shows that each one does work on a careless program.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from command_line import meshlens, write
from fake_interpreters import program
from meshlens.devices import runner
from meshlens.devices.interpreters import Wishes, choose_interpreter, find_interpreters
from meshlens.devices.reports import report_of
from meshlens.devices.runner import Question, run_probe

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the tricks are those of other systems")

IMPORTED = ("jax", "sitecustomize", "usercustomize")
RUN = ("PATH", "nvidia-smi", "conda")
OF_THE_ENVIRONMENT = ("pth", "sitecustomize of the environment")

# The Python behind the virtual environment of the tests, which also sees the user's packages.
BASE = os.path.realpath(sys.executable)


@dataclass(frozen=True)
class Trap:
    """A workspace full of tricks, and its surroundings.

    Attributes:
        workspace: the folder.
        planted: the folder where each trick that worked has left a file.
        outside: a Python outside the workspace, although its packages point there.
        root: the root of a machine with a GPU.
        environ: variables, all of which point into the workspace first.
    """

    workspace: Path
    planted: Path
    outside: str
    root: Path
    environ: dict[str, str]

    def worked(self) -> set[str]:
        """Returns the tricks that have worked since the last call."""
        names = {path.name for path in self.planted.iterdir()}
        for path in self.planted.iterdir():
            path.unlink()
        return names


def _python(planted: Path, name: str) -> str:
    return f"open({str(planted / name)!r}, 'a').close()\n"


def _shell(planted: Path, name: str) -> str:
    return f"#!/bin/sh\n: > '{planted / name}'\n"


def _packages(environment: Path) -> Path:
    return next(environment.glob("lib/python3*/site-packages"))


@pytest.fixture
def trap(tmp_path, monkeypatch) -> Trap:
    workspace, planted, outside = tmp_path / "workspace", tmp_path / "planted", tmp_path / "outside"
    planted.mkdir()
    imported = {
        "jax.py": "jax",
        "jax/__init__.py": "jax",
        "jaxlib/__init__.py": "jax",
        "jax_plugins/own/__init__.py": "jax",
        "json.py": "json",
        "probe.py": "probe",
        "startup.py": "startup",
        "sitecustomize.py": "sitecustomize",
        "usercustomize.py": "usercustomize",
    }
    write(workspace, {name: _python(planted, mark) for name, mark in imported.items()})
    environment = workspace / ".venv"
    for place in (environment, outside / "env"):
        venv.create(place, with_pip=False, symlinks=True)
        (_packages(place) / "jax-0.4.30.dist-info").mkdir()
    write(
        _packages(environment),
        {
            "trick.pth": f"import os; {_python(planted, 'pth')}",
            "sitecustomize.py": _python(planted, "sitecustomize of the environment"),
            "jax/__init__.py": _python(planted, "jax"),
        },
    )
    # An editable installation of the workspace leaves this file in an outside environment.
    (_packages(outside / "env") / "workspace.pth").write_text(f"{workspace}\n")
    for name in ("python", "python3", "nvidia-smi"):
        program(workspace / "bin" / name, _shell(planted, "nvidia-smi" if name == "nvidia-smi" else "PATH"))
    program(workspace / ".conda" / "bin" / "python", _shell(planted, "conda"))
    (workspace / ".conda" / "conda-meta").mkdir()
    (outside / "bin").symlink_to(workspace / "bin")
    (outside / "linked").symlink_to(environment)
    hop = outside / "hop" / "bin" / "python"
    hop.parent.mkdir(parents=True)
    hop.symlink_to(outside / "linked" / "bin" / "python")
    write(
        workspace,
        {
            "meshlens.toml": 'interpreter = "bin/python"\n',
            ".pdm-python": str(workspace / "bin" / "python"),
            ".python-version": "../../workspace/.venv\n",
            "environment.yml": f"name: {workspace / '.conda'}\n",
        },
    )
    (tmp_path / "root" / "dev").mkdir(parents=True)
    (tmp_path / "root" / "dev" / "nvidiactl").touch()
    places = [workspace / "bin", outside / "bin", outside / "linked" / "bin", hop.parent, outside / "env" / "bin"]
    environ = {
        "HOME": str(workspace),
        "PATH": os.pathsep.join([*map(str, places), "bin", "."]),
        "PYTHONPATH": str(workspace),
        "PYTHONSTARTUP": str(workspace / "startup.py"),
        "PYTHONUSERBASE": str(workspace),
        "VIRTUAL_ENV": str(outside / "linked"),
        "CONDA_PREFIX": str(workspace / ".conda"),
        "UV_PROJECT_ENVIRONMENT": str(environment),
        "LD_LIBRARY_PATH": str(workspace),
        "PJRT_NAMES_AND_LIBRARY_PATHS": f"own:{workspace}/own.so",
    }
    look = runner.look_at_machine
    monkeypatch.setattr(
        runner, "look_at_machine", lambda environ, stopped, _: look(environ, stopped, tmp_path / "root")
    )
    monkeypatch.setattr("meshlens.devices.machine._NVIDIA_PLACES", ())
    return Trap(workspace, planted, str(outside / "env" / "bin" / "python3"), tmp_path / "root", environ)


def test_nothing_of_an_untrusted_workspace_runs(trap, monkeypatch):
    for name, value in trap.environ.items():
        monkeypatch.setenv(name, value)
    for more in ([], ["--refresh"], ["--installed"]):
        ran = meshlens("devices", "--untrusted", "--json", *more, cwd=trap.workspace)
        said = json.loads(ran.out)
        assert trap.worked() == set()
        assert (ran.code, ran.err, said["interpreter"], said["origin"]) == (0, "", trap.outside, "PATH")
        assert (said["level"], said["versions"]) == ("installed", {"jax": "0.4.30"})

    for name in (".venv", "bin/python", ".conda", trap.environ["VIRTUAL_ENV"]):
        assert meshlens("devices", "--untrusted", "--interpreter", name, cwd=trap.workspace).code == 2
        assert trap.worked() == set()

    # The control: each of the tricks works on a careless program.
    subprocess.run([BASE, "-c", "import jax"], cwd=trap.workspace, check=True)
    subprocess.run([trap.outside, "-c", "import jax"], cwd=trap.workspace, check=True)
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONUSERBASE"}
    subprocess.run([BASE, "-c", "import jax"], cwd=trap.workspace, check=True, env=environ)
    subprocess.run([trap.workspace / ".venv/bin/python", "-c", ""], cwd=trap.workspace, check=True, env={})
    assert trap.worked() >= {*IMPORTED, *OF_THE_ENVIRONMENT}
    for name in (".venv", "bin/python", ".conda"):
        meshlens("devices", "--interpreter", name, cwd=trap.workspace)
    assert trap.worked() == {*RUN, *OF_THE_ENVIRONMENT, "jax"}


def test_an_interpreter_that_leads_into_an_untrusted_workspace_is_refused(trap):
    """Tests a request for an interpreter by path, which a server might make if a client told it to."""
    outside = Path(trap.outside).parents[2]
    for path in (".venv/bin/python", ".conda/bin/python", "bin/python"):
        for python in (
            trap.workspace / path,
            outside / "linked" / "bin" / "python",
            outside / "hop" / "bin" / "python",
        ):
            question = Question(str(python), "devices", (trap.workspace,))
            failure = report_of(question, trap.workspace, environ=trap.environ).failure
            assert failure == (
                f'"{python}" is in an untrusted workspace; trust it, or set "interpreter" to the Python '
                "that runs your code"
            )
    assert trap.worked() == set()


def test_no_interpreter_that_leads_into_an_untrusted_workspace_is_found(trap):
    wishes = Wishes(setting=str(trap.workspace / "bin" / "python"), editor=str(trap.workspace / ".venv"))
    found = find_interpreters(trap.workspace, wishes, environ=trap.environ, untrusted=(trap.workspace,))
    assert {one.path for one in found} == {trap.outside, str(Path(trap.outside).with_name("python"))}
    trusted = choose_interpreter(trap.workspace, wishes, environ=trap.environ)
    assert trusted is not None
    assert trusted.path == str(trap.workspace / "bin" / "python")


def test_jax_is_not_started_in_an_untrusted_workspace(trap):
    question = Question(trap.outside, "devices", (trap.workspace,), may_start_tpu=True)
    assert run_probe(question, environ=trap.environ).level == "installed"
    assert trap.worked() == set()


def test_a_program_outside_that_the_workspace_names_is_not_run(trap, tmp_path):
    elsewhere = program(tmp_path / "elsewhere", _shell(trap.planted, "elsewhere"))
    (trap.workspace / ".pdm-python").write_text(elsewhere)
    (trap.workspace / "meshlens.toml").write_text(f'interpreter = "{elsewhere}"\n')
    meshlens("devices", "--untrusted", cwd=trap.workspace)
    assert trap.worked() == set()
    meshlens("devices", cwd=trap.workspace)
    assert "elsewhere" in trap.worked()
