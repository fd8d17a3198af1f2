"""Programs of many kinds: what they move between eight devices, on which lines, and what each line computes."""

import json
from pathlib import Path

import pytest

from meshlens.tracing.model import Place
from tracing.releases import SINCE, VERSION

KEPT = json.loads(Path(__file__).with_name("h100.json").read_text())
if VERSION >= (0, 12):
    # What this release's XLA compiles differently.
    KEPT |= json.loads(Path(__file__).with_name("h100_jax_0_12.json").read_text())


OLDEST = {
    "explicit_axes.py": SINCE["explicit axes"],
    "partial_map.py": SINCE["a `shard_map` over some axes of a mesh"],
}
DIFFERS = {
    "experts.py::automatic": "XLA for GPUs simplifies products with one column before shardings propagate",
    "further/knn.py::entry": "XLA for CPUs gathers what top_k reads, and does not take the best of each device first",
}
"""Programs whose collectives on GPUs differ from those of the partitioner for CPUs, and why."""

DIFFERS_IN = {
    "sequence_parallel.py::entry": ((0, 4), (0, 6), "GSPMD gathers the rows for each of two products that share them"),
    "larger/seqpar.py::entry": ((0, 12), (1, 0), "XLA for GPUs narrows two gathers less than before"),
}
"""More of these programs, from one release of JAX on and before another."""

pytestmark = pytest.mark.jax


QUICK = ("data_parallel.py::entry", "fsdp.py::entry", "mapped.py::entry", "ring.py::entry", "embedding.py::entry")


def pytest_generate_tests(metafunc):
    """Parametrizes the test of programs with the entries that this release of JAX can run."""
    if metafunc.function is test_collectives_by_kind_and_line:
        runs = "not jax" not in metafunc.config.option.markexpr
        metafunc.parametrize("entry", list(entries(runs)))


def entries(runs):
    """Yields the entries that this release of JAX can run, except those whose library is not installed.

    If the tests that need JAX are only collected, all entries are there: importing these libraries takes seconds.
    """
    needs = {"linen.py": "flax", "graph_objects.py": "flax", "equinox_model.py": "equinox"}
    for entry in sorted(KEPT):
        file = entry.partition("::")[0]
        oldest = (0, 10) if file.startswith(("larger/", "further/")) else OLDEST.get(file, (0, 0))
        if oldest <= VERSION and (not runs or file not in needs or _has(needs[file])):
            yield pytest.param(entry, marks=() if entry in QUICK else pytest.mark.deep)


def _has(package):
    try:
        __import__(package)
    except Exception:  # a release that is incompatible with this release of JAX
        return False
    return True


def test_collectives_by_kind_and_line(traced, entry):
    file, _, name = entry.partition("::")
    # A TPU, so that the partitioner for CPUs is used whether the plugin is installed or not.
    found = traced(file, name, devices="v5e-8")
    assert not [error for error in found.errors if error.type != "Rematerialization"]
    assert (found.level, found.partitioner, found.devices) == ("partitioned", "CPU", 8)
    totals = {kind: total.bytes for kind, total in found.totals}
    expected = {kind: pytest.approx(size, rel=0.01, abs=128) for kind, size in KEPT[entry].items()}
    since, before, _ = DIFFERS_IN.get(entry, (VERSION, VERSION, ""))
    assert (totals != expected) == (entry in DIFFERS or since <= VERSION < before)
    lost = sum(one.bytes for one in found.collectives if one.place is None)
    assert lost <= 64
    assert found.placed[1] >= 0.9 * found.placed[0]
    assert all(set(one.axes) <= {name for name, _ in found.mesh} for one in found.collectives)


def row_of(path, text):
    """Returns the first line of a file that holds a text."""
    lines = Path(path).read_text("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_data_parallelism_reduces_each_gradient_once(traced):
    found = traced("data_parallel.py")
    parameters = 256 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 64 + 64
    assert dict(found.totals)["all-reduce"].bytes == 4 * (parameters + 1)
    assert {one.axes for one in found.collectives} == {("data",)}


def test_what_a_line_computes_and_how_it_is_sharded(traced):
    found = traced("tensor_parallel.py", "two_axes", devices="2x4")
    lines = {line.place.row: line for line in found.lines}
    path = found.lines[0].place.filename
    heads = lines[row_of(path, "q = jnp.einsum")]
    assert (heads.dtype, heads.shape, heads.sharding) == ("bfloat16", (8, 128, 8, 64), "P('data', None, 'model')")
    hidden = lines[row_of(path, "return x + jax.nn.gelu")]
    assert (hidden.shape, hidden.sharding) == ((8, 128, 512), "P('data')")


def test_what_varies_in_a_shard_map(traced):
    found = traced("ring.py")
    row = row_of(found.files[0].path, "weights = jnp.exp")
    line = next(line for line in found.lines if line.place.row == row)
    # Before 0.7 nothing distinguishes the backward pass inside a shard_map from the forward pass.
    forward = SINCE["gradients marked *backward* outside of loops and maps"] <= VERSION
    assert line.shape == ((4, 128, 128) if forward else (128, 4, 64))
    assert line.varying == (("seq",) if VERSION >= (0, 6) else ())


def test_what_a_loop_moves_counts_as_often_as_it_runs(traced):
    found = traced("ring.py")
    row = row_of(found.files[0].path, 'k = jax.lax.ppermute(k, "seq"')
    turns = [one for one in found.collectives if one.place.row == row]
    # Once in the forward and once in the backward pass, each in a scan over eight devices.
    assert sorted((one.backward, one.count, one.axes) for one in turns) == [(False, 8, ("seq",)), (True, 8, ("seq",))]


BRANCHES = """\
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map

def small(x):
    return x + jax.lax.psum(x[:1], "x")

def large(x):
    return x + jax.lax.psum(jnp.dot(x, x.T) @ x, "x")

def entry():
    mesh = Mesh(np.array(jax.devices()), ("x",))

    def local(flags, x):
        def body(x, flag):
            return jax.lax.cond(flag > 0, FIRST, SECOND, x), None
        return jax.lax.scan(body, x, flags)[0]

    f = shard_map(local, mesh=mesh, in_specs=(P(), P("x")), out_specs=P("x"))
    x = jax.ShapeDtypeStruct((64, 16), jnp.float32, sharding=NamedSharding(mesh, P("x")))
    return jax.jit(f), (jax.ShapeDtypeStruct((5,), jnp.float32), x)
"""


@pytest.mark.skipif(SINCE["collectives in a `cond` in a `shard_map`"] > VERSION, reason="JAX checks replication")
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("order", [("small", "large"), ("large", "small")])
def test_the_largest_branch_of_a_cond_counts(traced, tmp_path, order, level):
    file = tmp_path / "branches.py"
    file.write_text(BRANCHES.replace("FIRST", order[0]).replace("SECOND", order[1]))
    found = traced(file, level=level)
    assert not found.errors
    row = row_of(file, "jnp.dot(x, x.T) @ x")
    assert [(one.place.row, one.count, one.bytes) for one in found.collectives] == [(row, 5, 5 * 8 * 16 * 4)]
    assert found.flops == 5 * 2 * (2 * 8 * 8 * 16)
    cond = row_of(file, "jax.lax.cond")
    assert found.notes == (
        f"branches.py:{cond}: which branch runs depends on data; the branch that moves the most data is counted",
    )


ENCLOSED = """\
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
try:
    from jax import shard_map
    OPTIONS = {}
except ImportError:
    from jax.experimental.shard_map import shard_map
    OPTIONS = {"check_rep": False}  # there is no rule for loops

def inner(x):
    return x + jax.lax.psum(jnp.dot(x, x.T) @ x, "x")

def local(x):
    return ENCLOSING

def entry():
    mesh = Mesh(np.array(jax.devices()), ("x",))
    x = jax.ShapeDtypeStruct((64, 16), jnp.float32, sharding=NamedSharding(mesh, P("x")))
    return jax.jit(shard_map(local, mesh=mesh, in_specs=P("x"), out_specs=P("x"), **OPTIONS)), (x,)
"""


@pytest.mark.parametrize(
    "enclosing",
    [
        "jax.lax.scan(lambda x, _: (inner(x), None), x, None, length=4)[0]",
        "jax.lax.while_loop(lambda state: state[0] < 4, lambda state: (state[0] + 1, inner(state[1])), (0, x))[1]",
        "jax.checkpoint(inner)(x)",
        "jax.jit(inner)(x)",
    ],
    ids=["scan", "while_loop", "checkpoint", "jit"],
)
def test_what_is_run_inside_has_lines_of_its_own(traced, tmp_path, enclosing):
    file = tmp_path / "enclosed.py"
    file.write_text(ENCLOSED.replace("ENCLOSING", enclosing))
    found = traced(file)
    assert found.level == "partitioned"
    assert {one.place.row for one in found.collectives} == {row_of(file, "jnp.dot(x, x.T) @ x")}


@pytest.mark.skipif(SINCE["collectives in a `cond` in a `shard_map`"] > VERSION, reason="JAX checks replication")
def test_branches_of_the_same_size_have_no_note(traced, tmp_path):
    file = tmp_path / "branches.py"
    file.write_text(BRANCHES.replace("FIRST", "large").replace("SECOND", "lambda x: large(2 * x)"))
    found = traced(file)
    assert (dict(found.totals)["all-reduce"].count, found.notes) == (5, ())


def test_lines_of_a_file_outside_the_project(traced, tmp_path):
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    (elsewhere / "shared_model.py").write_text(
        "import jax.numpy as jnp\n\ndef loss(w, x):\n    return jnp.sum(x @ w)\n"
    )
    (project / "run.py").write_text(
        f"import sys\nsys.path.insert(0, {str(elsewhere)!r})\nimport jax, jax.numpy as jnp, numpy as np\n"
        "from jax.sharding import Mesh, NamedSharding, PartitionSpec\nimport shared_model\n\n\ndef entry():\n"
        "    mesh = Mesh(np.array(jax.devices()), ('x',))\n"
        "    x = jax.ShapeDtypeStruct((64, 16), jnp.float32, sharding=NamedSharding(mesh, PartitionSpec('x')))\n"
        "    return jax.jit(shared_model.loss), (jax.ShapeDtypeStruct((16, 4), jnp.float32), x)\n"
    )
    for level in (1, 2):
        found = traced(project / "run.py", level=level)
        assert {line.place for line in found.lines} == {Place(str(elsewhere / "shared_model.py"), 4)}
    assert [(one.place, one.bytes) for one in found.collectives] == [(Place(str(elsewhere / "shared_model.py"), 4), 4)]


def test_level_1_has_the_collectives_that_are_written(traced):
    found = traced("pipeline.py", level=1)
    assert found.level == "traced"
    kinds = {(one.kind, one.axes, one.group_size) for one in found.collectives}
    assert ("collective-permute", ("stage",), 8) in kinds
    assert next(one for one in found.collectives if one.kind == "collective-permute").count % 19 == 0


def test_operations_of_a_matrix_product(traced, tmp_path):
    (tmp_path / "product.py").write_text(
        "import jax, jax.numpy as jnp, numpy as np\nfrom jax.sharding import *\n\n\ndef entry():\n"
        "    mesh = Mesh(np.array(jax.devices()), ('x',))\n"
        "    a = jax.ShapeDtypeStruct((64, 128), jnp.float32, sharding=NamedSharding(mesh, PartitionSpec('x')))\n"
        "    return jax.jit(jnp.dot), (a, jax.ShapeDtypeStruct((128, 32), jnp.float32))\n"
    )
    assert traced(tmp_path / "product.py").flops == 2 * 64 * 128 * 32 / 8


def test_a_value_that_is_gathered_to_change_its_sharding(traced, tmp_path):
    (tmp_path / "again.py").write_text(
        "import jax, jax.numpy as jnp, numpy as np\nfrom jax.sharding import Mesh, NamedSharding\n"
        "from jax.sharding import PartitionSpec as P\n\n\ndef entry():\n"
        "    mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ('x', 'y'))\n"
        "    one, two = NamedSharding(mesh, P('y', None, 'x')), NamedSharding(mesh, P(None, ('x', 'y'), None))\n\n"
        "    def f(a, b, c):\n        d = a + b\n        return c + jax.lax.with_sharding_constraint(d, two)\n\n"
        "    def of(s):\n        return jax.ShapeDtypeStruct((16, 16, 16), jnp.float32, sharding=s)\n\n"
        "    return jax.jit(f, out_shardings=two), (of(one), of(one), of(two))\n"
    )
    found = traced(tmp_path / "again.py")
    # Before 0.6 the warning names no line.
    rows = [error.place and error.place.row for error in found.errors]
    assert ([error.type for error in found.errors], rows) == (
        ["Rematerialization"],
        [11 if SINCE["the line of a value that is gathered to change its sharding"] <= VERSION else None],
    )


@pytest.mark.skipif(VERSION < (0, 7), reason="jax.set_mesh")
def test_a_mesh_that_an_entry_has_entered_stays_entered(traced, tmp_path):
    source = (
        "import jax, jax.numpy as jnp, numpy as np\nfrom jax.sharding import Mesh, NamedSharding\n"
        "from jax.sharding import PartitionSpec as P\n\n\ndef f(x):\n"
        "    spec = P(None) if jax.sharding.get_abstract_mesh().empty else P('x')\n"
        "    return jax.lax.with_sharding_constraint(x * 2, NamedSharding(MESH, spec))\n\n\n"
        "MESH = Mesh(np.array(jax.devices()), ('x',))\n\n\ndef entry():\n"
        "    x = jax.ShapeDtypeStruct((64, 16), jnp.float32, sharding=NamedSharding(MESH, P('x')))\n"
    )
    (tmp_path / "yields.py").write_text(source + "    with jax.set_mesh(MESH):\n        yield f, (x,)\n")
    assert traced(tmp_path / "yields.py").totals == ()
    (tmp_path / "returns.py").write_text(source + "    return f, (x,)\n")
    assert [kind for kind, _ in traced(tmp_path / "returns.py").totals] == ["all-gather"]


KERNEL = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x, y, out):
    out[...] = jnp.dot(x[...], y[...])


def step(x, y):
    product = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((64, 64), jnp.float32), interpret=INTERPRET)(x, y)
    return product @ y


def entry():
    x = jax.ShapeDtypeStruct((64, 64), jnp.float32)
    return jax.jit(step), (x, x)
"""


def test_what_a_kernel_computes_is_said_to_be_unknown(traced, tmp_path):
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL.replace("INTERPRET", "False"))
    found = traced(file, level=1)
    note = "kernel.py:11: the operations of this Pallas kernel are not counted"
    assert (found.errors, found.notes) == ((), (note,))
    assert found.flops == 2 * 64**3 / 8
    (fault,) = traced(file).errors
    assert "pass --level traced, or interpret=True" in fault.message
    file.write_text(KERNEL.replace("INTERPRET", "True"))
    found = traced(file)
    assert (found.errors, found.level) == ((), "partitioned")
    assert note in found.notes


def test_the_files_that_were_read(traced):
    found = traced("fsdp.py")
    assert [file.path.rpartition("/")[2] for file in found.files] == ["fsdp.py"]
    assert Place(found.files[0].path, found.files[0].rows[0]) in {line.place for line in found.lines}
