"""The Python that an editor names decides which version of JAX a project is checked against."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import write
from raw_client import PULLS, Server, served

MAPPED = "import jax\n\ndoubled = jax.tree_map(lambda x: 2 * x, {})\n"
REMOVED, DEPRECATED = ["AX501"], ["AX502"]


@pytest.fixture
def old(tmp_path: Path) -> str:
    """Makes a Python whose JAX still has `jax.tree_map`."""
    packages = "environment/lib/python3.11/site-packages/jax-0.4.30.dist-info/METADATA"
    write(tmp_path, {"environment/bin/python": "", "environment/pyvenv.cfg": "", packages: ""})
    return str(tmp_path / "environment" / "bin" / "python")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write(tmp_path / "project", {"train.py": MAPPED, "meshlens.toml": ""})


def _codes(server: Server, root: Path) -> list[str]:
    return [one["code"] for one in server.findings((root / "train.py").as_uri())]


def _opened(server: Server, root: Path) -> list[str]:
    server.open((root / "train.py").as_uri(), MAPPED)
    return _codes(server, root)


@pytest.mark.deep
def test_the_python_that_an_editor_begins_with(project, old):
    with served(project, PULLS) as server:
        assert _opened(server, project) == REMOVED
    with served(project, PULLS, initializationOptions={"interpreter": old, "trusted": False}) as server:
        assert _opened(server, project) == DEPRECATED


def test_the_python_that_an_editor_changes_to(project, old):
    with served(project, PULLS) as server:
        assert _opened(server, project) == REMOVED
        server.notify("meshlens/didChangeInterpreter", {"interpreter": old})
        assert _codes(server, project) == DEPRECATED
        server.notify("meshlens/didChangeInterpreter", {"uri": project.as_uri(), "interpreter": "/nonexistent/python"})
        assert _codes(server, project) == REMOVED


@pytest.mark.deep
@pytest.mark.parametrize("key", ["interpreter", "jax-version"])
def test_what_is_set_goes_before_it(project, old, key):
    newer = "../newer/lib/python3.12/site-packages/jax-0.9.0.dist-info/METADATA"
    values = {"interpreter": "../newer/bin/python", "jax-version": "0.9.0"}
    write(project, {newer: "", "meshlens.toml": f'{key} = "{values[key]}"\n'})
    with served(project, PULLS, initializationOptions={"interpreter": old}) as server:
        assert _opened(server, project) == REMOVED
