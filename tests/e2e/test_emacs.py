"""Tests the server in a real Emacs with eglot."""

from __future__ import annotations

from pathlib import Path

import pytest

from real_editors import FIXED, RENAMED, documented, project, run, said, tool

pytestmark = pytest.mark.editors
SCRIPT = Path(__file__).parent / "emacs" / "eglot.el"


def test_eglot(tmp_path: Path):
    init = tmp_path / "init.el"
    init.write_text(documented("Emacs", "elisp")[0])
    root = project(tmp_path / "project")
    seen = said(run([tool("emacs"), "--batch", "-l", SCRIPT, "train.py"], root, MESHLENS_INIT=str(init)).stdout)
    assert seen["diagnostic"] == '"bacth"'
    assert "did you mean" in seen["message"]
    assert "batch" in seen["hover"]
    assert seen["completion"] == "batch"
    assert "axis_name=AXIS" in seen["definition"]
    assert (seen["fixed"], seen["renamed"], seen["names"]) == (FIXED, RENAMED, 'AXIS = "rows"\n')
    assert seen["pass"] is True
