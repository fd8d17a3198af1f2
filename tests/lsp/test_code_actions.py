"""Fixes, fix all and "ignore on this line" in real sessions, each in the form that the client supports."""

from __future__ import annotations

from typing import Any

import pytest
from lsprotocol import types

from command_line import write
from editor import Editor

pytestmark = pytest.mark.asyncio(loop_scope="session")

WRONG = """import jax

text = "é𝛼"; grads = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")
"""
ACTION = "textDocument.codeAction"
FIX_ALL = "source.fixAll.meshlens"


async def _actions(ed: Editor, name: str, where: types.Range | None = None, only: Any = None) -> list[types.CodeAction]:
    found = await ed.diagnostics(name)
    where = where or found[0].range
    # Neovim 0.7 echoes byte columns; the ranges that come back must not be trusted.
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


async def _edit(ed: Editor, action: types.CodeAction) -> types.WorkspaceEdit | None:
    """Returns the edit, which some clients request when the action is chosen; the others already have it."""
    later = "edit" in (ed.can(f"{ACTION}.resolveSupport.properties") or ())
    assert (action.edit is None) == later
    resolved = await ed.client.code_action_resolve_async(action) if later else action
    edit: types.WorkspaceEdit | None = resolved.edit
    return edit


async def _apply(ed: Editor, action: types.CodeAction) -> None:
    edit = await _edit(ed, action)
    assert edit is not None
    versioned = bool(ed.can("workspace.workspaceEdit.documentChanges"))
    assert (edit.document_changes is not None, edit.changes is not None) == (versioned, not versioned)
    if versioned:
        assert [one.text_document.version for one in edit.document_changes or ()] == [ed.versions["train.py"]]
    ed.apply(edit)


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
async def test_a_safe_fix_comes_first_and_ignoring_last(ed: Editor, ends: str):
    ed.open("train.py", WRONG.replace("\n", ends))
    actions = await _actions(ed, "train.py")
    quick = [one for one in actions if one.kind == types.CodeActionKind.QuickFix]
    best = bool(ed.can(f"{ACTION}.isPreferredSupport"))
    assert [bool(one.is_preferred) for one in quick] == [best] + [False] * (len(quick) - 1)
    assert quick[-1].title == "Ignore unbound-axis on this line"
    others = [one.kind for one in actions if one not in quick]
    assert others[0] == FIX_ALL
    assert set(others[1:]) == {"refactor.rewrite"}
    await _apply(ed, quick[0])
    assert ed.texts["train.py"] == WRONG.replace("bacth", "batch").replace("\n", ends)
    assert not await ed.diagnostics("train.py")


async def test_ignoring_silences(ed: Editor):
    ed.open("train.py", WRONG.replace("\n", "\r\n"))
    (ignore,) = [one for one in await _actions(ed, "train.py") if one.title.startswith("Ignore")]
    await _apply(ed, ignore)
    assert ed.texts["train.py"].endswith("  # meshlens: ignore[unbound-axis]\r\n")
    assert not await ed.diagnostics("train.py")


async def test_only_what_was_asked_for(ed: Editor):
    ed.open("train.py", WRONG)
    for only, kinds in (
        ([types.CodeActionKind.QuickFix], {"quickfix"}),
        ([types.CodeActionKind.SourceFixAll], {FIX_ALL}),
        ([types.CodeActionKind.Source], {FIX_ALL}),
        ([FIX_ALL], {FIX_ALL}),
        ([types.CodeActionKind.Refactor], {"refactor.rewrite"}),
        (["source.fixAll.ruff"], set()),
    ):
        assert {one.kind for one in await _actions(ed, "train.py", only=only)} == kinds
    nowhere = types.Range(types.Position(0, 0), types.Position(0, 3))
    assert {one.kind for one in await _actions(ed, "train.py", nowhere)} <= {FIX_ALL}


async def test_everything_that_is_safe_is_fixed_at_once(ed: Editor):
    other = WRONG.splitlines()[2].replace("psum", "pmean")
    ed.open("train.py", f"{WRONG}{other}\n")
    assert len(await ed.diagnostics("train.py")) == 2
    (everything,) = await _actions(ed, "train.py", only=[types.CodeActionKind.SourceFixAll])
    await _apply(ed, everything)
    assert not await ed.diagnostics("train.py")
    assert not await _actions(ed, "train.py", types.Range(types.Position(0, 0), types.Position(9, 0)), [FIX_ALL])


async def test_an_action_for_an_older_text_gets_no_edit(ed: Editor):
    ed.open("train.py", WRONG)
    actions = await _actions(ed, "train.py")
    ed.replace("train.py", "text", "words")
    for one in actions:
        if "edit" in (ed.can(f"{ACTION}.resolveSupport.properties") or ()):
            assert one.edit is None
            assert (await ed.client.code_action_resolve_async(one)).edit is None
        elif ed.can("workspace.workspaceEdit.documentChanges"):
            # The edit is already there, and names the version of the text that it was made for.
            assert one.edit is not None
            assert [each.text_document.version for each in one.edit.document_changes or ()] == [1]


async def test_a_fix_where_another_file_makes_the_map(ed: Editor):
    write(ed.root, {"train.py": "import jax\nfrom sync import sync\n\nf = jax.pmap(sync)\n"})
    ed.open("sync.py", 'import jax\n\n\ndef sync(x):\n    return jax.lax.psum(x, "batch")\n')
    # The map is found once its file is open.
    ed.open("train.py")
    await ed.diagnostics("train.py")
    (fix,) = [
        one for one in await _actions(ed, "sync.py", only=[types.CodeActionKind.QuickFix]) if "gnore" not in one.title
    ]
    await _apply(ed, fix)
    assert ed.texts["train.py"].endswith('f = jax.pmap(sync, axis_name="batch")\n')
    await ed.settled("sync.py", 0)


async def test_a_fix_that_is_not_safe_says_why_and_is_not_preferred(ed: Editor):
    write(ed.root, {"meshlens.toml": 'jax-version = "0.11"\n'})
    ed.open("train.py", "import jax\n\nstep = jax.pmap(lambda x: jax.lax.psum(x, 'model'), axis_name='batch')\n")
    found = await _actions(ed, "train.py", only=[types.CodeActionKind.QuickFix])
    assert found
    for one in found:
        assert not one.is_preferred


async def test_a_pmap_becomes_a_shard_map(ed: Editor):
    text = WRONG.replace("bacth", "batch")
    ed.open("train.py", text)
    at = ed.at("train.py", "pmap(", 1)
    found = await _actions(ed, "train.py", types.Range(at, at), [types.CodeActionKind.Refactor])
    (action,) = [one for one in found if "shard_map" in one.title and one.disabled is None]
    assert (action.title, action.kind) == ("Convert pmap to shard_map", "refactor.rewrite")
    await _apply(ed, action)
    assert "jax.shard_map(" in ed.texts["train.py"]
    assert not [one for one in await ed.diagnostics("train.py") if one.severity == types.DiagnosticSeverity.Error]


async def test_a_refusal_is_shown_to_who_asked_and_can_show_it(ed: Editor):
    ed.open("train.py", WRONG.replace("bacth", "batch").replace('axis_name="batch"', 'axis_name="batch", **{}'))
    at = ed.at("train.py", "pmap(", 1)
    found = await _actions(ed, "train.py", types.Range(at, at), [types.CodeActionKind.Refactor])
    shown = [one.disabled.reason for one in found if "shard_map" in one.title and one.disabled]
    reason = ["a splat hides the arguments of this pmap"]
    assert shown == (reason if ed.can(f"{ACTION}.disabledSupport") else [])
    assert not [one for one in await _actions(ed, "train.py", types.Range(at, at)) if one.disabled]
