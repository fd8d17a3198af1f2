"""Diagnostics of a text as editors open it, type in it and close it: pushed or pulled, as each editor claims."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from lsprotocol import types

import depth
from command_line import write
from editor import Editor, editor, plain
from meshlens.lsp.loading import SMALL
from recorded_clients import claiming

pytestmark = pytest.mark.asyncio(loop_scope="session")

WRONG = """import jax

text = "é𝛼"; grads = jax.pmap(lambda x: jax.lax.psum(x, "bacth"), axis_name="batch")
"""
MESSAGE = 'axis "bacth" is not bound here (bound: "batch"); did you mean "batch"?'
ENCODINGS = {"vscode": "utf-16", "neovim": "utf-8", "neovim-0.7": "utf-16", "emacs": "utf-16", "emacs-29": "utf-32"}
PULLS = claiming("textDocument.diagnostic", "workspace.diagnostics.refreshSupport")
SYNC = "import jax\n\n\ndef sync(x):\n    return jax.lax.pmean(x, 'bacth')\n"
TRAIN = "import jax\nfrom sync import sync\n\nstep = jax.pmap(sync, axis_name='batch')\n"


async def test_a_finding_comes_and_goes_as_you_type(ed: Editor):
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


BY_DEFAULT = """import argparse
import jax

parser = argparse.ArgumentParser()
parser.add_argument("--axis", default="rows")
args = parser.parse_args()
step = jax.pmap(lambda x: jax.lax.psum(x, args.axis), axis_name="batch")
"""


async def test_a_fault_of_the_default_options_is_shown_for_the_text_on_disk(ed: Editor):
    ed.open("train.py", BY_DEFAULT)
    (found,) = await ed.diagnostics("train.py")
    assert found.severity == types.DiagnosticSeverity.Warning
    ed.replace("train.py", "args = ", "given = args = ")
    assert not await ed.diagnostics("train.py")
    ed.client.text_document_did_save(types.DidSaveTextDocumentParams(ed.document("train.py")))
    (found,) = await ed.settled("train.py", 1)
    assert found.message == 'with the default of --axis, axis "rows" is not bound here (bound: "batch")'


async def test_columns_count_what_the_client_prefers(ed: Editor):
    assert ed.encoding == ENCODINGS[ed.name]


@pytest.mark.parametrize("encoding", depth.some(["utf-8", "utf-16", "utf-32"], 1))
async def test_every_encoding(tmp_path: Path, encoding: str):
    async with editor(tmp_path, extra={"general": {"positionEncodings": [encoding]}}) as ed:
        assert ed.encoding == encoding
        ed.open("train.py", WRONG)
        (found,) = await ed.diagnostics("train.py")
        assert ed.cut("train.py", found.range) == '"bacth"'


async def test_related_places_and_the_page_of_the_rule_where_they_are_shown(ed: Editor):
    write(ed.root, {"sync.py": SYNC})
    ed.open("train.py", TRAIN)
    assert not await ed.diagnostics("train.py")
    ed.open("sync.py")
    (found,) = await ed.settled("sync.py", 1)
    page = found.code_description
    assert (page is not None) == bool(ed.can("textDocument.publishDiagnostics.codeDescriptionSupport"))
    if page is not None:
        path, _, line = page.href.partition("#L")
        assert Path(urlsplit(path).path).read_text("utf-8").split("\n")[int(line) - 1] == "## AX101 unbound-axis"
    shown = [ed.uri("train.py")] if ed.can("textDocument.publishDiagnostics.relatedInformation") else []
    assert [one.location.uri for one in found.related_information or ()] == shown


@pytest.mark.parametrize(
    ("code", "line", "tag"),
    [
        ("AX502", "from jax.experimental.shard_map import shard_map", types.DiagnosticTag.Deprecated),
        ("AX901", "x = 1  # meshlens: ignore[unbound-axis]", types.DiagnosticTag.Unnecessary),
    ],
)
async def test_what_is_deprecated_and_what_has_no_effect_is_marked_as_such(
    ed: Editor, code: str, line: str, tag: types.DiagnosticTag
):
    write(ed.root, {"meshlens.toml": 'jax-version = "0.10.2"\n'})
    ed.open("train.py", f"import jax\n{line}\n")
    found = {one.code: one.tags for one in await ed.diagnostics("train.py")}
    # All of these clients support tags.
    assert found == {code: (tag,)}


async def test_a_caller_in_another_file_makes_the_finding_and_takes_it_back(ed: Editor):
    write(ed.root, {"train.py": TRAIN})
    ed.open("sync.py", SYNC)
    (found,) = await ed.diagnostics("sync.py")
    assert found.code == "AX101"
    ed.open("train.py")
    await ed.diagnostics("train.py")
    ed.replace("train.py", "'batch'", "'bacth'")
    await ed.settled("sync.py", 0)


async def test_a_client_is_told_or_asked_to_ask_again(ed: Editor):
    """Changes another text: a client that can be asked to pull again is asked, any other is sent the diagnostics."""
    write(ed.root, {"train.py": TRAIN.replace("batch", "bacth")})
    ed.open("sync.py", SYNC)
    ed.open("train.py")
    assert not await ed.diagnostics("sync.py")
    await ed.diagnostics("train.py")
    before, asked = len(ed.published), ed.client.diagnostic_refresh_count
    ed.replace("train.py", "'bacth'", "'batch'")
    await ed.diagnostics("train.py")
    for _ in range(1500):
        told = [one for one in ed.published[before:] if one.uri == ed.uri("sync.py") and one.diagnostics]
        if told or ed.client.diagnostic_refresh_count > asked:
            break
        await asyncio.sleep(0.02)
    assert bool(told) == (ed.name not in PULLS)
    assert (ed.client.diagnostic_refresh_count > asked) == (ed.name in PULLS)
    assert (ed.server.diagnostic_provider is not None) == (ed.name in PULLS)


async def test_closing_takes_back_what_was_said(ed: Editor):
    ed.open("train.py", WRONG)
    assert await ed.diagnostics("train.py")
    uri = ed.uri("train.py")
    ed.close("train.py")
    if ed.name in PULLS:
        report = await ed.client.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
        )
        assert not plain(report)["items"]
        return
    for _ in range(1500):
        last = [one for one in ed.published if one.uri == uri][-1]
        if not last.diagnostics:
            break
        await asyncio.sleep(0.02)
    assert not last.diagnostics


async def _pulled(ed: Editor, name: str, known: str | None = None) -> Any:
    params = types.DocumentDiagnosticParams(ed.document(name), previous_result_id=known)
    return plain(await ed.client.text_document_diagnostic_async(params))


@pytest.mark.claims("textDocument.diagnostic", "workspace.diagnostics.refreshSupport")
async def test_a_client_that_pulls_is_told_when_nothing_changed(ed: Editor):
    ed.open("train.py", WRONG)
    full = await _pulled(ed, "train.py")
    assert [item["code"] for item in full["items"]] == ["AX101"]
    assert (await _pulled(ed, "train.py", full["resultId"]))["kind"] == "unchanged"
    ed.replace("train.py", "bacth", "batch")
    fixed = await _pulled(ed, "train.py", full["resultId"])
    assert (fixed["kind"], fixed["items"]) == ("full", [])
    assert not ed.published


async def test_never_for_a_stale_version(ed: Editor):
    """Types fast: every answer belongs to the text with the answer's version."""
    ed.open("train.py", WRONG)
    for number in range(40):
        old, new = ("bacth", "batch") if number % 2 == 0 else ('x, "batch")', 'x, "bacth")')
        ed.replace("train.py", old, new)
        if ed.name in PULLS:
            assert len((await _pulled(ed, "train.py"))["items"]) == number % 2
    assert len(await ed.diagnostics("train.py")) == 1
    mine = [one for one in ed.published if one.uri == ed.uri("train.py")]
    assert all(len(one.diagnostics) == (one.version or 0) % 2 for one in mine)
    assert [one.version for one in mine] == sorted(one.version or 0 for one in mine)


async def test_nothing_is_said_about_other_languages_and_about_files_that_are_left_out(ed: Editor):
    write(ed.root, {"meshlens.toml": 'exclude = ["generated"]\n'})
    ed.open("generated/train.py", WRONG)
    assert not await ed.diagnostics("generated/train.py")
    item = types.TextDocumentItem(ed.uri("notes.md"), "markdown", 1, WRONG)
    ed.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    ed.open("train.py", WRONG)
    assert await ed.diagnostics("train.py")
    assert ed.uri("notes.md") not in {one.uri for one in ed.published}


async def test_a_text_without_a_file(ed: Editor):
    uri = "untitled:Untitled-1"
    item = types.TextDocumentItem(uri, "python", 1, WRONG)
    ed.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    named = types.TextDocumentIdentifier(uri)
    if ed.name in PULLS:
        report = await ed.client.text_document_diagnostic_async(types.DocumentDiagnosticParams(named))
        assert len(plain(report)["items"]) == 1
    else:
        for _ in range(1500):
            if mine := [one for one in ed.published if one.uri == uri]:
                break
            await asyncio.sleep(0.02)
        assert [len(one.diagnostics) for one in mine] == [1]
    hover = types.HoverParams(named, types.Position(2, 44))
    assert await ed.client.text_document_hover_async(hover) is not None
    ed.client.text_document_did_close(types.DidCloseTextDocumentParams(named))


@pytest.mark.parametrize("name", ["n.ipynb", ".virtual_documents/n.ipynb", "n.ipynb.py"])
async def test_a_notebook_as_one_text_with_its_magics_rewritten_or_not(ed: Editor, name: str):
    text = 'get_ipython().run_line_magic("matplotlib", " inline")\n%time 1\n' + WRONG
    ed.open(name, text)
    (found,) = await ed.diagnostics(name)
    assert ed.cut(name, found.range) == '"bacth"'
    ed.replace(name, "bacth", "batch")
    assert not await ed.diagnostics(name)
    ed.replace(name, 'x, "batch")', 'x, "modle")')
    (found,) = await ed.diagnostics(name)
    assert ed.cut(name, found.range) == '"modle"'


@pytest.mark.slow
@pytest.mark.parametrize("client", depth.some(PULLS, 1))
@pytest.mark.parametrize(
    ("size", "said"),
    [("small", {}), ("large", {}), *(("large", {"workspaceDiagnostics": one}) for one in ("all", "off", True, False))],
)
async def test_files_that_are_not_open_are_reported(tmp_path: Path, client: str, size: str, said: dict[str, Any]):
    filler = "# one more line\n" * (SMALL // 16 + 1) if size == "large" else ""
    write(tmp_path, {"train.py": WRONG, "clean.py": f"import jax\n{filler}", "open.py": WRONG})
    settings = said
    wanted = said.get("workspaceDiagnostics", size == "small") in (True, "all")
    async with editor(tmp_path, client, options={"settings": settings}, settings=settings) as ed:
        ed.open("open.py")
        await ed.diagnostics("open.py")
        token = "asked for with the request"

        async def pull(*known: types.PreviousResultId) -> list[Any]:
            params = types.WorkspaceDiagnosticParams(previous_result_ids=known, work_done_token=token)
            return list(plain(await ed.client.workspace_diagnostic_async(params))["items"])

        ed.client.progress_reports[token] = []
        reports = await pull()
        assert [one["uri"] for one in reports] == ([ed.uri("train.py")] if wanted else [])
        assert [one.kind for one in ed.client.progress_reports[token]] == [
            "begin",
            *(["report"] if wanted else []),
            "end",
        ]
        if wanted:
            (item,) = reports[0]["items"]
            assert item["code"] == "AX101"
            assert ("codeDescription" in item) == bool(ed.can("textDocument.publishDiagnostics.codeDescriptionSupport"))
            known = types.PreviousResultId(ed.uri("train.py"), reports[0]["resultId"])
            assert [one["kind"] for one in await pull(known)] == ["unchanged"]
