"""A session keeps what is open, not all that was ever open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from meshlens.lsp.handlers.did_change import did_change
from meshlens.lsp.handlers.did_close import did_close
from meshlens.lsp.handlers.did_open import did_open
from meshlens.lsp.session import Session
from meshlens.lsp.to_lsp import diagnostics
from meshlens.lsp.wire.client import Client

WRONG = "import jax\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, 'typo'), axis_name='data')\n"
FILES = 8


def _session(folder: Path, filler: int) -> tuple[Session, list[Path]]:
    paths = [folder / f"part{number}.py" for number in range(FILES)]
    for path in paths:
        path.write_text(f"{WRONG}# {'x' * filler}\n")
    (folder / "pyproject.toml").write_text('[project]\nname = "kept"\n')
    return Session(lambda method, params: None, _nobody, Client(pulls=True), given=(folder,)), paths


def _nobody(method: str, params: Any) -> Any:
    raise AssertionError("nothing is asked")


def _open(session: Session, path: Path) -> None:
    did_open(session, {"textDocument": {"uri": path.as_uri(), "version": 1, "text": path.read_text()}})
    place = {"line": 1, "character": 0}
    change = {"range": {"start": place, "end": place}, "text": "y = 1\n"}
    did_change(session, {"textDocument": {"uri": path.as_uri(), "version": 2}, "contentChanges": [change]})
    assert len(diagnostics(session, session.documents[path.as_uri()])) == 1


def _close(session: Session, path: Path) -> None:
    did_close(session, {"textDocument": {"uri": path.as_uri()}})


def test_only_the_files_typed_in_last_keep_an_earlier_state(tmp_path: Path):
    session, paths = _session(tmp_path.resolve(), 10)
    for path in paths:
        _open(session, path)
    assert list(session.last_whole) == paths[-2:]


def test_findings_of_closed_files_are_forgotten(tmp_path: Path):
    session, paths = _session(tmp_path.resolve(), 10)
    for path in paths[:2]:
        _open(session, path)
    _close(session, paths[0])
    checked = session.folder_of(paths[1]).workspace.solution.checked
    assert {key[0] for key in checked} == {paths[1]}


def test_closed_files_of_a_large_project_leave_the_memory(tmp_path: Path):
    session, paths = _session(tmp_path.resolve(), 90_000)
    for path in paths:
        _open(session, path)
        if path is not paths[-1]:
            _close(session, path)
    loaded = session.folder_of(paths[-1]).workspace.files
    assert str(paths[-1]) in loaded
    assert sum(len(file.raw) for file in loaded.values()) < 500_000
