"""The packaged extension in a real VS Code workbench: one scenario after another, each with a clean profile."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import depth
import meshlens
from browser import notebook
from command_line import write
from packaged import vsix
from recorded_clients import compare, stand_in
from workbench import extensions, play, serving

pytestmark = pytest.mark.editors
TOUR = Path(__file__).parents[3] / "docs" / "tour"
CELLS = ("import jax\n\ndef step(x):\n    return jax.lax.psum(x, 'bacth')", "jax.pmap(step, axis_name='batch')(rows)")


@dataclass(frozen=True, slots=True)
class Room:
    """The folders that a scenario has to itself.

    Attributes:
        folder: the folder for the scenario's profile.
        workspace: a copy of the tour.
        extensions: a folder with our extension and no other.
        shots: where screenshots are kept: MESHLENS_SHOTS if it is set, to look at them later.
    """

    folder: Path
    workspace: Path
    extensions: Path
    shots: Path

    def play(
        self,
        scenario: str,
        machine: Mapping[str, Any],
        settings: Mapping[str, Any] | None = None,
        flags: Sequence[str] = ("--disable-workspace-trust",),
        **environment: str,
    ) -> dict[str, Any]:
        profile = self.folder / "profile"
        with serving(profile, self.extensions, settings or {}, machine, flags, **environment) as address:
            return play(scenario, address, self.workspace, self.shots, profile)


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return extensions(tmp_path_factory.mktemp("extensions"), vsix())


@pytest.fixture
def room(tmp_path: Path, extension: Path) -> Room:
    workspace = Path(shutil.copytree(TOUR, tmp_path / "tour"))
    return Room(tmp_path, workspace, extension, Path(os.environ.get("MESHLENS_SHOTS", tmp_path / "shots")))


def _environment(folder: Path) -> Path:
    """Makes a Python with nothing installed."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin" / "python"


# The first scenario is not deep.
PLAIN = ["squiggle", "rename", "completion", "hover", "quick-fix", "snippet", "status", "mesh-view", "walkthrough"]


@pytest.mark.parametrize("scenario", depth.some(PLAIN, 1))
def test_with_a_python_that_is_set(scenario: str, room: Room):
    room.play(scenario, {"meshlens.interpreter": str(_environment(room.folder / "python"))})


@pytest.mark.deep
def test_what_it_claims_is_what_was_recorded(room: Room, update: bool):
    """Compares with the recording that sessions without an editor use; see `recorded_clients.py`."""
    message = room.folder / "initialize.json"
    program = stand_in(room.folder / "bin", message)
    room.play("bare", {"meshlens.path": [str(program), "server"]}, PYTHONPATH=str(Path(meshlens.__file__).parents[1]))
    compare("vscode", message, update)


@pytest.mark.deep
def test_the_moving_picture_of_the_readme_can_be_made_again(tmp_path: Path):
    made = tmp_path / "made.gif"
    subprocess.run([sys.executable, Path(__file__).with_name("moving_picture.py"), made], check=True)
    assert made.read_bytes().startswith(b"GIF89a")


@pytest.mark.deep
def test_in_a_notebook(room: Room):
    (room.workspace / "steps.ipynb").write_text(notebook(*CELLS))
    room.play("notebook", {"meshlens.interpreter": str(_environment(room.folder / "python"))})


def test_a_function_is_sharded_from_the_palette_and_one_that_cannot_says_why(room: Room):
    room.play("parallelize-with-jit", {"meshlens.interpreter": str(_environment(room.folder / "python"))})


@pytest.mark.deep
def test_a_function_whose_batch_is_not_known_is_asked_for_it(room: Room):
    room.play("parallelize-context-menu", {"meshlens.interpreter": str(_environment(room.folder / "python"))})


@pytest.mark.deep
def test_three_doors_lead_to_the_same_question(room: Room):
    room.play("parallelize-doors", {"meshlens.interpreter": str(_environment(room.folder / "python"))})


@pytest.mark.deep
def test_what_became_a_pmap_runs_under_jax(room: Room):
    """Answers the two questions with "workers" and 8."""
    room.play("parallelize", {"meshlens.interpreter": str(_environment(room.folder / "python"))})
    devices = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    program = room.workspace / "11_one_training_run" / "single.py"
    assert 'axis_name="workers"' in program.read_text("utf-8")
    done = subprocess.run(
        [sys.executable, program], env={**os.environ, **devices}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    losses = [float(line.split()[-1]) for line in done.stdout.splitlines()]
    assert losses[-1] < losses[0] / 2


@pytest.mark.deep
def test_with_the_environment_of_the_folder(room: Room):
    _environment(room.workspace / ".venv")
    room.play("bare", {})
    assert "bundled" in _log(room)
    assert str(room.workspace / ".venv") in _log(room)


def test_without_trust_nothing_of_the_folder_is_started(room: Room):
    python = _environment(room.workspace / ".venv")
    started = room.folder / "started"
    python.unlink()
    python.write_text(f'#!/bin/sh\ntouch {started}\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (room.workspace / ".vscode").mkdir()
    setting = {"meshlens.interpreter": str(python)}
    (room.workspace / ".vscode" / "settings.json").write_text(json.dumps(setting))
    (room.workspace / "devices.py").write_text("import jax\n\nprint(jax.devices())\n")
    asks = {"security.workspace.trust.startupPrompt": "never"}
    room.play("restricted", {}, asks, [], MESHLENS_DETECT_DEVICES="1")
    assert not started.exists()
    room.play("bare", {})
    assert started.exists(), "where the folder is trusted, it is started"


def test_a_program_runs_on_the_python_that_is_named(room: Room):
    _environment(room.workspace / ".venv")
    room.play("virtual-devices", {}, VIRTUAL_ENV="")


@pytest.mark.deep
def test_both_ends_of_a_typo_and_what_lenses_show(room: Room):
    room.play(
        "both-ends", {"meshlens.interpreter": str(_environment(room.folder / "python"))}, {"meshlens.codeLens": True}
    )


def test_each_axis_has_its_color_and_the_view_is_for_everybody(room: Room):
    room.play("axis-colors", {"meshlens.interpreter": str(_environment(room.folder / "python"))})


@pytest.mark.deep
def test_an_environment_that_is_made_later(room: Room):
    _with_jax(room.folder / "environment")
    devices = {"JAX_NUM_CPU_DEVICES": "4", "JAX_PLATFORMS": "cpu", "MESHLENS_DETECT_DEVICES": "1", "VIRTUAL_ENV": ""}
    room.play("environment-later", {}, **devices)


def _with_jax(environment: Path) -> Path:
    """Returns the Python of a new environment that has the JAX that runs the tests."""
    python = _environment(environment)
    packages = next(environment.glob("lib/python3*/site-packages"))
    found = importlib.metadata.distribution("jax")
    (packages / "here.pth").write_text(f"{found.locate_file('')}\n")
    write(packages, {f"jax-{found.version}.dist-info/METADATA": f"Name: jax\nVersion: {found.version}\n"})
    return python


@pytest.mark.deep
def test_trust_that_is_granted_in_a_running_window(room: Room):
    """Uses the folder's environment, which has the JAX that runs the tests."""
    python = _with_jax(room.workspace / ".venv")
    started = room.folder / "started"
    python.rename(python.with_name("behind"))
    python.write_text(f'#!/bin/sh\ntouch {started}\nexec {python.with_name("behind")} "$@"\n')
    python.chmod(0o755)
    asks = {"security.workspace.trust.startupPrompt": "never"}
    devices = {"JAX_NUM_CPU_DEVICES": "4", "JAX_PLATFORMS": "cpu", "MESHLENS_DETECT_DEVICES": "1", "VIRTUAL_ENV": ""}
    said = room.play("trust", {}, asks, [], **devices)
    assert "target 8" in said["before"]
    assert "here" not in said["before"]
    assert "target 8, here 4 CPU" in said["after"]
    assert started.exists()


def test_an_entry_is_traced_until_an_edit_makes_that_stale(room: Room):
    room.play("trace", {"meshlens.interpreter": str(_with_jax(room.folder / "python"))})


@pytest.mark.deep
def test_without_a_python(room: Room):
    said = room.play("no-python", {}, VSCODE_CLI="1", PATH=str(_nothing(room)))["said"]
    assert "but none was found" in said


@pytest.mark.deep
def test_with_a_python_that_is_too_old(room: Room):
    """Uses a program that answers as Python 3.9 does; `tests/test_bundle.py` knows what `run.py` says there."""
    old = room.folder / "old"
    refused = "Python 3.9 is too old for MeshLens, which needs 3.10 or newer"
    answer = json.dumps({"origin": "bundled", "python": str(old), "refused": refused, "version": "3.9.18"})
    old.write_text(f"#!/bin/sh\necho '{answer}' >&2\nexit 3\n")
    old.chmod(0o755)
    said = room.play("no-python", {"meshlens.interpreter": str(old)}, VSCODE_CLI="1", PATH=str(_nothing(room)))["said"]
    assert refused in said


def _nothing(room: Room) -> Path:
    """Makes an empty folder for the PATH; without a PATH, VS Code would take that of a login shell."""
    (room.folder / "nothing").mkdir()
    return room.folder / "nothing"


def _log(room: Room) -> str:
    return "\n".join(
        path.read_text("utf-8") for path in room.folder.glob("profile/user/logs/*/exthost*/**/*MeshLens*.log")
    )
