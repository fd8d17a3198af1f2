"""The recordings that our sessions use in an editor's name match what the editor itself sends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from real_editors import documented, neovim, project, run, tool
from recorded_clients import compare, stand_in

pytestmark = pytest.mark.editors
HERE = Path(__file__).parent


def _recording(room: Path) -> tuple[str, Path]:
    """Returns a PATH whose server records the first message, and the file that it records to."""
    message = room / "initialize.json"
    return os.pathsep.join([str(stand_in(room / "bin", message).parent), os.environ["PATH"]]), message


@pytest.mark.parametrize(("client", "version"), [("neovim", (0, 11)), ("neovim-0.7", (0, 7))])
def test_neovim(tmp_path: Path, client: str, version: tuple[int, int], update: bool):
    nvim = neovim(version)
    init = tmp_path / "init.lua"
    init.write_text(documented("Neovim", "lua")[0 if version >= (0, 11) else 1])
    scripts = ["-c", f"luafile {init}", "-c", "edit", "-c", f"luafile {HERE / 'nvim' / 'lsp.lua'}"]
    path, message = _recording(tmp_path)
    run([nvim, "--clean", "--headless", *scripts, "train.py"], project(tmp_path / "project"), PATH=path)
    compare(client, message, update)


def test_emacs(tmp_path: Path, update: bool):
    init = tmp_path / "init.el"
    init.write_text(documented("Emacs", "elisp")[0])
    path, message = _recording(tmp_path)
    script = [tool("emacs"), "--batch", "-l", HERE / "emacs" / "eglot.el", "train.py"]
    run(script, project(tmp_path / "project"), MESHLENS_INIT=str(init), PATH=path)
    compare("emacs", message, update)
