"""Hover on everything that has one, in the form that each client can show: a picture, Markdown, or plain text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from command_line import write
from editor import Editor, plain

pytestmark = pytest.mark.asyncio(loop_scope="session")

FILES = {
    "meshlens.toml": 'jax-version = "0.10.2"\ndevices = 8\n',
    "names.py": 'AXIS = "batch"\n',
    "train.py": """import jax
from jax.experimental.shard_map import shard_map
from jax.sharding import PartitionSpec as P

from names import AXIS

título = "é𝛼"
mesh = jax.make_mesh((4, 2), ("data", "model"))


def step(params, x):
    return params, "é𝛼", jax.lax.pmean(x, "batch")


parallel = jax.pmap(step, axis_name=AXIS, in_axes=(None, 0))
parallel(1, jax.numpy.ones((8, 3)))
sharded = shard_map(lambda x: x, mesh=mesh, in_specs=P("data", None), out_specs=P("data"))
old = jax.tree_map(len, [título])
""",
}

SPOKEN_OF = {
    "collective": ("pmean(x", 1, ("batch", "step", "train.py")),
    "binder": ("pmap(step", 1, ("step(params, x)", "params", "x", "batch", "8 devices")),
    "mapped function": ("parallel(1", 1, ("step(params, x)", "params", "batch")),
    "axis name": ('"batch")', 2, ("batch", "pmap", "pmean")),
    "axis name in a constant": ("axis_name=AXIS", 12, ("batch",)),
    "mesh": ("make_mesh", 1, ("data", "model", "8 devices")),
    "spec": ('P("data", None)', 0, ("data",)),
    "deprecated name": ("shard_map(lambda", 1, ("deprecated since JAX 0.8.0", "jax.shard_map")),
    "removed name": ("tree_map", 1, ("removed in JAX 0.6.0", "jax.tree.map")),
}
NOTHING = {"string": ("é𝛼", 0), "variable": ("título", 1), "numpy": ("ones(", 1), "import": ("import jax", 8)}


async def _hover(ed: Editor, text: str, shift: int) -> Any:
    write(ed.root, FILES)
    for name in ("names.py", "train.py"):
        ed.open(name)
    at = types.HoverParams(ed.document("train.py"), ed.at("train.py", text, shift))
    return plain(await ed.client.text_document_hover_async(at))


@pytest.mark.parametrize("kind", SPOKEN_OF)
async def test_what_is_said(ed: Editor, kind: str):
    text, shift, said = SPOKEN_OF[kind]
    found = await _hover(ed, text, shift)
    assert found["contents"]["kind"] == ed.can("textDocument.hover.contentFormat")[0]
    for word in said:
        assert word in found["contents"]["value"]
    at = plain(ed.at("train.py", text, shift))
    start, end = found["range"]["start"], found["range"]["end"]
    assert start["line"] == at["line"] == end["line"]
    assert start["character"] <= at["character"] <= end["character"]


@pytest.mark.parametrize("kind", NOTHING)
async def test_silence(ed: Editor, kind: str):
    assert await _hover(ed, *NOTHING[kind]) is None


async def test_a_mesh_is_a_picture_where_pictures_are_shown(ed: Editor):
    value = (await _hover(ed, "make_mesh", 1))["contents"]["value"]
    assert ("data:image/svg+xml" in value) == (ed.name == "vscode")
    if ed.name != "vscode":
        assert "model →" in value
        assert "6  7" in value


async def test_links_lead_to_the_places_where_markdown_is_shown(ed: Editor, tmp_path: Path):
    value = (await _hover(ed, "pmean(x", 1))["contents"]["value"]
    link = f"]({ed.uri('train.py')}#L15)"
    assert (link in value) == ("markdown" in ed.can("textDocument.hover.contentFormat"))
    assert "train.py:15" in value
