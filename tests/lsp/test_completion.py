"""Completion and signature help in every client: placeholders for those that support them, plain text for the rest."""

from __future__ import annotations

from typing import Any

import pytest
from lsprotocol import types

from command_line import write
from editor import Editor, plain

pytestmark = pytest.mark.asyncio(loop_scope="session")

HELPERS = """import jax


def average(x):
    return jax.lax.pmean(x, "batch")
"""
MAIN = """import jax
import numpy as np
from jax.sharding import PartitionSpec as P
from helpers import average

mesh = jax.make_mesh((4, 2), ("data", "model"))
título = "é𝛼"


def step(params, x, rng):
    return average(x), jax.lax.psum(x, ""), título


f = jax.pmap(step, axis_name="batch", in_axes=(None, 0, None))
g = jax.jit(lambda x: x, in_shardings=jax.NamedSharding(mesh, P("")))
h = jax.pmap(average, axis_name="")
f(1, np.ones((8, 3)), 2)
"""
PLACES = {
    "what is bound here": ('""), título', 1, ["batch"]),
    "mesh axes in a spec": ('"")))', 1, ["data", "model"]),
    "what the operand uses": ('axis_name="")', 11, ["batch", "data", "model"]),
}
NOTHING = {"member": ("np.ones", 3), "string": ("é𝛼", 1), "name": ("título\n", 3)}


def _opened(ed: Editor) -> None:
    write(ed.root, {"meshlens.toml": "devices = 8\n", "helpers.py": HELPERS, "main.py": MAIN})
    ed.open("main.py")


async def _offered(ed: Editor, text: str, shift: int) -> Any:
    at = types.CompletionParams(ed.document("main.py"), ed.at("main.py", text, shift))
    return plain(await ed.client.text_document_completion_async(at))


@pytest.mark.parametrize("place", PLACES)
async def test_axis_names(ed: Editor, place: str):
    _opened(ed)
    text, shift, names = PLACES[place]
    found = await _offered(ed, text, shift)
    assert [one["label"] for one in found["items"]] == names
    assert {one["textEdit"]["newText"] for one in found["items"]} == set(names)
    # Clients that name no kinds know those of the protocol's first version.
    known = ed.can("textDocument.completion.completionItemKind.valueSet")
    assert {one["kind"] for one in found["items"]} == {20 if known else 12}
    start = found["items"][0]["textEdit"]["range"]["start"]
    assert types.Position(**start) == ed.at("main.py", text, shift)


async def test_what_is_typed_narrows_and_is_replaced(ed: Editor):
    _opened(ed)
    ed.replace("main.py", '""), título', '"ba"), título')
    (found,) = (await _offered(ed, '"ba"', 3))["items"]
    assert ed.cut("main.py", _range(found)) == "ba"
    assert found["textEdit"]["newText"] == "batch"


def _range(item: Any) -> types.Range:
    ends = item["textEdit"]["range"]
    return types.Range(types.Position(**ends["start"]), types.Position(**ends["end"]))


async def test_in_axes_with_or_without_places_to_fill(ed: Editor):
    _opened(ed)
    ed.replace("main.py", "in_axes=(None, 0, None)", "in_axes=")
    (found,) = (await _offered(ed, "in_axes=", 8))["items"]
    if ed.can("textDocument.completion.completionItem.snippetSupport"):
        assert found["textEdit"]["newText"] == "(${1:None}, ${2:0}, ${3:None})"
        assert found["insertTextFormat"] == 2
    else:
        assert found["textEdit"]["newText"] == "(None, 0, None)"
        assert found.get("insertTextFormat", 1) == 1


async def test_a_snippet_brings_its_imports_and_says_what_it_is(ed: Editor):
    _opened(ed)
    ed.replace("main.py", "f(1, np", "mesh\nf(1, np")
    found = (await _offered(ed, "\nmesh\nf", 5))["items"]
    [mesh] = [one for one in found if one["label"] == "mesh"]
    assert mesh["textEdit"]["newText"].startswith("mesh = Mesh(")
    assert ("${1" in mesh["textEdit"]["newText"]) == (mesh.get("insertTextFormat") == 2)
    assert (mesh.get("insertTextFormat") == 2) == bool(ed.can("textDocument.completion.completionItem.snippetSupport"))
    added = "".join(edit["newText"] for edit in mesh["additionalTextEdits"])
    assert "from jax.sharding import Mesh" in added
    format_ = ed.can("textDocument.completion.completionItem.documentationFormat")
    assert isinstance(mesh["documentation"], dict if format_ else str)


@pytest.mark.parametrize("place", NOTHING)
async def test_nothing_is_offered_elsewhere(ed: Editor, place: str):
    _opened(ed)
    assert await _offered(ed, *NOTHING[place]) is None


async def test_signature_help_of_a_mapped_function(ed: Editor):
    _opened(ed)
    text = "f(1, np"
    for shift, active in ((2, 0), (5, 1)):
        at = types.SignatureHelpParams(ed.document("main.py"), ed.at("main.py", text, shift))
        found = plain(await ed.client.text_document_signature_help_async(at))
        (signature,) = found["signatures"]
        assert signature["label"] == "step(params, x, rng)"
        assert found["activeParameter"] == active
        start, end = signature["parameters"][1]["label"]
        assert signature["label"][start:end] == "x"
    elsewhere = types.SignatureHelpParams(ed.document("main.py"), ed.at("main.py", "np.ones((", 8))
    assert await ed.client.text_document_signature_help_async(elsewhere) is None
