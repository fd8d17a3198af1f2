"""Axis names are symbols in every client: definition, references, highlight, rename across files, and its refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from command_line import write
from editor import Editor, plain

pytestmark = pytest.mark.asyncio(loop_scope="session")

FILES = {
    "names.py": 'AXIS = "batch"\n',
    "sync.py": "import jax\n\nfrom names import AXIS\n\n\ndef sync(grads):\n    return jax.lax.pmean(grads, AXIS)\n",
    "train.py": """import jax

from names import AXIS
from sync import sync


def step(params, x):
    return "é𝛼", sync(x), jax.lax.psum(x, "batch"), jax.lax.pmax(x, axis_name="batch")


parallel = jax.pmap(step, axis_name=AXIS, in_axes=(None, 0))
parallel(1, jax.numpy.ones((8, 3)))
""",
}
USE = 'psum(x, "batch"'
REQUEST_FAILED = -32803


def _opened(ed: Editor, *names: str, **others: str) -> None:
    write(ed.root, {**FILES, **{f"{name}.py": text for name, text in others.items()}})
    for name in names or FILES:
        ed.open(name)


def _at(ed: Editor, name: str, text: str, shift: int) -> Any:
    return {"text_document": ed.document(name), "position": ed.at(name, text, shift)}


def _places(ed: Editor, found: Any) -> list[str]:
    """Returns places as `file: text`."""
    made = []
    for one in plain(found) or ():
        name = Path(one["uri"]).name
        if name not in ed.texts:
            ed.open(name)
        ends = one["range"]
        made.append(
            f"{name}: {ed.cut(name, types.Range(types.Position(**ends['start']), types.Position(**ends['end'])))}"
        )
    return sorted(made)


async def test_definition_leads_from_a_use_to_the_binder_and_from_its_argument_to_the_constant(ed: Editor):
    _opened(ed)
    found = await ed.client.text_document_definition_async(types.DefinitionParams(**_at(ed, "train.py", USE, 10)))
    assert _places(ed, found) == ["train.py: AXIS"]
    of_argument = types.DefinitionParams(**_at(ed, "train.py", "axis_name=AXIS", 11))
    assert _places(ed, await ed.client.text_document_definition_async(of_argument)) == ['names.py: "batch"']
    for text, shift in (("import jax", 8), ("é𝛼", 1), ("ones(", 1), ("step(params", 1)):
        elsewhere = types.DefinitionParams(**_at(ed, "train.py", text, shift))
        assert await ed.client.text_document_definition_async(elsewhere) is None


@pytest.mark.parametrize("declaration", [True, False])
async def test_references_in_every_file_open_or_not(ed: Editor, declaration: bool):
    _opened(ed, "train.py")
    context = types.ReferenceContext(include_declaration=declaration)
    asked = types.ReferenceParams(context=context, **_at(ed, "train.py", USE, 10))
    found = _places(ed, await ed.client.text_document_references_async(asked))
    uses = ["sync.py: AXIS", 'train.py: "batch"', 'train.py: "batch"']
    assert [one for one in found if one in uses] == uses
    assert ("train.py: AXIS" in found) == declaration


async def test_highlights(ed: Editor):
    _opened(ed)
    asked = types.DocumentHighlightParams(**_at(ed, "train.py", USE, 10))
    found = await ed.client.text_document_document_highlight_async(asked)
    assert sorted(ed.cut("train.py", one.range) for one in found or ()) == ['"batch"', '"batch"', "AXIS"]
    elsewhere = types.DocumentHighlightParams(**_at(ed, "train.py", "import jax", 8))
    assert not await ed.client.text_document_document_highlight_async(elsewhere)


async def _renamed(ed: Editor, new: str, name: str = "train.py", text: str = USE, shift: int = 10) -> Any:
    asked = types.RenameParams(new_name=new, **_at(ed, name, text, shift))
    return await ed.client.text_document_rename_async(asked)


async def test_rename_in_every_file(ed: Editor):
    _opened(ed, "train.py")
    edit = await _renamed(ed, "rows")
    assert edit is not None
    assert (edit.document_changes is not None) == bool(ed.can("workspace.workspaceEdit.documentChanges"))
    ed.apply(edit)
    assert ed.texts["names.py"] == 'AXIS = "rows"\n'
    assert ed.texts["train.py"] == FILES["train.py"].replace('"batch"', '"rows"')
    assert not await ed.diagnostics("train.py")
    assert not (await ed.diagnostics("names.py"))


async def test_rename_of_a_constant_from_its_own_file(ed: Editor):
    _opened(ed)
    edit = await _renamed(ed, "rows", "names.py", '"batch"', 2)
    assert edit is not None
    ed.apply(edit)
    assert 'axis_name="rows")' in ed.texts["train.py"]


@pytest.mark.claims("textDocument.rename.prepareSupport")
async def test_what_would_be_renamed(ed: Editor):
    _opened(ed)
    at = types.PrepareRenameParams(**_at(ed, "train.py", USE, 10))
    found = plain(await ed.client.text_document_prepare_rename_async(at))
    assert found["placeholder"] == "batch"
    assert ed.cut("train.py", types.Range(*(types.Position(**end) for end in found["range"].values()))) == "batch"
    for text in ("import jax", "AXIS\n", "step(params"):
        nowhere = types.PrepareRenameParams(**_at(ed, "train.py", text, 1))
        assert await ed.client.text_document_prepare_rename_async(nowhere) is None


REFUSED = {
    "computed": ('AXIS = "bat" + "ch"\n', "rows", 'the name "batch" is concatenated here (names.py:1)'),
    "taken": ('AXIS = "batch"\n', "other", '"other" is already bound where "batch" is used (inner.py:'),
    "empty": ('AXIS = "batch"\n', "", "an axis name must be a non-empty string on one line"),
}
INNER = """import jax

from names import AXIS

f = jax.vmap(jax.vmap(lambda x: jax.lax.psum(x, AXIS), axis_name=AXIS), axis_name="other")
"""


@pytest.mark.parametrize("why", REFUSED)
async def test_a_rename_that_cannot_be_whole_is_refused_with_the_place(ed: Editor, why: str):
    names, new, said = REFUSED[why]
    _opened(ed, "train.py", inner=INNER)
    ed.open("names.py", names)
    with pytest.raises(JsonRpcException) as refused:
        await _renamed(ed, new)
    assert refused.value.code == REQUEST_FAILED
    assert said in refused.value.message


@pytest.mark.claims("textDocument.rename.prepareSupport")
async def test_what_can_never_be_renamed_is_refused_before_a_name_is_asked_for(ed: Editor):
    _opened(ed, "train.py")
    ed.open("names.py", REFUSED["computed"][0])
    with pytest.raises(JsonRpcException, match="is concatenated here"):
        await ed.client.text_document_prepare_rename_async(types.PrepareRenameParams(**_at(ed, "train.py", USE, 10)))
