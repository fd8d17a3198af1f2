"""Settings, watched files and folders as each recorded client reports them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from lsprotocol import types

from command_line import write
from editor import Editor, editor
from meshlens.lsp.looking import SECONDS
from recorded_clients import CLIENTS, claiming, first_of, silent_about

# `test_settings.py` checks the same for one client.
pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.deep]

WRONG = 'import jax\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")\n'
QUIET = {"ignore": ["unbound-axis"]}
ASKED, WATCHED, TOLD = "workspace.configuration", "workspace.didChangeWatchedFiles", "workspace.didChangeConfiguration"


@asynccontextmanager
async def _opened(root: Path, client: str, *folders: Path) -> AsyncIterator[Editor]:
    async with editor(root, client, folders=folders) as ed:
        ed.open("train.py", WRONG)
        await ed.settled("train.py", 1)
        yield ed


@pytest.mark.parametrize("client", first_of(CLIENTS))
async def test_it_registers_what_the_client_lets_it_register(tmp_path: Path, client: str):
    async with _opened(tmp_path, client) as ed:
        expected = [method.replace(".", "/") for method in (WATCHED, TOLD) if ed.can(f"{method}.dynamicRegistration")]
        await ed.until(lambda: len(ed.registered) >= len(expected))
        assert [one.method for one in ed.registered] == expected


@pytest.mark.parametrize("client", first_of(claiming(ASKED)))
async def test_settings_are_asked_for_and_again_when_they_change(tmp_path: Path, client: str):
    async with _opened(tmp_path, client) as ed:
        ed.client.set_configuration({"meshlens": QUIET})
        # The settings pushed here are ignored, because this client can be asked for them.
        ed.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"meshlens": {}}))
        await ed.settled("train.py", 0)
        ed.client.set_configuration({"meshlens": None})
        ed.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        await ed.settled("train.py", 1)


@pytest.mark.parametrize("client", silent_about(ASKED))
async def test_settings_are_taken_as_they_come_where_nobody_can_be_asked(tmp_path: Path, client: str):
    async with _opened(tmp_path, client) as ed:
        ed.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"meshlens": QUIET}))
        await ed.settled("train.py", 0)
        ed.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"meshlens": {}}))
        await ed.settled("train.py", 1)
        assert "workspace/configuration" not in ed.asked


@pytest.mark.parametrize("client", first_of(claiming(f"{WATCHED}.dynamicRegistration")))
@pytest.mark.parametrize(
    ("name", "text"),
    [("meshlens.toml", 'ignore = ["AX101"]\n'), ("pyproject.toml", '[tool.meshlens]\nignore = ["AX101"]\n')],
)
async def test_configuration_files_are_watched(tmp_path: Path, client: str, name: str, text: str):
    async with _opened(tmp_path, client) as ed:
        await ed.until(lambda: bool(ed.registered))
        (watching,) = [one for one in ed.registered if one.method == "workspace/didChangeWatchedFiles"]
        assert name in str(watching.register_options)
        write(tmp_path, {name: text})
        ed.told_of(types.FileChangeType.Created, name)
        await ed.settled("train.py", 0)
        (tmp_path / name).unlink()
        ed.told_of(types.FileChangeType.Deleted, name)
        await ed.settled("train.py", 1)


@pytest.mark.parametrize("client", silent_about(f"{WATCHED}.dynamicRegistration"))
async def test_files_are_looked_at_where_they_cannot_be_watched(tmp_path: Path, client: str):
    write(tmp_path, {"names.py": 'AXIS = "batch"\n'})
    async with editor(tmp_path, client) as ed:
        ed.open(
            "train.py", WRONG.replace('"bacth"', "AXIS").replace("import jax\n", "import jax\nfrom names import AXIS\n")
        )
        await ed.settled("train.py", 0)
        await _looked(ed)
        write(tmp_path, {"names.py": 'AXIS = "bacth"\n'})
        await _settled_after_messages(ed, 1)
        write(tmp_path, {"meshlens.toml": 'ignore = ["AX101"]\n'})
        await _settled_after_messages(ed, 0)
        (tmp_path / "meshlens.toml").unlink()
        await _settled_after_messages(ed, 1)
        (tmp_path / "names.py").unlink()
        await _settled_after_messages(ed, 0)


async def _looked(ed: Editor) -> None:
    """Waits until the server has seen the files in their present state."""
    await _hovered(ed)
    await asyncio.sleep(1.5 * SECONDS)


async def _hovered(ed: Editor) -> None:
    """Sends a request that a client sends while somebody works."""
    await ed.client.text_document_hover_async(types.HoverParams(ed.document("train.py"), types.Position(0, 0)))


async def _settled_after_messages(ed: Editor, count: int) -> None:
    for _ in range(1500):
        await _hovered(ed)
        if len(await ed.diagnostics("train.py")) == count:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("nobody has looked")


@pytest.mark.parametrize("client", first_of(claiming("workspace.workspaceFolders")))
async def test_each_folder_has_its_own_configuration_and_folders_come_and_go(tmp_path: Path, client: str):
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    for folder, text in ((one, ""), (two, 'ignore = ["AX101"]\n'), (three, 'ignore = ["AX101"]\n')):
        write(folder, {"meshlens.toml": text, "train.py": WRONG})
    async with _opened(one, client, two) as ed:
        second, third = ed.moved(two), ed.moved(three)
        second.open("train.py")
        assert not await second.diagnostics("train.py")
        ed.client.workspace_did_change_workspace_folders(
            types.DidChangeWorkspaceFoldersParams(
                types.WorkspaceFoldersChangeEvent(
                    added=[types.WorkspaceFolder(three.as_uri(), "three")],
                    removed=[types.WorkspaceFolder(two.as_uri(), "two")],
                )
            )
        )
        third.open("train.py")
        assert not await third.diagnostics("train.py")
        assert len(await ed.diagnostics("train.py")) == 1


@pytest.mark.parametrize("client", first_of(claiming(ASKED)))
async def test_each_folder_has_its_own_settings_of_the_editor(tmp_path: Path, client: str):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        write(folder, {"train.py": WRONG})
    async with _opened(one, client, two) as ed:
        second = ed.moved(two)
        second.open("train.py")
        await second.settled("train.py", 1)
        ed.client.set_configuration({"meshlens": QUIET}, scope_uri=two.as_uri())
        ed.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        await second.settled("train.py", 0)
        await ed.settled("train.py", 1)


@pytest.mark.parametrize("client", first_of(CLIENTS))
async def test_a_setting_that_is_wrong_is_said_once_and_the_rest_holds(tmp_path: Path, client: str):
    settings = {"devices": "many", "ignore": ["AX101"]}
    async with editor(tmp_path, client, options={"settings": settings}, settings=settings) as ed:
        ed.open("train.py", WRONG)
        await ed.settled("train.py", 0)
        ed.open("other.py", WRONG)
        await ed.settled("other.py", 0)
        assert len([one for one in ed.client.messages if one.message.startswith("MeshLens: ")]) == 1
