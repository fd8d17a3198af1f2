"""Findings after an edit are those of a cold start, even in texts that are broken in many places."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from meshlens.checking.check import check
from meshlens.facts.editing.reading import whole_edit
from meshlens.project.workspace import Workspace, open_workspace
from meshlens.settings import Settings
from meshlens.text import Span

SOUND = (Path(__file__).parent / "oracle" / "programs" / "102_shard_map_inside_class_wrong_axis.py").read_text()

# The class's own block is tied to the next edit; a method that has a finding is not.
BROKEN = """import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import 'Mesh, PartitionSpec as P


class ShardedSoftmax:
    def __init__(self, devices, axis="vocab"):
        self.mesh = Mesh(np.array(devices), (axis,))
        self.psum = axis

    def _local(self, logits):
        top = jax.lax.pmax(logits.max(-1, keepdims=True), self.axis)
        e = jnp.exp(logits - top)
        e = jnp.exp(logits - top)
        return e / jax.lax.psum(e.sum(-1,{ keepdims=True), "vocabulary")

    def __call__(self, logits):
        spec = P(None, self.axis)
        e = jnp.exp(logits - top)
        return e / jax.lax.psum(e.sum(-1, keepdims=True), "vocabulary")

    def __=call__(self, {logits):
        ShardedSoftmax = P(None, self.axis)
        f = jax.shard_map(self._local, mesh=self.mesh, in_specs=spec, out_specs=spec, check_vma=False)
        return f(logits)


print(ShardedSoftmax(jax.devices())(jnp.zeros((2, 16))))
        return f(logits)


print(ShardedSoftmax(jax.devices())(jnp.zeros((2, 16))))
        rern e / jax.lax.psum(e.sum(-1, keepdims=True), "vocabulary")

    def __call__(self, logits):
        spec = P(None, self.axis)
        f = jax.shard_map(self._local, mesh=self.mesh, in_specs=spec, out_specs=spec, check_vma=False)
        return f(logits)


def sync_every(step, x,\t period=2):
    return lax.cond(
  ,      step % period == 0,
        lambda v: lax.pmean(v, "w"),
        lambda v: v,
        x,
    )


def local_sgd(x):
    def body(step, v):
        v = v * 0.9 + :lax.axis_index("w")
        return sync_every(step, v)

    return lax.fori_loop(0, 4, body, x)

print(ShardedSoftmax(jax.devices())(jnp.zeros((2, 16))))
"""


def _found(workspace: Workspace, path: Path) -> list[tuple[Span, str]]:
    return [(one.finding.span, one.finding.message) for one in check(workspace.view(path), Settings())]


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_a_class_is_another_block_than_its_methods(tmp_path: Path, ends: str):
    path = tmp_path / "softmax.py"
    texts = [text.replace("\n", ends).encode() for text in (SOUND, BROKEN, BROKEN.replace("% period ==", "% p =="))]
    workspace = open_workspace([tmp_path], files=[path], overlay={path: texts[0]})
    _found(workspace, path)
    for before, text in pairwise(texts):
        edit = whole_edit(before, text)
        assert edit is not None
        workspace = workspace.with_edits(path, [edit])
        cold = open_workspace([tmp_path], files=[path], overlay={path: text})
        assert _found(workspace, path) == _found(cold, path)


ENTERS = "import jax\n\nmesh = jax.make_mesh((8,), ('data',))\nwith mesh:\n    print(1)\n"
ASKS = "from jax._src.mesh import thread_resources\n\n\ndef current():\n    return thread_resources.env.physical_mesh\n"
ASKS_NOTHING = "def current():\n    return None\n"


@pytest.mark.parametrize("texts", [(ASKS_NOTHING, ASKS), (ASKS, ASKS_NOTHING)], ids=["added", "removed"])
def test_a_fix_depends_on_what_another_file_asks_for(tmp_path: Path, texts: tuple[str, str]):
    path, other = tmp_path / "main.py", tmp_path / "meshes.py"
    first, second = (text.encode() for text in texts)
    overlay = {path: ENTERS.encode(), other: first}
    workspace = open_workspace([tmp_path], files=[path, other], overlay=overlay)
    check(workspace.view(path), Settings())
    edit = whole_edit(first, second)
    assert edit is not None
    workspace = workspace.with_edits(other, [edit])
    (finding,) = (one.finding for one in check(workspace.view(path), Settings()))
    assert (bool(finding.fixes), bool(finding.related)) == ((False, True) if texts[1] == ASKS else (True, False))
