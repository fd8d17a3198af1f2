"""Real Emacs with eglot; too much to install on every machine that runs the tests, so it is left out without it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from real_editors import FIXED, RENAMED, documented, project, run, said

pytestmark = pytest.mark.editors
SCRIPT = Path(__file__).parent / "emacs" / "eglot.el"


@pytest.mark.skipif(shutil.which("emacs") is None, reason="Emacs is not installed")
def test_eglot(tmp_path: Path):
    init = tmp_path / "init.el"
    init.write_text(documented("Emacs", "elisp")[0])
    root = project(tmp_path / "project")
    seen = said(run(["emacs", "--batch", "-l", SCRIPT, "train.py"], root, MESHLENS_INIT=str(init)).stdout)
    assert seen["diagnostic"] == '"bacth"'
    assert "did you mean" in seen["message"]
    assert "batch" in seen["hover"]
    assert seen["completion"] == "batch"
    assert "axis_name=AXIS" in seen["definition"]
    assert (seen["fixed"], seen["renamed"], seen["names"]) == (FIXED, RENAMED, 'AXIS = "rows"\n')
    assert seen["pass"] is True
