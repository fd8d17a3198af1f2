"""Every row of the tables about JAX, against the signatures of the installed libraries."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import pytest

from installed import current, gone, jax_version, lookup, needs_jax, resolve, rows, signature, skip_old_pallas
from meshlens.jaxapi.binders import BINDERS, Binder
from meshlens.jaxapi.collectives import COLLECTIVES, NAMED_REDUCTIONS, Collective
from meshlens.jaxapi.consumers import CONSUMERS, NOT_AXIS_NAMES, Consumer
from meshlens.jaxapi.history import CHANGES, change
from meshlens.jaxapi.keywords import TRANSFORMATION_KEYWORDS
from meshlens.jaxapi.libraries import (
    DEVICE_COUNTS,
    DEVICE_LISTS,
    DRAWS,
    KEY_MAKERS,
    PROCESS_QUERIES,
    REPLICATES,
    SHAPED,
    SHARDS,
    UNREPLICATES,
)
from meshlens.jaxapi.meshes import DEVICE_GRIDS, MESH_CONTEXTS, MESHES, MeshMaker
from meshlens.jaxapi.names import canonical
from meshlens.jaxapi.signatures import SUMMARIES
from meshlens.jaxapi.signatures import signature as signature_of
from meshlens.jaxapi.transparent import HOW, TRANSPARENT, Transparent

CANONICAL_TABLES = (
    BINDERS, COLLECTIVES, CONSUMERS, MESHES, MESH_CONTEXTS, NAMED_REDUCTIONS, TRANSPARENT, TRANSFORMATION_KEYWORDS,
)  # fmt: skip


def test_tables_hold_canonical_names() -> None:
    for table in CANONICAL_TABLES:
        assert [dotted for dotted in table if canonical(dotted) != dotted] == []


def test_rows_are_filed_under_their_own_name() -> None:
    for table in (BINDERS, COLLECTIVES, CONSUMERS, MESHES, TRANSPARENT, CHANGES):
        assert all(row.dotted == dotted for dotted, row in table.items())


def test_every_way_to_run_an_operand_is_used_and_explained() -> None:
    assert {row.how for row in TRANSPARENT.values()} == set(HOW)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("jax.P", "jax.sharding.PartitionSpec"),
        ("jax.experimental.pjit.PartitionSpec", "jax.sharding.PartitionSpec"),
        ("jax.interpreters.pxla.PartitionSpec", "jax.sharding.PartitionSpec"),
        ("jax.experimental.maps.Mesh", "jax.sharding.Mesh"),
        ("jax._src.mesh.Mesh", "jax.sharding.Mesh"),
        ("jax.lax.parallel.psum", "jax.lax.psum"),
        ("jax._src.lax.parallel.psum", "jax.lax.psum"),
        ("jax._src.api.pmap", "jax.pmap"),
        ("jax.api.pmap", "jax.pmap"),
        ("jax.remat", "jax.checkpoint"),
        ("jax.tree_map", "jax.tree.map"),
        ("jax.tree_util.tree_map", "jax.tree.map"),
        ("jax.experimental.pjit.pjit", "jax.jit"),
        ("jax._src.numpy.reductions.mean", "jax.numpy.mean"),
        ("flax.linen.normalization.BatchNorm", "flax.linen.BatchNorm"),
        ("jax.experimental.shard_map.shard_map", "jax.experimental.shard_map.shard_map"),
        ("jax.experimental.shard_map", "jax.experimental.shard_map"),
        ("numpy.sum", "numpy.sum"),
        ("jax", "jax"),
        ("", ""),
    ],
)
def test_one_name_for_every_spelling(spelling: str, name: str) -> None:
    assert canonical(spelling) == name
    assert canonical(name) == name


@pytest.mark.jax
@rows(COLLECTIVES)
def test_collective(row: Collective) -> None:
    needs_jax()
    assert row.axis_index is None or row.parameters[row.axis_index] == row.axis_parameter
    assert row.axis_index is not None or row.axis_parameter in row.keywords
    if row.dotted.startswith("jax.") and gone(row.since, row.until):
        with pytest.raises(AttributeError):
            lookup(row.dotted)
        return
    positional, only = signature(resolve(row.dotted))
    assert row.parameters == positional
    assert current(row.dotted, row.keywords) == tuple(k for k in row.keywords if k in only)
    assert set(only) <= set(row.keywords)


@pytest.mark.jax
@rows(NAMED_REDUCTIONS)
def test_named_reduction(row: Any) -> None:
    needs_jax()
    assert signature(resolve(row.dotted))[0][row.axis_index] == "axis"


@pytest.mark.jax
@rows(CONSUMERS)
def test_consumer(row: Consumer) -> None:
    needs_jax()
    positional, only = signature(resolve(row.dotted))
    positional = positional[1:] if positional[:1] == ("self",) and "value_and_grad" not in row.dotted else positional
    if row.index is None:
        assert row.parameter in only
    else:
        shift = 1 if positional[:1] == ("self",) else 0
        assert positional[row.index + shift] == row.parameter


@pytest.mark.jax
@pytest.mark.parametrize(("dotted", "parameter"), NOT_AXIS_NAMES.items())
def test_parameter_that_is_no_axis_name(dotted: str, parameter: str) -> None:
    needs_jax()
    assert parameter in signature(resolve(dotted))[0]


@pytest.mark.jax
@rows(BINDERS)
def test_binder(row: Binder) -> None:
    needs_jax()
    if row.dotted.startswith("jax.") and gone(row.since, row.until):
        with pytest.raises((AttributeError, ImportError)):
            lookup(row.dotted)
        return
    skip_old_pallas(row.dotted)
    positional, only = signature(resolve(row.dotted))
    assert current(row.dotted, row.parameters) == positional
    if not row.var_keywords:
        assert set(only) == set(current(row.dotted, row.keywords))
    else:
        assert set(row.keywords) <= set(only)
    if row.operand:
        assert positional[0] == row.operand
    every = (*row.parameters, *row.keywords)
    for name in (row.in_axes, row.out_axes, row.static, row.donate):
        assert name is None or name in every or row.var_keywords


@pytest.mark.jax
@rows(MESHES)
def test_mesh_maker(row: MeshMaker) -> None:
    needs_jax()
    skip_old_pallas(row.dotted)
    if row.since is not None and gone(row.since, None):
        with pytest.raises(AttributeError):
            lookup(row.dotted)
        return
    positional, only = signature(resolve(row.dotted))
    assert row.parameters == positional or set(row.keywords) <= set(only)
    every = (*row.parameters, *row.keywords)
    for name in (row.devices, row.shape, *row.names, row.axis_types):
        assert name is None or name in every


@pytest.mark.jax
@rows(MESH_CONTEXTS)
def test_mesh_context(row: Any) -> None:
    needs_jax()
    if gone(row.since, row.until):
        with pytest.raises(AttributeError):
            lookup(row.dotted)
    else:
        resolve(row.dotted)


@pytest.mark.jax
@pytest.mark.parametrize(("dotted", "parameters"), DEVICE_GRIDS.items())
def test_device_grid(dotted: str, parameters: tuple[str, ...]) -> None:
    needs_jax()
    assert signature(resolve(dotted))[0] == parameters


@pytest.mark.jax
@rows(TRANSPARENT)
def test_transparent(row: Transparent) -> None:
    needs_jax()
    assert set(row.operands) <= set(row.parameters)
    if "." not in row.dotted or row.dotted.startswith(("jax.experimental.host_callback", "builtins.")):
        return
    if row.dotted.startswith("typing."):
        return
    if row.dotted.split(".")[0] not in {"jax", "flax", "haiku", "equinox", "optax", "chex"}:
        resolve(row.dotted)
        return
    known = CHANGES.get(row.dotted) or CHANGES.get(row.dotted.rpartition(".")[0])
    if known is not None and gone(known.since, known.removed):
        return
    skip_old_pallas(row.dotted)
    positional, _ = signature(resolve(row.dotted))
    assert positional[: len(row.parameters)] == row.parameters or set(row.operands) <= set(positional)
    for index, name in zip(row.operand_indexes, row.operands, strict=True):
        assert positional[index] == name


@pytest.mark.jax
@pytest.mark.parametrize(
    "dotted", sorted({*DRAWS, *DEVICE_COUNTS, *DEVICE_LISTS, *PROCESS_QUERIES, *REPLICATES, *SHARDS, *UNREPLICATES})
)
def test_library_callable(dotted: str) -> None:
    needs_jax()
    known = CHANGES.get(dotted) or change(dotted)
    if known is not None and gone(known.since, known.removed):
        return
    if dotted == "jax.random.multinomial" and jax_version() < (0, 5, 1):
        return
    found = resolve(dotted)
    assert dotted not in DRAWS or signature(found)[0][0] == "key"


@pytest.mark.jax
@pytest.mark.parametrize("dotted", sorted(KEY_MAKERS))
def test_key_maker(dotted: str) -> None:
    needs_jax()
    if dotted == "flax.linen.make_rng":
        dotted = "flax.linen.Module.make_rng"
    resolve(dotted)


@pytest.mark.jax
@rows({dotted: (dotted, row) for dotted, row in SHAPED.items() if dotted.startswith("jax.")})
def test_shaped(row: Any) -> None:
    needs_jax()
    dotted, shaped = row
    assert signature(resolve(dotted))[0][shaped.index] == shaped.parameter


@pytest.mark.jax
@pytest.mark.parametrize("dotted", [*SUMMARIES, *(name for name in COLLECTIVES if name.startswith("jax.lax."))])
def test_signatures_that_hovers_show(dotted: str) -> None:
    """Compares all parameters but `f`, which has a default in signatures that also serve as decorators."""
    needs_jax()
    shown = signature_of(dotted, jax_version())
    if shown is None:
        with pytest.raises((AttributeError, ImportError)):
            lookup(dotted)
        return
    written = ast.parse(f"def f{shown.text.removeprefix(dotted)}: ...").body[0]
    assert isinstance(written, ast.FunctionDef)
    spelled = written.args
    positional = [*spelled.posonlyargs, *spelled.args]
    padded = [None] * (len(positional) - len(spelled.defaults)) + spelled.defaults
    pairs = [*zip(positional, padded, strict=True), *zip(spelled.kwonlyargs, spelled.kw_defaults, strict=True)]
    here = {one.arg: ast.unparse(default) if default is not None else None for one, default in pairs}
    real = {
        name: None if one.default is one.empty else repr(one.default)
        for name, one in inspect.signature(resolve(dotted)).parameters.items()
    }
    assert {key: text for key, text in here.items() if key != "f"} == {
        key: text for key, text in real.items() if key != "f"
    }
