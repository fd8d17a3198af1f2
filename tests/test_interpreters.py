"""The Python that runs the code of a folder: environments in the layouts of the tools that make them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from fake_interpreters import program
from meshlens.devices.interpreters import Interpreter, Wishes, choose_interpreter, find_interpreters
from meshlens.devices.runner import Question, run_probe

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="the layouts are those of other systems"),
    pytest.mark.slow,
]

NOWHERE = Path("/nonexistent")
NO_WISHES = Wishes()


def layout(environment: Path, *, jax: str | None = None, conda: bool = False) -> str:
    """Makes an environment in the layout of its tool, with a Python that does nothing; returns the Python."""
    if conda:
        (environment / "conda-meta").mkdir(parents=True)
    else:
        environment.mkdir(parents=True)
        (environment / "pyvenv.cfg").write_text("home = /usr/bin\n")
    packages = environment / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    if jax:
        (packages / f"jax-{jax}.dist-info").mkdir()
    return program(environment / "bin" / "python", "#!/bin/sh\n")


def found(folder: Path, home: Path, wishes: Wishes = NO_WISHES, **environ: str) -> list[tuple[str, str]]:
    environ = {"HOME": str(home), "PATH": "", **environ}
    return [(one.origin, one.path) for one in find_interpreters(folder, wishes, environ=environ)]


@pytest.fixture
def home(tmp_path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


def _hashed(folder: Path) -> str:
    return urlsafe_b64encode(hashlib.sha256(os.path.realpath(folder).encode()).digest())[:8].decode()


def test_environments_in_the_folder(folder, home):
    names = [".venv", "venv", "env", "gpu-env"]
    pythons = {name: layout(folder / name) for name in reversed(names)}
    pythons[".conda"] = layout(folder / ".conda", conda=True)
    (folder / "src").mkdir()
    order = [".venv", "venv", ".conda", "env", "gpu-env"]
    assert found(folder, home) == [(name, pythons[name]) for name in order]


def test_environments_of_pixi(folder, home):
    gpu, default = (layout(folder / ".pixi" / "envs" / name, conda=True) for name in ("cuda", "default"))
    assert found(folder, home) == [("pixi default", default), ("pixi cuda", gpu)]


def test_environments_of_poetry(folder, home):
    kept = home / (".cache/pypoetry" if sys.platform != "darwin" else "Library/Caches/pypoetry") / "virtualenvs"
    python = layout(kept / f"project-{_hashed(folder)}-py3.11")
    layout(kept / "project-AAAAAAAA-py3.11")
    assert found(folder, home) == [("poetry", python)]
    elsewhere = layout(home / "poetry" / f"project-{_hashed(folder)}-py3.12")
    assert found(folder, home, POETRY_VIRTUALENVS_PATH=str(home / "poetry")) == [("poetry", elsewhere)]


def test_environments_of_hatch(folder, home):
    kept = home / "data" / "env" / "virtual" / "my-project" / _hashed(folder)
    gpu, default = layout(kept / "gpu"), layout(kept / "my-project")
    layout(home / "data" / "env" / "virtual" / "my-project" / "AAAAAAAA" / "my-project")
    assert found(folder, home, HATCH_DATA_DIR=str(home / "data")) == [("hatch", default), ("hatch gpu", gpu)]


def test_environments_of_pipenv(folder, home):
    kept = home / ".local" / "share" / "virtualenvs"
    for name, project in (("mine", folder), ("other", home)):
        python = layout(kept / f"{name}-abc")
        (kept / f"{name}-abc" / ".project").write_text(f"{project}\n")
        assert (("pipenv", python) in found(folder, home)) is (name == "mine")


def test_environments_that_conda_has_listed(folder, home):
    listed = {name: layout(home / "conda" / "envs" / name, conda=True) for name in ("train", "other")}
    (home / ".conda").mkdir()
    (home / ".conda" / "environments.txt").write_text("".join(f"{home}/conda/envs/{name}\n" for name in listed))
    assert found(folder, home) == []
    (folder / "environment.yml").write_text("name: train  # the one\ndependencies:\n  - jax\n")
    assert found(folder, home) == [("conda train", listed["train"])]


def test_what_is_named_stands_first_and_the_rest_in_order(folder, home, tmp_path):
    names = ("set", "edited", "active", "conda", "path")
    pythons = {name: layout(tmp_path / name) for name in names}
    own = layout(folder / ".venv")
    environ = {
        "VIRTUAL_ENV": str(tmp_path / "active"),
        "CONDA_PREFIX": str(tmp_path / "conda"),
        "PATH": str(tmp_path / "path" / "bin"),
    }
    wishes = Wishes(setting="../set", setting_folder=str(folder), editor=pythons["edited"])
    first = [
        ("set", str(folder / "../set/bin/python")),
        ("the editor", pythons["edited"]),
        ("VIRTUAL_ENV", pythons["active"]),
    ]
    named = [("CONDA_PREFIX", pythons["conda"])]
    rest = [(".venv", own)]
    last = [("PATH", pythons["path"])]
    assert found(folder, home, wishes, **environ, CONDA_DEFAULT_ENV="train") == [*first, *named, *rest, *last]
    assert found(folder, home, wishes, **environ, CONDA_DEFAULT_ENV="base") == [*first, *rest, *named, *last]


def test_the_likeliest_that_has_jax_is_chosen(folder, home, tmp_path):
    environ = {"HOME": str(home), "PATH": "", "VIRTUAL_ENV": str(tmp_path / "tools")}
    tools, own = layout(tmp_path / "tools"), layout(folder / ".venv", jax="0.4.30")
    assert choose_interpreter(folder, environ=environ) == Interpreter(own, ".venv")
    shutil.rmtree(folder / ".venv")
    assert choose_interpreter(folder, environ=environ) == Interpreter(tools, "VIRTUAL_ENV")
    assert choose_interpreter(folder, Wishes(editor=tools), environ=environ) == Interpreter(tools, "the editor", True)
    assert choose_interpreter(folder, environ={"HOME": str(home), "PATH": ""}) is None


def test_what_is_set_is_taken_even_if_it_is_not_there(folder, home):
    layout(folder / ".venv", jax="0.4.30")
    chosen = choose_interpreter(folder, Wishes(setting="gone/python"), environ={"HOME": str(home), "PATH": ""})
    assert chosen == Interpreter(str(folder / "gone" / "python"), "set", True)


def test_a_bare_name_is_looked_for_on_the_path(folder, home, tmp_path):
    python = program(tmp_path / "bin" / "python3.99", "#!/bin/sh\n")
    wishes = Wishes(setting="python3.99", given="python3.99")
    assert found(folder, home, wishes, PATH=str(tmp_path / "bin")) == [("given", python)]
    own = program(folder / "python3.99", "#!/bin/sh\n")
    assert found(folder, home, wishes, PATH=str(tmp_path / "bin")) == [("given", python), ("set", own)]


def test_an_environment_above_counts_up_to_the_root_of_the_repository(folder, home, tmp_path):
    above = layout(folder / ".venv")
    layout(tmp_path / ".venv")
    (folder / "packages" / "a").mkdir(parents=True)
    assert found(folder / "packages" / "a", home) == [(".venv", above)]
    shutil.rmtree(folder / ".git")
    assert found(folder / "packages" / "a", home) == []


def test_pyenv_is_asked_by_its_files_and_its_shims_are_left_out(folder, home):
    shims = home / ".pyenv" / "shims"
    program(shims / "python3", "#!/bin/sh\nexit 1\n")
    pythons = {version: layout(home / ".pyenv" / "versions" / version) for version in ("3.11.7", "3.11.10", "3.12.1")}
    (home / ".pyenv" / "version").write_text("3.12.1\n3.11.7\n")
    assert found(folder, home, PATH=str(shims)) == [("pyenv 3.12.1", pythons["3.12.1"])]
    (folder / ".python-version").write_text("3.11\n")
    assert found(folder, home, PATH=str(shims))[0] == ("pyenv 3.11.10", pythons["3.11.10"])


def test_pdm_writes_down_its_python(folder, home):
    python = layout(home / "pdm" / "project-3.11")
    (folder / ".pdm-python").write_text(python)
    assert found(folder, home) == [("pdm", python)]


def made(tool: str, folder: Path) -> bool:
    """Makes `.venv` with a real tool; returns true if the tool is installed, as it must be in CI."""
    places = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    commands = {
        "venv": [sys.executable, "-m", "venv", "--without-pip"],
        "virtualenv": [sys.executable, "-m", "virtualenv", "--quiet", "--no-download"],
        "uv": [shutil.which("uv", path=places) or "uv", "venv", "-q", "--python", sys.executable],
    }
    try:
        subprocess.run([*commands[tool], str(folder / ".venv")], check=True, capture_output=True, cwd=folder)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


@pytest.mark.parametrize("tool", ["venv", "virtualenv", "uv"])
def test_real_environments(folder, home, tool):
    if not made(tool, folder):
        if os.environ.get("CI"):
            pytest.fail(f"{tool} makes no environment here, and this test is about it")
        pytest.skip(f"{tool} makes no environment here")
    packages = next((folder / ".venv").glob("lib/python3*/site-packages"))
    (packages / "jax-0.4.30.dist-info").mkdir()
    chosen = choose_interpreter(folder, environ={"HOME": str(home), "PATH": os.environ["PATH"]})
    assert chosen is not None
    assert (chosen.origin, chosen.path) == (".venv", str(folder / ".venv" / "bin" / "python"))
    report = run_probe(Question(chosen.path, "installed"), environ={}, root=NOWHERE)
    assert (report.version("jax"), report.failure) == ("0.4.30", None)
