"""What editors are told about a text, as they open it, type and close it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types

from command_line import write
from editor import CLIENTS, editor

pytestmark = pytest.mark.asyncio

WRONG = """import jax

text = "é𝛼"; grads = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")
"""
MESSAGE = 'axis "bacth" is not bound here (bound: "batch"); did you mean "batch"?'


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_finding_comes_and_goes_as_you_type(tmp_path: Path, client: str):
    async with editor(tmp_path, client) as ed:
        ed.open("train.py", WRONG)
        (found,) = await ed.diagnostics("train.py")
        assert (found.code, found.message, found.source) == ("AX101", MESSAGE, "meshlens")
        assert found.severity == types.DiagnosticSeverity.Error
        assert ed.cut("train.py", found.range) == '"bacth"'
        ed.replace("train.py", "bacth", "batch")
        assert not await ed.diagnostics("train.py")
        ed.replace("train.py", 'x, "batch")', 'x, "modle")')
        (found,) = await ed.diagnostics("train.py")
        assert ed.cut("train.py", found.range) == '"modle"'


async def test_the_encoding_is_the_cheapest_that_the_client_offers(tmp_path: Path):
    async with editor(tmp_path, "neovim") as ed:
        assert ed.encoding == "utf-8"
    async with editor(tmp_path, "visual-studio-code") as ed:
        assert ed.encoding == "utf-16"
    async with editor(tmp_path, extra={"general": {"positionEncodings": ["utf-32"]}}) as ed:
        assert ed.encoding == "utf-32"
        ed.open("train.py", WRONG)
        (found,) = await ed.diagnostics("train.py")
        assert ed.cut("train.py", found.range) == '"bacth"'


async def test_related_places_and_the_page_of_the_rule(tmp_path: Path):
    write(tmp_path, {"sync.py": "import jax\n\ndef sync(x):\n    return jax.lax.pmean(x, 'bacth')\n"})
    async with editor(tmp_path) as ed:
        ed.open("train.py", "import jax\nfrom sync import sync\n\nstep = jax.pmap(sync, axis_name='batch')\n")
        assert not await ed.diagnostics("train.py")
        ed.open("sync.py")
        (found,) = await ed.diagnostics("sync.py")
        assert found.code_description is not None
        assert found.code_description.href.endswith("rules.md#ax101-unbound-axis")
        assert Path(found.code_description.href.split("#")[0].removeprefix("file://")).is_file()
        related = found.related_information or ()
        assert [one.location.uri for one in related] == [ed.uri("train.py")]


async def test_a_caller_in_another_file_makes_the_finding_and_takes_it_back(tmp_path: Path):
    write(tmp_path, {"train.py": "import jax\nfrom sync import sync\n\nstep = jax.pmap(sync, axis_name='batch')\n"})
    async with editor(tmp_path) as ed:
        ed.open("sync.py", "import jax\n\ndef sync(x):\n    return jax.lax.pmean(x, 'data')\n")
        (found,) = await ed.diagnostics("sync.py")
        assert found.code == "AX101"
        ed.open("train.py")
        await ed.diagnostics("train.py")
        before = len(ed.published)
        ed.replace("train.py", "'batch'", "'data'")
        for _ in range(1500):
            mine = [one for one in ed.published[before:] if one.uri == ed.uri("sync.py")]
            if mine:
                break
            await asyncio.sleep(0.02)
        assert not mine[-1].diagnostics


async def test_closing_takes_back_what_was_said(tmp_path: Path):
    async with editor(tmp_path) as ed:
        ed.open("train.py", WRONG)
        assert await ed.diagnostics("train.py")
        ed.close("train.py")
        for _ in range(1500):
            if not ed.published[-1].diagnostics:
                break
            await asyncio.sleep(0.02)
        assert not ed.published[-1].diagnostics


async def test_a_client_that_pulls_is_told_when_nothing_changed(tmp_path: Path):
    extra = {"textDocument": {"diagnostic": {"dynamicRegistration": False}}}
    async with editor(tmp_path, extra=extra) as ed:
        ed.open("train.py", WRONG)

        async def pull(known: str | None) -> types.DocumentDiagnosticReport:
            params = types.DocumentDiagnosticParams(ed.document("train.py"), previous_result_id=known)
            return await ed.client.text_document_diagnostic_async(params)

        full = await pull(None)
        assert isinstance(full, types.RelatedFullDocumentDiagnosticReport)
        assert [item.code for item in full.items] == ["AX101"]
        again = await pull(full.result_id)
        assert again.kind == "unchanged"
        ed.replace("train.py", "bacth", "batch")
        fixed = await pull(full.result_id)
        assert isinstance(fixed, types.RelatedFullDocumentDiagnosticReport)
        assert not fixed.items
        assert not ed.published


async def test_nothing_is_said_about_other_languages_and_about_files_that_are_left_out(tmp_path: Path):
    write(tmp_path, {"meshlens.toml": 'exclude = ["generated"]\n'})
    async with editor(tmp_path) as ed:
        ed.open("generated/train.py", WRONG)
        assert not await ed.diagnostics("generated/train.py")
        item = types.TextDocumentItem(ed.uri("notes.md"), "markdown", 1, WRONG)
        ed.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        ed.open("train.py", WRONG)
        await ed.diagnostics("train.py")
        assert ed.uri("notes.md") not in {one.uri for one in ed.published}


async def test_a_text_without_a_file(tmp_path: Path):
    async with editor(tmp_path) as ed:
        item = types.TextDocumentItem("untitled:Untitled-1", "python", 1, WRONG)
        ed.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        for _ in range(1500):
            if ed.published:
                break
            await asyncio.sleep(0.02)
        assert [(one.uri, len(one.diagnostics)) for one in ed.published] == [("untitled:Untitled-1", 1)]


@pytest.mark.parametrize("wanted", [True, False])
async def test_files_that_are_not_open_are_reported_to_those_who_ask(tmp_path: Path, wanted: bool):
    write(tmp_path, {"train.py": WRONG, "clean.py": "import jax\n", "open.py": WRONG})
    extra = {"textDocument": {"diagnostic": {"dynamicRegistration": False}}}
    settings = {"workspaceDiagnostics": wanted}
    async with editor(tmp_path, extra=extra, options={"settings": settings}, settings=settings) as ed:
        ed.open("open.py")
        await ed.diagnostics("open.py")

        async def pull(*known: types.PreviousResultId) -> list[types.WorkspaceDocumentDiagnosticReport]:
            params = types.WorkspaceDiagnosticParams(previous_result_ids=known)
            return list((await ed.client.workspace_diagnostic_async(params)).items)

        reports = await pull()
        assert [(one.uri, one.kind) for one in reports] == ([(ed.uri("train.py"), "full")] if wanted else [])
        if wanted:
            known = types.PreviousResultId(ed.uri("train.py"), reports[0].result_id or "")
            assert [one.kind for one in await pull(known)] == ["unchanged"]


@pytest.mark.parametrize("name", ["n.ipynb", ".virtual_documents/n.ipynb", "n.ipynb.py"])
async def test_a_notebook_as_one_text_with_its_magics_rewritten_or_not(tmp_path: Path, name: str):
    text = 'get_ipython().run_line_magic("matplotlib", " inline")\n%time 1\n' + WRONG
    async with editor(tmp_path) as ed:
        ed.open(name, text)
        (found,) = await ed.diagnostics(name)
        assert ed.cut(name, found.range) == '"bacth"'
        ed.replace(name, "bacth", "batch")
        assert not await ed.diagnostics(name)
        ed.replace(name, 'x, "batch")', 'x, "modle")')
        (found,) = await ed.diagnostics(name)
        assert ed.cut(name, found.range) == '"modle"'
