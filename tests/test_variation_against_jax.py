"""Compares what we say about each operation with what JAX says, and with its result for a whole batch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from meshlens.axes.domain.joining import variation_of
from meshlens.axes.domain.values import Dict
from meshlens.axes.domain.variation import COLUMNS, MEAN, ROWS, SUM, Along, is_same
from meshlens.jaxapi.operations import OPERATIONS
from meshlens.project.workspace import open_workspace

HERE = Path(__file__).parent
SPECS = {"same": (False, False), "first": (True, False), "second": (False, True), "both": (True, True)}
LEAST = 250
"""The number of operations that JAX must accept for the comparison to mean something."""


class Otherwise(NamedTuple):
    """Operations about which some releases of JAX say something else.

    Attributes:
        names: the operations.
        since, until: the first such release, and the first after them.
        reason: why we are right.
    """

    names: frozenset[str]
    since: tuple[int, int]
    until: tuple[int, int]
    reason: str


_ANY_LATER = (1, 0)
_LIKE = "imag iscomplex isreal zeros_like ones_like empty_like resize".split()
OTHERWISE = (
    Otherwise(
        frozenset({"jax.numpy.argsort"}),
        (0, 6),
        _ANY_LATER,
        "JAX sorts the places beside the array and gives them their own type; they differ",
    ),
    Otherwise(
        frozenset({"jax.numpy.ldexp"}),
        (0, 12),
        _ANY_LATER,
        "JAX forgets the exponent if the first argument is an integer, but the results differ",
    ),
    Otherwise(
        frozenset({"jax.lax.full_like", *(f"jax.numpy.{name}" for name in _LIKE)}),
        (0, 6),
        (0, 8),
        "JAX fills a new array, whose type does not vary like that of the given array; as of 0.8 it does",
    ),
)

Said = dict[str, dict[str, object]]


def program(calls: dict[str, str]) -> str:
    """Returns a program with every call in four maps, one for each way in which its arguments vary."""
    modules = sorted({name.rsplit(".", 1)[0] for name in calls})
    lines = [f"import {module}" for module in modules] + ["import jax.numpy as jnp, numpy as np"]
    lines += ["from jax.sharding import Mesh, PartitionSpec as P", 'mesh = Mesh(np.array(jax.devices()), ("d",))']
    lines += ["def operations(a, b):", "    n, m = (3 * a).astype(int), (3 * b).astype(int)", "    return {"]
    lines += [f"        {name!r}: {call.replace('{f}', name)}," for name, call in calls.items()] + ["    }"]
    for label, split in SPECS.items():
        specs = ", ".join('P("d")' if one else "P()" for one in split)
        lines.append(f'{label} = jax.shard_map(operations, mesh=mesh, in_specs=({specs}), out_specs=P("d"))')
        lines.append(f"{label}(jnp.ones((64, 8)), jnp.ones((64, 8)))")
    return "\n".join(lines) + "\n"


def ours(calls: dict[str, str], folder: Path) -> dict[str, dict[str, Along]]:
    """Returns what we say about each operation, for each way in which its arguments vary."""
    path = folder / "program.py"
    path.write_text(program(calls))
    workspace = open_workspace([folder], files=[path], jax_version=(0, 10, 2), devices=8)
    returned = [call.returned for call in workspace.view(path).records.mapped_calls if call.visible]
    assert len(returned) == len(SPECS)
    found: dict[str, dict[str, Along]] = {}
    for label, value in zip(SPECS, returned, strict=True):
        assert isinstance(value, Dict)
        for name, result in value.items:
            found.setdefault(name, {})[label] = variation_of(result).over("d")
    return found


PYTHON = os.environ.get("MESHLENS_JAX_PYTHON", sys.executable)


def said_otherwise() -> set[str]:
    """Returns the operations about which the compared JAX is known to say something else."""
    asks = "from importlib.metadata import version; print(version('jax'))"
    run = subprocess.run([PYTHON, "-c", asks], capture_output=True, text=True, check=True)
    major, minor = map(int, run.stdout.split(".")[:2])
    return {name for one in OTHERWISE if one.since <= (major, minor) < one.until for name in one.names}


@pytest.fixture(scope="module")
def said_by_jax() -> Said:
    run = subprocess.run(
        [PYTHON, HERE / "variation_in_jax.py", *OPERATIONS], capture_output=True, text=True, check=True
    )
    return {said["name"]: said for said in map(json.loads, run.stdout.splitlines())}


@pytest.mark.jax
@pytest.mark.deep
def test_we_say_of_operations_what_jax_says(said_by_jax: Said, tmp_path: Path) -> None:
    found = ours({name: str(said["call"]) for name, said in said_by_jax.items()}, tmp_path)
    told = {name: {label: along.typed for label, along in labels.items()} for name, labels in found.items()}
    told = {name: types for name, types in told.items() if "" not in types.values()}
    other = {name: (types, said_by_jax[name]["typed"]) for name, types in told.items()}
    other = {name: both for name, both in other.items() if both[0] != both[1]}
    assert {name: both for name, both in other.items() if name not in said_otherwise()} == {}
    assert said_otherwise() <= other.keys(), "JAX agrees now"
    assert len(told) >= LEAST


@pytest.mark.jax
@pytest.mark.deep
def test_rows_sums_and_means_are_those_of_the_whole_batch(said_by_jax: Said, tmp_path: Path) -> None:
    found = ours({name: str(said["call"]) for name, said in said_by_jax.items()}, tmp_path)
    claims = {name: labels["first"].truth for name, labels in found.items()}
    wrong = {
        name: (claim, said_by_jax[name]["parts"])
        for name, claim in claims.items()
        if claim in (ROWS, SUM, MEAN, COLUMNS) and not {claim, "unfit"} & set(said_by_jax[name]["parts"])  # type: ignore[call-overload]
    }
    assert wrong == {}
    assert all(is_same(labels["same"].truth) or OPERATIONS[name] == "untold" for name, labels in found.items())
