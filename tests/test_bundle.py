"""The parts that the extension bundles: locked dependencies, one version everywhere, nothing unlisted."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
BUNDLED = ROOT / "bundled"
LOCK = (BUNDLED / "requirements.txt").read_text("utf-8")

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def locked() -> dict[str, str]:
    return dict(re.findall(r"^([\w-]+)==(\S+)", LOCK, re.MULTILINE))


def test_every_dependency_is_locked_at_a_version_that_is_allowed():
    """Allows one exception: rich draws in a terminal, and the extension has none."""
    wanted = [Requirement(one) for one in project()["dependencies"]]
    found = {canonicalize_name(one.name): one.specifier for one in wanted}
    assert [name for name in found if name not in locked()] == ["rich"]
    assert [name for name, allowed in found.items() if name != "rich" and locked()[name] not in allowed] == []


def test_every_locked_wheel_has_its_hashes():
    entries = re.split(r"^(?=[\w-]+==)", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) == len(locked())
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []


def test_the_extension_and_the_server_have_one_version():
    assert json.loads((ROOT / "package.json").read_text("utf-8"))["version"] == project()["version"]


def test_the_bundle_is_for_every_python_that_is_promised():
    pythons = runpy.run_path(str(BUNDLED / "fill.py"))["PYTHONS"]
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(project()["classifiers"]))
    assert set(promised) <= set(pythons)
    assert project()["requires-python"] == f">={pythons[0]}"


@pytest.mark.parametrize("version", [(2, 7), (3, 6), (3, 9)], ids=lambda version: ".".join(map(str, version)))
def test_a_python_that_is_too_old_is_told_so(version, monkeypatch, capsys):
    run = runpy.run_path(str(BUNDLED / "run.py"))
    monkeypatch.setattr(sys, "version_info", (*version, 1))
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert run["main"](["server"]) == run["UNUSABLE"]
    said = capsys.readouterr().err
    assert said.startswith(f"meshlens: Python {version[0]}.{version[1]} is too old for MeshLens, which needs 3.10")
    assert said.count("\n") == 1


def test_a_python_without_a_parser_is_told_so(tmp_path):
    """Imitates a Python that is newer than the extension, or an extension built for another platform."""
    (tmp_path / "run.py").write_bytes((BUNDLED / "run.py").read_bytes())
    (tmp_path / "libs").mkdir()
    asked = [sys.executable, "-I", "-S", str(tmp_path / "run.py"), "--tell", "server"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    answer = json.loads(done.stderr)
    assert (done.returncode, answer["origin"]) == (3, "bundled")
    assert re.match(r"Python 3\.\d+ on \w+ \w+ cannot load the parser of MeshLens: No module named", answer["refused"])


def test_a_python_that_has_the_server_is_asked_for_it():
    asked = [sys.executable, str(BUNDLED / "run.py"), "--tell", "--from-environment", "--version"]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert json.loads(done.stderr)["origin"] == "environment"
    assert done.stdout.startswith("meshlens ")
