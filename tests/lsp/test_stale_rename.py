"""A rename that the process beside the server computed for other texts edits nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshlens.ide.naming.rename import Renaming, rename
from meshlens.lsp.handlers.did_change import did_change
from meshlens.lsp.handlers.did_open import did_open
from meshlens.lsp.handlers.rename import _is_stale
from meshlens.lsp.session import Session
from meshlens.lsp.wire.client import Client

TEXT = "import jax\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, 'rows'), axis_name='rows')\n"


@pytest.mark.parametrize(("inserted", "stale"), [("", [False, False]), ("# a line\n", [True, True])])
def test_a_text_that_has_changed_meanwhile(tmp_path: Path, inserted: str, stale: list[bool]):
    session = Session(lambda method, content: None, lambda method, content: None, Client(encoding="utf-8"))
    path = tmp_path / "train.py"
    document = {"uri": path.as_uri(), "version": 1}
    did_open(session, {"textDocument": {**document, "languageId": "python", "text": TEXT}})
    view = session.view(path)
    assert view is not None
    found = rename(view, TEXT.index("'rows'") + 1, "batch")
    assert isinstance(found, Renaming)
    where = {side: {"line": 0, "character": 0} for side in ("start", "end")}
    changes = [{"range": where, "text": inserted}]
    did_change(session, {"textDocument": {**document, "version": 2}, "contentChanges": changes})
    pairs = zip(found.edits, found.replaced, strict=True)
    assert [_is_stale(session, edit, old) for edit, old in pairs] == stale
