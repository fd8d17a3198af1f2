"""Nothing that encloses an untrusted folder or is named in it is run: with real servers, for every command line."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import depth
from command_line import meshlens, write
from fake_interpreters import program
from launched import EXTENSION, SERVER
from raw_client import Server

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="the tricks are those of other systems"),
    pytest.mark.slow,
]

SOURCE = "import jax\n\nprint(jax.devices(), jax.pmap(lambda x: jax.lax.psum(x, 'i'), axis_name='i'))\n"


@dataclass
class Attack:
    """The files that a user has downloaded, and how they are opened.

    Attributes:
        room: the folder that holds everything.
        opened: the folder that is opened; None if only a file is.
        file: the file that is opened.
        options: the client's initialization options.
        environ: the user's environment variables.
    """

    room: Path
    opened: Path | None
    file: Path
    options: dict[str, Any] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)


def trap(room: Path, place: Path, name: str = "python") -> Path:
    """Makes a program, where an environment has its Python, that notes that it was run."""
    caught = f"#!/bin/sh\necho {place} >> '{room / 'caught'}'\n"
    program(place / "bin" / name, caught)
    (place / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (place / "lib" / "python3.11" / "site-packages" / "jax-0.10.2.dist-info").mkdir(parents=True, exist_ok=True)
    return place / "bin" / name


def above(room: Path, *marks: str) -> Attack:
    """Puts an environment above the folder that is opened."""
    top = write(room / "archive", {"sub/a.py": SOURCE} | dict.fromkeys(marks, ""))
    trap(room, top / ".venv")
    return Attack(room, top / "sub", top / "sub" / "a.py")


def repository(room: Path) -> Attack:
    """Makes the folder above a repository, as in the attack that was tried first."""
    return above(room, ".git/HEAD")


def worktree(room: Path) -> Attack:
    """Makes `.git` a file, as in a worktree or a submodule."""
    return above(room, ".git")


def nested(room: Path) -> Attack:
    """Nests repositories: the inner one is opened, and the outer one's Python is on the PATH."""
    attack = above(room, ".git/HEAD", "sub/.git/HEAD")
    attack.environ["PATH"] = f"{room / 'archive' / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return attack


def single_file(room: Path) -> Attack:
    """Opens no folder, and lets a configuration file say where the project begins."""
    attack = above(room, ".git/HEAD", "sub/meshlens.toml")
    attack.opened = None
    return attack


def single_file_without_marks(room: Path) -> Attack:
    """Opens no folder, and puts the environment beside the file."""
    attack = above(room)
    trap(room, room / "archive" / "sub" / ".venv")
    attack.opened = None
    return attack


def named_in_the_configuration(room: Path) -> Attack:
    """Names a Python in `tool.meshlens.interpreter`, above the folder that is opened."""
    attack = above(room, ".git/HEAD")
    python = trap(room, room / "elsewhere")
    (room / "archive" / "pyproject.toml").write_text(f'[tool.meshlens]\ninterpreter = "{python}"\n')
    return attack


def named_for_conda(room: Path) -> Attack:
    """Names one of the user's own environments in `environment.yml`, whatever that environment runs when it starts."""
    attack = above(room, ".git/HEAD")
    trap(room, room / "home" / "conda" / "envs" / "other")
    listed = f"{room / 'home' / 'conda' / 'envs' / 'other'}\n"
    write(room, {"home/.conda/environments.txt": listed, "archive/sub/environment.yml": "name: other\n"})
    attack.environ["HOME"] = str(room / "home")
    return attack


def named_for_pyenv(room: Path) -> Attack:
    """Names one of the user's versions in `.python-version`, and an arbitrary program in `.pdm-python`."""
    attack = above(room, ".git/HEAD")
    trap(room, room / "home" / ".pyenv" / "versions" / "3.11.7")
    named = {".python-version": "3.11\n", ".pdm-python": str(trap(room, room / "elsewhere"))}
    write(room / "archive" / "sub", named)
    attack.environ["HOME"] = str(room / "home")
    return attack


def relative_to_the_folder(room: Path) -> Attack:
    """Sets the user's own variables to relative paths, which then lead into the workspace."""
    attack = above(room, ".git/HEAD")
    trap(room, room / "archive" / "sub" / "env")
    attack.environ |= {"UV_PROJECT_ENVIRONMENT": "env", "VIRTUAL_ENV": "env", "CONDA_PREFIX": "env"}
    attack.environ["PATH"] = f"env/bin{os.pathsep}{os.environ['PATH']}"
    return attack


def linked_out(room: Path) -> Attack:
    """Opens a link to a folder that is in the repository."""
    attack = above(room, ".git/HEAD")
    (room / "shortcut").symlink_to(room / "archive" / "sub")
    attack.opened, attack.file = room / "shortcut", room / "shortcut" / "a.py"
    attack.environ["PATH"] = f"{room / 'archive' / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return attack


def linked_in(room: Path) -> Attack:
    """Links the folder's environment to one of the user's, and one of the user's to one in the archive."""
    attack = above(room, ".git/HEAD")
    trap(room, room / "home" / "env")
    (room / "archive" / "sub" / ".venv").symlink_to(room / "home" / "env")
    (room / "active").symlink_to(room / "archive" / ".venv")
    attack.environ["VIRTUAL_ENV"] = str(room / "active")
    return attack


def said_by_the_client(room: Path) -> Attack:
    """Passes an interpreter, as an extension for Python without a notion of trust would, from the folder above."""
    attack = above(room, ".git/HEAD")
    attack.options["interpreter"] = str(room / "archive" / ".venv" / "bin" / "python")
    return attack


def half_trusted(room: Path) -> Attack:
    """Sends the string "false" where our protocol has a boolean for trust."""
    attack = above(room, ".git/HEAD")
    trap(room, room / "archive" / "sub" / ".venv")
    attack.options["trusted"] = "false"
    return attack


def on_the_path(room: Path) -> Attack:
    """Puts the tools that MeshLens would ask first on the PATH, in a folder outside of the one that is opened."""
    attack = above(room, ".git/HEAD")
    tools = room / "tools"
    for name in ("python3", "python", "nvidia-smi", "conda", "poetry", "uv", "git"):
        trap(room, tools, name)
    attack.environ |= {"PATH": f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}", "LD_LIBRARY_PATH": str(tools)}
    return attack


ATTACKS = (
    repository,
    worktree,
    nested,
    single_file,
    single_file_without_marks,
    named_in_the_configuration,
    named_for_conda,
    named_for_pyenv,
    relative_to_the_folder,
    linked_out,
    linked_in,
    said_by_the_client,
    half_trusted,
    on_the_path,
)


def opened(attack: Attack, line: tuple[str, ...], *, trusted: bool) -> str:
    """Opens the attack's folder or file and requests its devices twice; returns what was run."""
    options = {"trusted": trusted, **attack.options, "devicesDidChange": True}
    server = Server(attack.opened or attack.room, line, MESHLENS_DETECT_DEVICES="1", **attack.environ)
    try:
        server.initialize(attack.opened, {}, initializationOptions=options)
        uri = attack.file.as_uri()
        server.open(uri, SOURCE)
        server.wait("meshlens/devicesDidChange")
        server.request("meshlens/devices", {"uri": uri, "refresh": True})
        assert server.findings(uri) == []
    finally:
        server.stop()
    caught = attack.room / "caught"
    return caught.read_text() if caught.exists() else ""


@pytest.mark.parametrize("attack", depth.some([*ATTACKS], 1), ids=lambda attack: attack.__name__)
def test_nothing_runs(tmp_path: Path, attack: Any):
    assert opened(attack(tmp_path), SERVER, trusted=False) == ""


FEW = depth.some([repository, single_file, named_for_conda], 2)


@pytest.mark.parametrize("attack", FEW, ids=lambda attack: attack.__name__)
def test_nothing_runs_through_the_line_of_the_extension(tmp_path: Path, attack: Any):
    assert opened(attack(tmp_path), EXTENSION, trusted=False) == ""


@pytest.mark.parametrize("attack", FEW, ids=lambda attack: attack.__name__)
def test_the_traps_catch_what_a_trusted_workspace_runs(tmp_path: Path, attack: Any):
    assert opened(attack(tmp_path), SERVER, trusted=True) != ""


@pytest.mark.parametrize(
    "attack", depth.some([repository, named_for_conda, on_the_path], 1), ids=lambda attack: attack.__name__
)
def test_nothing_runs_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attack: Any):
    made = attack(tmp_path)
    for name, value in made.environ.items():
        monkeypatch.setenv(name, value)
    meshlens("devices", "--untrusted", "--refresh", cwd=made.opened)
    meshlens("check", "a.py", cwd=made.opened)
    assert not (tmp_path / "caught").exists(), (tmp_path / "caught").read_text()
