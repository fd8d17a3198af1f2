"""Findings are the same in every process, whatever the order in which Python iterates over its sets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(2, 2, 2), ("data", "model", "stage"))


def step(w, x):
    grads = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return w - 0.1 * lax.pmean(grads, "stage")


every = P(("data", "model", "stage"))
mapped = jax.shard_map(step, mesh=mesh, in_specs=(P(), every), out_specs=P(), check_vma=False)
print(mapped(jnp.ones((4, 4)), jnp.ones((64, 4))))
"""


def test_findings_are_the_same_in_every_process(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PROGRAM, "utf-8")
    found = {_checked(tmp_path, seed) for seed in range(6)}
    assert len(found) == 1
    assert "not reduced over" in found.pop()


def _checked(folder: Path, seed: int) -> str:
    command = [sys.executable, "-m", "meshlens", "check", "--no-cache", "--output-format", "concise", "."]
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout
