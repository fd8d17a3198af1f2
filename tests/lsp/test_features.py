"""Every feature in a real session, in the capabilities of VS Code, two Neovims and Emacs."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types

from command_line import write
from editor import CLIENTS, Editor, editor, plain

pytestmark = pytest.mark.asyncio

FILES = {
    "names.py": 'AXIS = "batch"\n',
    "sync.py": """import jax

from names import AXIS


def sync(grads):
    return jax.lax.pmean(grads, AXIS)
""",
    "train.py": """import jax
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

from names import AXIS
from sync import sync

título = "é𝛼"
mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("data", "model"))
spec = P("data", None)


def step(params, x):
    return params, sync(x), jax.lax.psum(x, "batch")


parallel = jax.pmap(step, axis_name=AXIS, in_axes=(None, 0))
parallel(1, np.ones((8, 3)))
""",
}


@pytest_asyncio.fixture(params=CLIENTS)
async def ed(request: pytest.FixtureRequest, tmp_path: Path):
    write(tmp_path, FILES)
    async with editor(tmp_path, request.param) as made:
        for name in FILES:
            made.open(name)
        yield made


def _position(ed: Editor, name: str, text: str, shift: int = 0) -> dict[str, object]:
    return {"text_document": ed.document(name), "position": ed.at(name, text, shift)}


async def test_hover(ed: Editor):
    async def said(name: str, text: str, shift: int = 1) -> str | None:
        found = await ed.client.text_document_hover_async(types.HoverParams(**_position(ed, name, text, shift)))
        if found is None:
            return None
        assert isinstance(found.contents, types.MarkupContent)
        return found.contents.value

    assert "train.py" in (await said("sync.py", "pmean") or "")
    assert "params" in (await said("train.py", "parallel(1") or "")
    assert "data" in (await said("train.py", "Mesh(np", 1) or "")
    assert await said("train.py", "np.ones", 4) is None
    assert await said("train.py", "título") is None


async def test_signature_help(ed: Editor):
    params = types.SignatureHelpParams(**_position(ed, "train.py", "parallel(1, np", len("parallel(1, ")))
    found = await ed.client.text_document_signature_help_async(params)
    assert found is not None
    assert found.signatures[0].label == "step(params, x)"
    assert found.active_parameter == 1
    plain_call = types.SignatureHelpParams(**_position(ed, "train.py", "np.ones((", len("np.ones(")))
    assert await ed.client.text_document_signature_help_async(plain_call) is None


async def test_completion(ed: Editor):
    ed.replace("sync.py", "AXIS)", 'AXIS) + jax.lax.psum(grads, "")')
    params = types.CompletionParams(**_position(ed, "sync.py", '""', 1))
    found = plain(await ed.client.text_document_completion_async(params))
    assert found["items"][0]["label"] == "batch"
    elsewhere = types.CompletionParams(**_position(ed, "train.py", "np.ones", 3))
    assert await ed.client.text_document_completion_async(elsewhere) is None


async def test_a_snippet_brings_its_imports(ed: Editor):
    ed.replace("sync.py", "AXIS)", "AXIS)\n\n\nmesh")
    params = types.CompletionParams(**_position(ed, "sync.py", "\nmesh", len("\nmesh")))
    found = plain(await ed.client.text_document_completion_async(params))
    [mesh] = [item for item in found["items"] if item["label"] == "mesh"]
    assert mesh["textEdit"]["newText"].startswith("mesh = Mesh(")
    added = "".join(edit["newText"] for edit in mesh["additionalTextEdits"])
    assert "import numpy as np\nfrom jax.sharding import Mesh" in added


async def test_definition_references_and_highlights(ed: Editor):
    at = _position(ed, "train.py", '"batch")', 2)
    definition = plain(await ed.client.text_document_definition_async(types.DefinitionParams(**at)))
    assert {Path(one["uri"]).name for one in definition} <= {"train.py", "names.py"}
    context = types.ReferenceContext(include_declaration=True)
    references = plain(await ed.client.text_document_references_async(types.ReferenceParams(context=context, **at)))
    assert {Path(one["uri"]).name for one in references} >= {"names.py", "train.py"}
    highlights = await ed.client.text_document_document_highlight_async(types.DocumentHighlightParams(**at))
    assert '"batch"' in {ed.cut("train.py", one.range) for one in highlights or ()} or highlights
    nowhere = _position(ed, "train.py", "numpy", 1)
    assert await ed.client.text_document_definition_async(types.DefinitionParams(**nowhere)) is None


async def test_rename_in_every_file(ed: Editor):
    at = _position(ed, "train.py", '"batch")', 2)
    prepared = plain(await ed.client.text_document_prepare_rename_async(types.PrepareRenameParams(**at)))
    assert prepared["placeholder"] == "batch"
    edit = await ed.client.text_document_rename_async(types.RenameParams(new_name="rows", **at))
    assert edit is not None
    ed.apply(edit)
    assert ed.texts["names.py"] == 'AXIS = "rows"\n'
    assert 'psum(x, "rows")' in ed.texts["train.py"]
    assert not await ed.diagnostics("train.py")
    nothing = _position(ed, "train.py", "numpy", 1)
    assert await ed.client.text_document_prepare_rename_async(types.PrepareRenameParams(**nothing)) is None


async def test_symbols_and_the_call_hierarchy(ed: Editor):
    symbols = plain(
        await ed.client.text_document_document_symbol_async(types.DocumentSymbolParams(ed.document("train.py")))
    )
    assert {"step", "mesh"} <= {one["name"] for one in symbols}
    found = plain(await ed.client.workspace_symbol_async(types.WorkspaceSymbolParams(query="mesh")))
    assert [Path(one["location"]["uri"]).name for one in found] == ["train.py"]
    (item,) = (
        await ed.client.text_document_prepare_call_hierarchy_async(
            types.CallHierarchyPrepareParams(**_position(ed, "sync.py", "sync(grads)", 1))
        )
        or ()
    )
    incoming = await ed.client.call_hierarchy_incoming_calls_async(types.CallHierarchyIncomingCallsParams(item))
    assert [one.from_.name for one in incoming or ()] == ["step"]
    outgoing = await ed.client.call_hierarchy_outgoing_calls_async(types.CallHierarchyOutgoingCallsParams(item))
    assert ['pmean "batch"' in one.to.name or "pmean" in one.to.name for one in outgoing or ()] == [True]


async def test_hints_and_lenses_are_off_until_they_are_asked_for(ed: Editor, tmp_path: Path):
    whole = types.Range(types.Position(0, 0), types.Position(40, 0))
    hints = types.InlayHintParams(ed.document("train.py"), whole)
    lenses = types.CodeLensParams(ed.document("train.py"))
    assert not await ed.client.text_document_inlay_hint_async(hints)
    assert not await ed.client.text_document_code_lens_async(lenses)


async def test_hints_and_lenses(tmp_path: Path):
    write(tmp_path, FILES)
    wanted = {"codeLens": True, "inlayHints": {"axes": True, "sizes": True}, "devices": 8}
    async with editor(tmp_path, options={"settings": wanted}, settings=wanted) as ed:
        for name in FILES:
            ed.open(name)
        whole = types.Range(types.Position(0, 0), types.Position(40, 0))
        hints = await ed.client.text_document_inlay_hint_async(types.InlayHintParams(ed.document("sync.py"), whole))
        assert any("batch" in str(one.label) for one in hints or ())
        lenses = await ed.client.text_document_code_lens_async(types.CodeLensParams(ed.document("train.py")))
        assert [one.command.title for one in lenses or () if one.command] == [
            "up to 8 devices (target 8) · axis batch · 2 collectives"
        ]


async def test_debug_information(ed: Editor):
    params = types.ExecuteCommandParams("meshlens.printDebugInformation")
    said = await ed.client.workspace_execute_command_async(params)
    assert "tree-sitter" in said
    assert str(ed.root) in said


REWRITE = types.CodeActionContext(diagnostics=[], only=[types.CodeActionKind.Refactor])


async def _rewrites(ed: Editor, name: str, text: str) -> list[types.CodeAction]:
    where = ed.at(name, text, 1)
    params = types.CodeActionParams(ed.document(name), types.Range(where, where), REWRITE)
    found = await ed.client.text_document_code_action_async(params)
    return [one for one in found or () if isinstance(one, types.CodeAction)]


async def test_a_pmap_becomes_a_shard_map(ed: Editor):
    (action,) = [one for one in await _rewrites(ed, "train.py", "pmap(step") if "shard_map" in one.title]
    assert (action.title, action.kind, action.disabled) == ("Convert pmap to shard_map", "refactor.rewrite", None)
    if action.edit is None:
        action = await ed.client.code_action_resolve_async(action)
    assert action.edit is not None
    ed.apply(action.edit)
    assert "parallel = jax.jit(\n    jax.shard_map(\n" in ed.texts["train.py"]
    assert ed.texts["train.py"].index("import jax.numpy") < ed.texts["train.py"].index("def without_mapped_axis")
    assert not [one for one in await ed.diagnostics("train.py") if one.severity == types.DiagnosticSeverity.Error]


async def test_a_refusal_is_shown_to_who_asked(ed: Editor):
    ed.replace("train.py", "axis_name=AXIS, ", "axis_name=AXIS, **{}, ")
    found = [one for one in await _rewrites(ed, "train.py", "pmap(step") if "shard_map" in one.title]
    shown = [one.disabled.reason for one in found if one.disabled]
    assert shown in ([], ["a splat hides the arguments of this pmap"])
    assert len(shown) == len(found)
