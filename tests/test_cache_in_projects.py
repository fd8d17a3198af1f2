"""Nothing that a project carries is a cache: what older versions kept there is neither read, written nor deleted."""

from __future__ import annotations

import hashlib
import marshal
import os
from pathlib import Path

import pytest

import depth
import forged_before as forged
from command_line import TYPO, start, write

pytestmark = pytest.mark.slow

FOUND = (1, b"a.py:7:29: AX101", b"")
ENTRIES = [(), (1, 2), (0, 0, 0, 0, 0), None]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = write(tmp_path / "project", {"a.py": TYPO, "pyproject.toml": ""})
    for path in root.iterdir():
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return root


def _checked(root: Path, **environment: str) -> tuple[int, bytes, bytes]:
    run = start("check", "--output-format", "concise", cwd=root, **environment)
    out, err = run.communicate(timeout=300)
    return run.returncode, out[:16], err


def _folder(root: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in (root / forged.FOLDER).iterdir()}


@pytest.mark.parametrize("blob", depth.some([forged.HOLDS_ITSELF, forged.HUGE], 1), ids=["holds itself", "huge"])
@pytest.mark.parametrize("place", ["facts", "index", "results"])
def test_bytes_that_end_the_interpreter(project, blob, place):
    if place == "facts":
        forged.facts_file(project, {TYPO.encode(): blob})
    elif place == "index":
        forged.write_facts(project, blob)
    else:
        forged.write_results(project, blob)
    before = _folder(project)
    assert _checked(project) == FOUND
    assert _folder(project) == before


def test_facts_of_an_empty_file(project):
    forged.facts_file(project, {TYPO.encode(): forged.empty_facts()})
    assert _checked(project) == FOUND


@pytest.mark.parametrize("entry", depth.some([pytest.param(one) for one in ENTRIES], 1), ids=str)
def test_an_index_of_another_shape(project, entry):
    forged.write_facts(project, marshal.dumps({hashlib.blake2b(TYPO.encode(), digest_size=16).digest(): entry}))
    assert _checked(project) == FOUND


@pytest.mark.parametrize("result", depth.some([pytest.param(one) for one in ((), ((),), 1, ((1, 2, 3),))], 1), ids=str)
def test_results_without_files(project, result, monkeypatch):
    # A forger can compute the question from the files, the settings and the program, as is done here.
    from meshlens.cli.request import ask
    from meshlens.project.disk.results import question

    monkeypatch.chdir(project)
    (group,) = ask(
        ["."], {"select": (), "extend_select": (), "ignore": (), "devices": None, "jax_version": None}
    ).groups
    asked = question(group.settings, group.folder_versions, str(group.root), tuple(map(str, group.files)))
    forged.write_results(project, forged.every_result({asked: result}))
    assert _checked(project) == FOUND


@pytest.mark.skipif(os.name == "nt", reason="links need rights")
def test_a_link_to_a_folder_elsewhere(project, tmp_path):
    elsewhere = write(tmp_path / "elsewhere", {"facts-000000000000.bin": "mine", "results-0.bin": "mine", "other": ""})
    (project / forged.FOLDER).symlink_to(elsewhere)
    before = _folder(project)
    assert _checked(project) == FOUND
    assert _folder(project) == before


@pytest.mark.parametrize("place", depth.some([".", "deep/er"], 1))
@pytest.mark.parametrize("variable", ["MESHLENS_CACHE_DIR", "XDG_CACHE_HOME"])
def test_a_cache_folder_in_the_project(project, place, variable):
    (project / "src").mkdir()
    (project / "a.py").rename(project / "src" / "a.py")
    (project / ".git").mkdir()
    (project / "pyproject.toml").rename(project / "src" / "pyproject.toml")
    before = set(project.rglob("*"))
    variables = {"MESHLENS_CACHE_DIR": "", variable: str(project / place)}
    assert _checked(project / "src", **variables) == FOUND
    assert set(project.rglob("*")) == before
