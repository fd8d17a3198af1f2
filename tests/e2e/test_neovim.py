"""Real Neovim, the newest that a package brings and the one of Debian 12."""

from __future__ import annotations

from pathlib import Path

import pytest

from real_editors import FIXED, RENAMED, documented, neovim, project, run, said

pytestmark = pytest.mark.editors
HERE = Path(__file__).parent / "nvim"


@pytest.mark.parametrize(("version", "encoding"), [((0, 11), "utf-8"), ((0, 7), "utf-16")], ids=["0.11", "0.7"])
def test_neovim(tmp_path: Path, version: tuple[int, int], encoding: str):
    nvim = neovim(version)
    root = project(tmp_path / "project")
    init = tmp_path / "init.lua"
    init.write_text(documented("Neovim", "lua")[0 if version >= (0, 11) else 1])
    scripts = ["-c", f"luafile {init}", "-c", "edit", "-c", f"luafile {HERE / 'lsp.lua'}"]
    done = run([nvim, "--clean", "--headless", *scripts, "train.py"], root)
    seen = said(done.stdout)
    assert seen["version"] == list(version)
    assert seen["root"] == str(root)
    assert seen["encoding"] == encoding
    assert seen["diagnostic"] == ["AX101", '"bacth"', "meshlens"]
    assert "batch" in seen["hover"]
    assert seen["completion"] == "batch"
    assert seen["elsewhere"] is True
    assert "axis_name=AXIS" in seen["definition"]
    assert seen["fixed"] == FIXED
    assert seen["renamed"] == RENAMED
    assert seen["names"] == 'AXIS = "rows"\n'
    assert seen["pass"] is True
