"""Compares where we say that flax cannot create a variable for lack of a mesh with where flax raises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import virtual_devices
from command_line import meshlens, write
from installed import resolve
from meshlens.jaxapi.changes import parse_version, spell_version

BEGINNING = """\
import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((1, 1), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
init = nnx.initializers.ones

"""

FORMS = """\
nnx.Linear(8, 8, kernel_init=nnx.with_partitioning(init, ("data", "model")), rngs=nnx.Rngs(0))
nnx.Linear(8, 8, kernel_init=nnx.with_partitioning(init, sharding=P(None, "model")), rngs=nnx.Rngs(0))
nnx.Linear(8, 8, kernel_init=nnx.with_partitioning(init, (None, None)), rngs=nnx.Rngs(0))
nnx.Linear(8, 8, kernel_init=nnx.with_partitioning(init, ()), rngs=nnx.Rngs(0))
nnx.Linear(8, 8, kernel_init=nnx.with_partitioning(init, (None, "model"), mesh), rngs=nnx.Rngs(0))
nnx.Linear(8, 8, kernel_init=nnx.with_partitioning(init, (None, "model"), eager_sharding=False), rngs=nnx.Rngs(0))
nnx.Linear(8, 8, kernel_metadata={"sharding": (None, "model")}, rngs=nnx.Rngs(0))
nnx.Linear(8, 8, kernel_metadata={"out_sharding": (None, "model"), "mesh": mesh}, rngs=nnx.Rngs(0))
nnx.Conv(8, 8, (3, 3), kernel_init=nnx.with_partitioning(init, (None, None, None, "model")), rngs=nnx.Rngs(0))
nnx.MultiHeadAttention(2, 8, kernel_init=nnx.with_partitioning(init, (None, "model")), decode=False, rngs=nnx.Rngs(0))
nnx.Embed(8, 8, embedding_init=nnx.with_partitioning(init, (None, "model")), rngs=nnx.Rngs(0))
nnx.LayerNorm(8, scale_init=nnx.with_partitioning(init, ("model",)), rngs=nnx.Rngs(0))
nnx.LayerNorm(8, scale_init=nnx.with_partitioning(init, ("model",)), use_scale=False, rngs=nnx.Rngs(0))
nnx.Param(jnp.ones((8, 8)), sharding=("data", "model"))
nnx.Param(jnp.ones((8, 8)), sharding_names=("data", "model"))
nnx.Param(jnp.ones((8, 8)), out_sharding=P("data", "model"))
nnx.Param(jnp.ones((8, 8)), sharding=None)
nnx.Param(jnp.ones((8, 8)), sharding=("data", "model"), mesh=mesh)
nnx.Param(jnp.ones((8, 8)), sharding=("data", "model"), eager_sharding=False)
nnx.Param(jnp.ones((8, 8)), axes=("data", "model"))
nnx.Param(nnx.with_partitioning(init, (None, "model"))(nnx.Rngs(0).params(), (8, 8)))
nnx.Cache(jnp.ones((8, 8)), sharding=("data", "model"))
""".splitlines()

SETTINGS = {
    "nothing": "MAKE",
    "with_mesh": "with mesh:\n    MAKE",
    "set_mesh": "with jax.set_mesh(mesh):\n    MAKE",
    "abstract_mesh": "with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):\n    nnx.eval_shape(lambda: MAKE)",
    "jit": "nnx.jit(lambda: MAKE)()",
    "jit_in_with_mesh": "with mesh:\n    nnx.jit(lambda: MAKE)()",
    "jit_in_set_mesh": "with jax.set_mesh(mesh):\n    nnx.jit(lambda: MAKE)()",
    "nnx_eval_shape": "nnx.eval_shape(lambda: MAKE)",
    "jax_eval_shape": "jax.eval_shape(lambda: nnx.split(MAKE)[1])",
    "use_eager_sharding": "with nnx.use_eager_sharding(False):\n    MAKE",
}

RUN = """\
import json, sys, warnings

warnings.simplefilter("ignore")
for name, text in json.load(sys.stdin).items():
    try:
        exec(text, {})
    except ValueError as error:
        print(json.dumps([name, str(error)]))
"""


@pytest.mark.jax
def test_flax_raises_where_we_say_so(tmp_path: Path) -> None:
    version = parse_version(resolve("flax.__version__"))
    if version is None or version < (0, 12, 6):
        pytest.skip("older releases of flax treat some of these forms in other ways")
    programs = {
        f"{place}_{setting}.py": BEGINNING + text.replace("MAKE", form)
        for place, form in enumerate(FORMS)
        for setting, text in SETTINGS.items()
    }
    environment = {**os.environ, **virtual_devices.environment()}
    ran = subprocess.run(
        [sys.executable, "-c", RUN], input=json.dumps(programs), capture_output=True, text=True, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    raised = dict(json.loads(line) for line in ran.stdout.splitlines())
    assert all("mesh context or metadata is required" in error for error in raised.values()), raised
    write(tmp_path, {**programs, "requirements.txt": f"flax=={spell_version(version)}\n"})
    said = json.loads(meshlens("check", "--output-format", "json", "--select", "AX214", cwd=tmp_path).out)
    assert sorted({Path(one["filename"]).name for one in said}) == sorted(raised)
    assert len(raised) > 50
