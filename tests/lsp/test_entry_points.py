"""The entry points by which JupyterLab's extension finds the server."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]


def _entry_point(group: str) -> EntryPoint:
    return EntryPoint("meshlens", PROJECT["entry-points"][group]["meshlens"], group)


def test_jupyterlab_is_told_how_to_start_the_server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("meshlens.lsp.jupyter.find_spec", lambda name: None)
    (server,) = _entry_point("jupyter_lsp_spec_v1").load()(None).values()
    assert server["argv"] == [sys.executable, "-I", "-m", "meshlens", "server"]
    assert server["languages"] == ["python"]
    assert server["version"] == 2


def test_python_lsp_server_stays_the_one_that_jupyterlab_uses(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("meshlens.lsp.jupyter.find_spec", lambda name: object())
    assert _entry_point("jupyter_lsp_spec_v1").load()(None) == {}


def test_jupyterlab_does_not_have_to_be_there():
    module = _entry_point("jupyter_lsp_spec_v1").module
    __import__(module)
    assert not [name for name in sys.modules if name.startswith("jupyter_lsp")]
