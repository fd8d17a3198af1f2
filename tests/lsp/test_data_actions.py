"""The actions offered at the calls of a pmap in a real session: the batch, the keys, the state, the first replica."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

import depth
from command_line import write
from editor import editor

pytestmark = pytest.mark.asyncio

PROGRAM = """import jax
import jax.numpy as jnp


@jax.pmap
def noisy(x, key):
    return jax.lax.pmean(x + jax.random.normal(key, x.shape), "batch")


draw = jax.pmap(lambda x, key: jax.lax.pmean(x, "batch"), axis_name="batch")
key = jax.random.key(0)
out = draw(jnp.ones((16, 3)), key)
_ = draw(jnp.ones((8, 3)), key)
_ = 0
print(out)
"""
REWRITE = types.CodeActionKind.RefactorRewrite


@pytest.mark.parametrize(
    ("where", "title", "written"),
    depth.some(
        [
            ("draw(jnp", "Split the batch over the devices", "out = draw(shard(jnp.ones((16, 3))), key)"),
            ("key)\n_ = 0", "Split the key over the devices", "jax.random.split(key, jax.local_device_count()))"),
            ("out)\n", "Take the first device's copy", "print(out[0])"),
        ],
        1,
    ),
)
async def test_the_data_of_a_call(tmp_path: Path, where: str, title: str, written: str):
    write(tmp_path, {"meshlens.toml": "devices = 8\n"})
    async with editor(tmp_path) as ed:
        ed.open("train.py", PROGRAM)
        at = ed.at("train.py", where)
        params = types.CodeActionParams(
            ed.document("train.py"), types.Range(at, at), types.CodeActionContext(diagnostics=[], only=[REWRITE])
        )
        actions = await ed.client.text_document_code_action_async(params)
        (action,) = [one for one in actions or () if isinstance(one, types.CodeAction) and one.title == title]
        resolved = await ed.client.code_action_resolve_async(action)
        assert resolved.edit is not None
        ed.apply(resolved.edit)
        assert written in ed.texts["train.py"]
