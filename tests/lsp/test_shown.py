"""The information shown throughout a file, in the clients that show it: hints, lenses, symbols, axis environments."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from command_line import write
from editor import Editor, editor, plain
from recorded_clients import claiming, first_of

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.slow]

FILES = {
    "meshlens.toml": "devices = 8\n",
    "sync.py": 'import jax\n\n\ndef sync(grads):\n    return "é𝛼", jax.lax.pmean(grads, "batch")\n',
    "train.py": """import jax
from jax.sharding import PartitionSpec as P
from sync import sync

título = "é𝛼"
mesh = jax.make_mesh((4, 2), ("data", "model"))


def step(params, x):
    return params, sync(x), jax.lax.psum(x, "batch")


sharded = jax.shard_map(lambda x: jax.lax.psum(x, "data"), mesh=mesh, in_specs=P("data"), out_specs=P())
parallel = jax.pmap(step, axis_name="batch", in_axes=(None, 0))
parallel(1, jax.numpy.ones((8, 3)))
""",
}
SETTINGS = {"codeLens": True, "inlayHints": {"axes": True, "sizes": True}}
PLAIN = {"lensCommands": False, "axisColors": False}
"""The options of every client except our own."""

WHOLE = types.Range(types.Position(0, 0), types.Position(40, 0))


def _opened(ed: Editor) -> None:
    write(ed.root, FILES)
    for name in ("sync.py", "train.py"):
        ed.open(name)


async def _hints(ed: Editor, name: str) -> Any:
    asked = types.InlayHintParams(ed.document(name), WHOLE)
    return plain(await ed.client.text_document_inlay_hint_async(asked))


async def _lenses(ed: Editor) -> list[str]:
    made = await ed.client.text_document_code_lens_async(types.CodeLensParams(ed.document("train.py")))
    return [one.command.title for one in made or () if one.command]


@pytest.mark.claims("textDocument.inlayHint")
async def test_hints_are_off_until_they_are_asked_for(ed: Editor):
    _opened(ed)
    assert not await _hints(ed, "sync.py")


@pytest.mark.claims("textDocument.codeLens")
async def test_lenses_are_off_until_they_are_asked_for(ed: Editor):
    _opened(ed)
    assert not await _lenses(ed)


@pytest.mark.parametrize("client", first_of(claiming("textDocument.inlayHint")))
async def test_hints(tmp_path: Path, client: str):
    async with editor(tmp_path, client, options={"settings": SETTINGS}, settings=SETTINGS) as ed:
        _opened(ed)
        (axes, *_) = hints = await _hints(ed, "sync.py")
        assert axes["label"] == "axes: batch"
        assert types.Position(**axes["position"]) == ed.at("sync.py", "sync(grads):", len("sync(grads):"))
        assert [one["label"] for one in (*hints, *await _hints(ed, "train.py"))] == [
            "axes: batch",
            "axes: batch",
            "= 4",
        ]


@pytest.mark.parametrize("client", first_of(claiming("textDocument.codeLens")))
async def test_lenses(tmp_path: Path, client: str):
    async with editor(tmp_path, client, options={"settings": SETTINGS, **PLAIN}, settings=SETTINGS) as ed:
        _opened(ed)
        assert (await _lenses(ed))[-1:] == ["up to 8 devices (target 8) · axis batch · 2 collectives"]


@pytest.mark.parametrize("client", first_of(claiming("textDocument.semanticTokens")))
async def test_axis_names_are_tokens_with_a_type_for_each_axis(tmp_path: Path, client: str):
    async with editor(tmp_path, client, options=PLAIN) as ed:
        _opened(ed)
        asked = types.SemanticTokensParams(ed.document("train.py"))
        data = plain(await ed.client.text_document_semantic_tokens_full_async(asked))["data"]
        found = [data[at : at + 5] for at in range(0, len(data), 5)]
        lines, kinds = [], {}
        for step in found:
            lines.append((lines[-1] if lines else 0) + step[0])
            kinds.setdefault(step[3], []).append(step[2])
        # "data" and "model" of the mesh, "batch", "data" twice and in the spec, "batch" of the map
        assert lines == [5, 5, 9, 12, 12, 13]
        assert sorted(map(sorted, kinds.values())) == [[6, 6, 6], [7], [7, 7]]


@pytest.mark.parametrize("client", first_of(claiming("textDocument.semanticTokens")))
async def test_a_client_that_colors_axes_itself_gets_no_tokens(tmp_path: Path, client: str):
    async with editor(tmp_path, client, options={"axisColors": True}) as ed:
        _opened(ed)
        assert ed.server.semantic_tokens_provider is None


@pytest.mark.parametrize("client", first_of(claiming("textDocument.codeLens")))
async def test_a_lens_names_what_a_click_shows(tmp_path: Path, client: str):
    options = {"settings": SETTINGS, "lensCommands": True}
    async with editor(tmp_path, client, options=options, settings=SETTINGS) as ed:
        _opened(ed)
        made = plain(await ed.client.text_document_code_lens_async(types.CodeLensParams(ed.document("train.py"))))
        of_map, collectives = (one["command"] for one in made[-2:])
        assert (of_map["title"], of_map["command"]) == ("up to 8 devices (target 8) · axis batch", "meshlens.showMap")
        assert (collectives["title"], collectives["command"]) == ("2 collectives", "meshlens.showPlaces")
        assert [Path(one["uri"]).name for one in collectives["arguments"][2]] == ["train.py", "sync.py"]


@pytest.mark.parametrize("client", first_of(claiming("textDocument.codeLens")))
async def test_elsewhere_a_click_opens_the_first_collective(tmp_path: Path, client: str):
    async with editor(tmp_path, client, options={"settings": SETTINGS, **PLAIN}, settings=SETTINGS) as ed:
        _opened(ed)
        made = plain(await ed.client.text_document_code_lens_async(types.CodeLensParams(ed.document("train.py"))))
        command = made[-1]["command"]
        if not ed.can("window.showDocument.support"):
            assert command["command"] == ""
            return
        shown = types.ExecuteCommandParams(command["command"], command["arguments"])
        await ed.client.workspace_execute_command_async(shown)
        assert "window/showDocument" in ed.asked


@pytest.mark.parametrize("client", first_of(claiming("workspace.inlayHint.refreshSupport")))
async def test_a_client_that_can_is_asked_to_ask_again_when_settings_change(tmp_path: Path, client: str):
    async with editor(tmp_path, client, options={"settings": SETTINGS}, settings=SETTINGS) as ed:
        _opened(ed)
        await _hints(ed, "sync.py")
        before = len(ed.asked)
        ed.client.set_configuration({"meshlens": {"inlayHints": {"axes": False}}})
        ed.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        wanted = {"workspace/configuration", "workspace/inlayHint/refresh"}
        if ed.can("workspace.codeLens.refreshSupport"):
            wanted.add("workspace/codeLens/refresh")
        # Opening the files may also cause a request to refresh, which comes before the settings do.
        for _ in range(1500):
            if wanted <= {*ed.asked[before:]} and not await _hints(ed, "sync.py"):
                break
            await asyncio.sleep(0.02)
        asked = {"workspace/configuration", "workspace/inlayHint/refresh", "workspace/codeLens/refresh"}
        assert wanted == asked & {*ed.asked[before:]}
        assert not await _hints(ed, "sync.py")


@pytest.mark.claims("textDocument.documentSymbol")
async def test_symbols_of_a_file(ed: Editor):
    _opened(ed)
    params = types.DocumentSymbolParams(ed.document("train.py"))
    found = {one["name"]: one for one in plain(await ed.client.text_document_document_symbol_async(params))}
    assert set(found) == {"a lambda", "step", "mesh"}
    assert ("selectionRange" in found["mesh"]) == bool(
        ed.can("textDocument.documentSymbol.hierarchicalDocumentSymbolSupport")
    )
    assert found["mesh"]["detail"] == "mesh data=4, model=2"


@pytest.mark.claims("workspace.symbol")
async def test_symbols_of_the_project(ed: Editor):
    _opened(ed)
    params = types.WorkspaceSymbolParams(query="mesh")
    found = [
        one
        for one in plain(await ed.client.workspace_symbol_async(params))
        if one["location"]["uri"] == ed.uri("train.py")
    ]
    assert [one["name"] for one in found] == ["mesh"]
    # Clients that name no kinds know those of the protocol's first version.
    assert found[0]["kind"] == (23 if ed.can("workspace.symbol.symbolKind") else 18)


@pytest.mark.claims("textDocument.callHierarchy")
async def test_calls_by_axis_environment(ed: Editor):
    _opened(ed)
    at = types.CallHierarchyPrepareParams(ed.document("sync.py"), ed.at("sync.py", "sync(grads)", 1))
    (item,) = await ed.client.text_document_prepare_call_hierarchy_async(at) or ()
    assert "batch" in (item.detail or "")
    (incoming,) = (
        await ed.client.call_hierarchy_incoming_calls_async(types.CallHierarchyIncomingCallsParams(item)) or ()
    )
    assert incoming.from_.name == "step"
    assert [ed.cut("train.py", one) for one in incoming.from_ranges] == ["sync(x)"]
    (outgoing,) = (
        await ed.client.call_hierarchy_outgoing_calls_async(types.CallHierarchyOutgoingCallsParams(item)) or ()
    )
    assert outgoing.to.name == 'pmean "batch"'
    nowhere = types.CallHierarchyPrepareParams(ed.document("train.py"), ed.at("train.py", "título"))
    assert await ed.client.text_document_prepare_call_hierarchy_async(nowhere) is None


async def test_debug_information(ed: Editor):
    _opened(ed)
    await ed.diagnostics("train.py")
    said = await ed.client.workspace_execute_command_async(types.ExecuteCommandParams("meshlens.printDebugInformation"))
    for word in (
        "python ",
        "tree-sitter",
        f"columns in {ed.encoding}",
        str(ed.root),
        "MiB",
        "jax is not imported here",
    ):
        assert word in said
