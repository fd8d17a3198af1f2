"""Which block of an array is on which device: the picture agrees with what JAX does on eight virtual devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from meshlens.axes.domain.values import Made, Mesh, Spec
from meshlens.devices.virtual import virtual_environment
from meshlens.ide.shown.mesh_devices import device_ids
from meshlens.ide.shown.mesh_picture import as_text, drawing_of
from meshlens.ide.shown.shards import shards_of
from meshlens.project.view import FileView
from meshlens.project.workspace import open_workspace

HEAD = """\
import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

made = []
"""
MESHES = (
    "jax.make_mesh((4, 2), ('a', 'b'))",
    "jax.make_mesh((2, 2), ('a', 'b'))",
    "Mesh(np.array(jax.devices()).reshape(2, 4), ('a', 'b'))",
    "Mesh(np.asarray(jax.devices()).reshape((2, 2, 2)), ('a', 'b', 'c'))",
    "Mesh(np.reshape(jax.devices(), (8, 1)), ('a', 'b'))",
)
SPECS = ("P('a')", "P(None, 'b')", "P('b', 'a')", "P(('a', 'b'))", "P(('b', 'a'), None)", "P(None, ('b',))")
SHOW = """
import json
found = []
for sharding in made:
    ids = [device.id for device in sharding.mesh.devices.flat]
    blocks = {}
    for device, index in sharding.devices_indices_map((16, 16)).items():
        parts = [(piece.start or 0, (piece.stop or 16) - (piece.start or 0)) for piece in index]
        blocks[device.id] = [":" if size == 16 else str(start // size) for start, size in parts]
    found.append((ids, [blocks[number] for number in ids]))
print(json.dumps(found))
"""


def program() -> str:
    return HEAD + "".join(f"made.append(NamedSharding({mesh}, {spec}))\n" for mesh in MESHES for spec in SPECS)


def view_of(source: str) -> FileView:
    path = Path("/project/main.py")
    return open_workspace([path.parent], files=[path], devices=8, overlay={path: source.encode()}).view(path)


def shardings(view: FileView) -> list[tuple[Mesh, Spec]]:
    found = []
    for call in view.records.calls:
        if call.dotted == "jax.sharding.NamedSharding" and isinstance(call.result, Made):
            given: dict[Any, Any] = dict(call.result.arguments)
            found.append((given["mesh"], given["spec"]))
    return found


@pytest.mark.jax
def test_blocks_are_where_jax_puts_them():
    environment = {**os.environ, **virtual_environment(8, os.environ)}
    ran = subprocess.run(
        [sys.executable, "-c", program() + SHOW], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    truth = json.loads(ran.stdout)
    view = view_of(program())
    found = shardings(view)
    assert len(found) == len(truth) == len(MESHES) * len(SPECS)
    for (mesh, spec), (ids, blocks) in zip(found, truth, strict=True):
        assert device_ids(view, mesh) == tuple(ids)
        shards = shards_of(spec, mesh)
        assert shards is not None
        named = [name.strip("[]").split(", ") for name, _ in shards]
        wanted = [block[: len(spec.entries)] for block in blocks]
        # JAX also says ":" for a mesh axis of size one.
        sizes = [["0" if one == ":" else one for one in block] for block in (*named, *wanted)]
        assert sizes[: len(named)] == sizes[len(named) :], view.text(spec.site)


@pytest.mark.parametrize(
    "mesh",
    [
        "Mesh(np.array(jax.devices())[::-1].reshape(2, 4), ('a', 'b'))",
        "Mesh(np.array(jax.devices()).reshape(2, 4, order='F'), ('a', 'b'))",
        "Mesh(np.array(sorted(jax.devices(), key=hash)).reshape(2, 4), ('a', 'b'))",
        "Mesh(np.array(jax.devices()).reshape(4, 2).T, ('a', 'b'))",
        "Mesh(np.random.permutation(jax.devices()).reshape(2, 4), ('a', 'b'))",
        "Mesh(np.array(jax.devices()[2:]).reshape(2, 3), ('a', 'b'))",
        "jax.make_mesh((2, 4), ('a', 'b'), devices=jax.devices()[::-1])",
    ],
)
def test_an_order_that_is_not_known_is_not_told(mesh):
    view = view_of(f"{HEAD}m = {mesh}\n")
    (made,) = [call.result for call in view.records.calls if isinstance(call.result, Mesh)]
    assert device_ids(view, made) is None


@pytest.mark.parametrize("spec", ["P()", "P(None)", "P('z')", "P(*names)", "P(axis)", "P('a', axis)"])
def test_nothing_is_drawn_of_a_spec_that_splits_nothing_or_is_not_known(spec):
    source = f"{HEAD}def f(axis, names):\n    return NamedSharding(jax.make_mesh((4, 2), ('a', 'b')), {spec})\n"
    ((mesh, found),) = shardings(view_of(source))
    assert shards_of(found, mesh) is None


def test_an_axis_of_one_index_is_not_drawn():
    view = view_of(f"{HEAD}NamedSharding(jax.make_mesh((1, 2, 2, 1), ('p', 'a', 'b', 'q')), P('b'))\n")
    ((mesh, spec),) = shardings(view)
    drawing = drawing_of(mesh, device_ids(view, mesh), shards_of(spec, mesh))
    assert drawing is not None
    assert as_text(drawing) == "a ↓  b →\n     0: [0]  1: [1]\n     2: [0]  3: [1]"
