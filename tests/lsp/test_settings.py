"""Settings from every source that they can have, and changes on the disk without the editor's knowledge."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import depth
from command_line import write
from raw_client import PULLS, SECONDS, Server, served

pytestmark = pytest.mark.slow

ASKS = {
    **PULLS,
    "workspace": {**PULLS["workspace"], "configuration": True, "didChangeWatchedFiles": {"dynamicRegistration": True}},
}
WRONG = 'import jax\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")\n'
QUIET = {"ignore": ["unbound-axis"]}


def _open(server: Server, root: Path, name: str = "train.py") -> list[str]:
    server.open((root / name).as_uri(), WRONG)
    return _codes(server, root, name)


def _codes(server: Server, root: Path, name: str = "train.py") -> list[str]:
    return [one["code"] for one in server.findings((root / name).as_uri())]


def _written(server: Server, root: Path, kind: int = 2, **files: str | None) -> None:
    for name, text in files.items():
        path = root / name.replace("__", ".")
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
        change = {"uri": path.as_uri(), "type": kind}
        server.notify("workspace/didChangeWatchedFiles", {"changes": [change]})


def _becomes(server: Server, folder: Path, codes: list[str]) -> None:
    """Waits until the server has processed the client's settings."""
    until = time.monotonic() + SECONDS
    while (found := _codes(server, folder)) != codes:
        assert time.monotonic() < until, found
        time.sleep(0.02)


def _shown(server: Server) -> list[str]:
    server.settle(0.1)
    return [one["params"]["message"] for one in server.notified if one["method"] == "window/showMessage"]


def test_initialization_options(tmp_path: Path):
    with served(tmp_path, PULLS, initializationOptions={"settings": QUIET}) as server:
        assert _open(server, tmp_path) == []


@pytest.mark.deep
def test_settings_that_are_pushed(tmp_path: Path):
    with served(tmp_path, PULLS) as server:
        assert _open(server, tmp_path) == ["AX101"]
        server.notify("workspace/didChangeConfiguration", {"settings": {"meshlens": QUIET}})
        assert _codes(server, tmp_path) == []
        server.notify("workspace/didChangeConfiguration", {"settings": {"meshlens": {}}})
        assert _codes(server, tmp_path) == ["AX101"]


def test_settings_that_are_asked_for(tmp_path: Path):
    server = Server(tmp_path)
    try:
        server.settings = QUIET
        server.initialize(tmp_path, ASKS)
        server.until(lambda: {"client/registerCapability", "workspace/configuration"} <= set(server.asked))
        _open(server, tmp_path)
        _becomes(server, tmp_path, [])
        server.settings = None
        server.notify("workspace/didChangeConfiguration", {"settings": None})
        _becomes(server, tmp_path, ["AX101"])
    finally:
        server.stop()


def test_configuration_files_are_watched(tmp_path: Path):
    with served(tmp_path, PULLS) as server:
        assert _open(server, tmp_path) == ["AX101"]
        _written(server, tmp_path, 1, meshlens__toml='ignore = ["unbound-axis"]\n')
        assert _codes(server, tmp_path) == []
        _written(server, tmp_path, 3, meshlens__toml=None)
        assert _codes(server, tmp_path) == ["AX101"]
        _written(server, tmp_path, 1, pyproject__toml='[tool.meshlens]\nignore = ["AX101"]\n')
        assert _codes(server, tmp_path) == []


@pytest.mark.parametrize("wrong", depth.some([{"devices": "many"}, {"select": 3}, {"selct": ["AX101"]}], 1))
def test_a_value_that_is_wrong_is_shown_once_and_the_rest_holds(tmp_path: Path, wrong: dict[str, Any]):
    with served(tmp_path, PULLS, initializationOptions={"settings": wrong}) as server:
        assert _open(server, tmp_path) == ["AX101"]
        assert len(_open(server, tmp_path, "other.py")) == 1
        (said,) = _shown(server)
        assert said.startswith("MeshLens: ")


@pytest.mark.deep
def test_a_configuration_file_that_is_broken_is_shown_once_and_defaults_hold(tmp_path: Path):
    write(tmp_path, {"meshlens.toml": "ignore = [\n"})
    with served(tmp_path, PULLS) as server:
        assert _open(server, tmp_path) == ["AX101"]
        assert len(_shown(server)) == 1


def test_each_folder_has_its_own_configuration_and_folders_come_and_go(tmp_path: Path):
    one, two = tmp_path / "one", tmp_path / "two"
    write(one, {"meshlens.toml": 'ignore = ["AX101"]\n'})
    write(two, {"README.md": ""})
    with served(one, PULLS) as server:
        assert _open(server, one) == []
        event = {"added": [{"uri": two.as_uri(), "name": "two"}], "removed": []}
        server.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        assert _open(server, two) == ["AX101"]
        assert _codes(server, one) == []
        event = {"added": [], "removed": [{"uri": one.as_uri(), "name": "one"}]}
        server.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        assert _codes(server, one) == []
        assert _codes(server, two) == ["AX101"]


@pytest.mark.deep
def test_each_folder_has_its_own_settings_of_the_editor(tmp_path: Path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    server = Server(tmp_path)
    try:
        server.settings = lambda scope: QUIET if scope == one.as_uri() else None
        folders = [{"uri": folder.as_uri(), "name": folder.name} for folder in (one, two)]
        server.initialize(one, ASKS, workspaceFolders=folders)
        _open(server, one)
        _becomes(server, one, [])
        assert _open(server, two) == ["AX101"]
    finally:
        server.stop()


@pytest.mark.deep
def test_files_that_are_written_by_others_change_what_is_said_of_open_ones(tmp_path: Path):
    text = "import jax\nfrom names import AXIS\n" + WRONG.replace('"bacth"', "AXIS").replace("import jax\n", "")
    with served(tmp_path, PULLS) as server:
        uri = (tmp_path / "train.py").as_uri()
        server.open(uri, text)
        assert server.findings(uri) == []
        _written(server, tmp_path, 1, names__py='AXIS = "bacth"\n')
        assert _codes(server, tmp_path) == ["AX101"]
        _written(server, tmp_path, 2, names__py='AXIS = "batch"\n')
        assert _codes(server, tmp_path) == []
        _written(server, tmp_path, 2, names__py='AXIS = "data"\n')
        assert _codes(server, tmp_path) == ["AX101"]
        _written(server, tmp_path, 3, names__py=None)
        assert _codes(server, tmp_path) == []


def test_a_client_that_pulls_is_asked_to_when_something_else_than_its_edit_changed_findings(tmp_path: Path):
    with served(tmp_path, PULLS) as server:
        assert _open(server, tmp_path) == ["AX101"]
        for name, text in (("meshlens__toml", 'ignore = ["AX101"]\n'), ("names__py", "x = 1\n")):
            before = server.asked.count("workspace/diagnostic/refresh")
            _written(server, tmp_path, 1, **{name: text})
            server.until(lambda before=before: server.asked.count("workspace/diagnostic/refresh") > before)
