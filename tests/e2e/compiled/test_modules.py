"""The installed wheel has compiled modules, and these are what runs."""

from __future__ import annotations

import importlib
import runpy
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from meshlens.axes.domain.values import Const, Data

pytestmark = pytest.mark.editors
ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "server" / "meshlens"
MODULES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in runpy.run_path(str(ROOT / "compiled" / "build.py"))["compiled_modules"](PACKAGE)
]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_compiled(name):
    file = importlib.import_module(name).__file__
    assert file is not None
    assert file.endswith(tuple(EXTENSION_SUFFIXES))


def test_the_command_runs_them(tmp_path):
    (tmp_path / "main.py").write_text('import jax\n\njax.pmap(lambda x: jax.lax.psum(x, "j"), axis_name="i")(1)\n')
    asked = "import sys; from meshlens.cli.main import main; main()"
    command = [sys.executable, "-v", "-c", asked, "check", "--no-cache", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "AX101" in done.stdout
    assert "extension module 'meshlens.project.workspace' loaded" in done.stderr


def test_a_value_is_native():
    with pytest.raises(TypeError):
        Data(array=1)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        Const(1).other = 2  # type: ignore[attr-defined]
