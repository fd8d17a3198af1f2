"""Fixes, fix all and "ignore on this line" in real sessions: right for clients of every kind, wrong for none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from command_line import write
from editor import CLIENTS, Editor, editor

pytestmark = pytest.mark.asyncio

WRONG = """import jax

text = "é𝛼"; grads = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")
"""


async def _actions(ed: Editor, name: str, where: types.Range | None = None, only: Any = None) -> list[types.CodeAction]:
    found = await ed.diagnostics(name)
    where = where or found[0].range
    # Neovim 0.7 echoes byte columns; what comes back must not be believed.
    echoed = [
        types.Diagnostic(
            range=types.Range(types.Position(0, 0), types.Position(90, 90)), message=one.message, code=one.code
        )
        for one in found
    ]
    context = types.CodeActionContext(diagnostics=echoed, only=only)
    params = types.CodeActionParams(ed.document(name), where, context)
    made = await ed.client.text_document_code_action_async(params)
    assert all(isinstance(one, types.CodeAction) for one in made or ())
    return [one for one in made or () if isinstance(one, types.CodeAction)]


async def _apply(ed: Editor, action: types.CodeAction) -> None:
    if action.edit is None:
        action = await ed.client.code_action_resolve_async(action)
    assert action.edit is not None
    ed.apply(action.edit)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
async def test_a_safe_fix_comes_first_and_ignoring_last(tmp_path: Path, client: str, ends: str):
    async with editor(tmp_path, client) as ed:
        ed.open("train.py", WRONG.replace("\n", ends))
        actions = await _actions(ed, "train.py")
        quick = [one for one in actions if one.kind == types.CodeActionKind.QuickFix]
        assert [bool(one.is_preferred) for one in quick] == [True] + [False] * (len(quick) - 1)
        assert quick[-1].title == "Ignore unbound-axis on this line"
        others = [one.kind for one in actions if one not in quick]
        assert others[0] == "source.fixAll.meshlens"
        assert set(others[1:]) == {"refactor.rewrite"}
        await _apply(ed, quick[0])
        assert ed.texts["train.py"] == WRONG.replace("bacth", "batch").replace("\n", ends)
        assert not await ed.diagnostics("train.py")


@pytest.mark.parametrize("client", ["visual-studio-code", "neovim@v0.7.0"])
async def test_ignoring_silences(tmp_path: Path, client: str):
    async with editor(tmp_path, client) as ed:
        ed.open("train.py", WRONG.replace("\n", "\r\n"))
        (ignore,) = [one for one in await _actions(ed, "train.py") if one.title.startswith("Ignore")]
        await _apply(ed, ignore)
        assert ed.texts["train.py"].endswith("  # meshlens: ignore[unbound-axis]\r\n")
        assert not await ed.diagnostics("train.py")


async def test_only_what_was_asked_for(tmp_path: Path):
    async with editor(tmp_path) as ed:
        ed.open("train.py", WRONG)
        for only, kinds in (
            ([types.CodeActionKind.QuickFix], {"quickfix"}),
            ([types.CodeActionKind.SourceFixAll], {"source.fixAll.meshlens"}),
            ([types.CodeActionKind.Source], {"source.fixAll.meshlens"}),
            (["source.fixAll.meshlens"], {"source.fixAll.meshlens"}),
            ([types.CodeActionKind.Refactor], {"refactor.rewrite"}),
            (["source.fixAll.ruff"], set()),
        ):
            assert {one.kind for one in await _actions(ed, "train.py", only=only)} == kinds
        nowhere = types.Range(types.Position(0, 0), types.Position(0, 3))
        assert {one.kind for one in await _actions(ed, "train.py", nowhere)} <= {"source.fixAll.meshlens"}
        (everything,) = await _actions(ed, "train.py", only=[types.CodeActionKind.SourceFixAll])
        await _apply(ed, everything)
        assert not await ed.diagnostics("train.py")


async def test_an_action_for_an_older_text_gets_no_edit(tmp_path: Path):
    async with editor(tmp_path) as ed:
        ed.open("train.py", WRONG)
        actions = await _actions(ed, "train.py")
        assert all(one.edit is None for one in actions)
        ed.replace("train.py", "text", "words")
        for one in actions:
            resolved = await ed.client.code_action_resolve_async(one)
            assert resolved.edit is None


async def test_a_client_without_document_changes_and_without_resolve(tmp_path: Path):
    extra = {
        "workspace": {"workspaceEdit": {"documentChanges": False}},
        "textDocument": {"codeAction": {"resolveSupport": None}},
    }
    async with editor(tmp_path, extra=extra) as ed:
        ed.open("train.py", WRONG)
        fix = (await _actions(ed, "train.py"))[0]
        assert fix.edit is not None
        assert fix.edit.document_changes is None
        assert list(fix.edit.changes or {}) == [ed.uri("train.py")]
        await _apply(ed, fix)
        assert not await ed.diagnostics("train.py")


async def test_a_fix_that_is_not_safe_says_why_and_is_not_preferred(tmp_path: Path):
    write(tmp_path, {"meshlens.toml": 'jax-version = "0.11"\n'})
    async with editor(tmp_path) as ed:
        ed.open("train.py", "import jax\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, 'model'), axis_name='batch')\n")
        for one in await _actions(ed, "train.py"):
            assert not one.is_preferred
