"""The commands in the README and the pages run, one after another, where their pages say to run them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from launched import PROGRAM
from test_pages import COMMANDS, ROOT

pytestmark = pytest.mark.jax

# `.ci/run` and the sessions of nox cover these; test_cli_adoption.py covers `--watch`, which does not end.
ELSEWHERE = ("pip ", "nox", "python -m venv", "pytest", "code ", "meshlens check --watch")
PAGES = ("README.md", "docs/devices.md", "docs/trace.md", "docs/tour/11_one_training_run/README.md")
TRAINED = """\
import argparse

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P


def loss_fn(params, batch):
    return jnp.mean((batch @ params) ** 2)


@jax.jit
def train_step(params, batch):
    return params - 0.1 * jax.grad(loss_fn)(params, batch)


def entry():
    mesh = Mesh(jax.devices(), ("data",))
    split = NamedSharding(mesh, P("data"))
    return train_step, (
        jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=NamedSharding(mesh, P())),
        jax.ShapeDtypeStruct((512, 8), jnp.float32, sharding=split),
    )


class Trainer:
    def __init__(self):
        self.params = jnp.ones((8, 4))

    def step(self, batch):
        self.params = train_step(self.params, batch)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=64)
    trainer = Trainer()
    trainer.step(jnp.ones((parser.parse_args().batch_size, 8)))


params = train_step(jnp.ones((8, 4)), jnp.ones((64, 8)))
if __name__ == "__main__":
    main()
"""


def test_every_command_runs_here_or_elsewhere():
    others = {line for block, line in COMMANDS if str(block.page.relative_to(ROOT)) not in PAGES}
    assert [line for line in others if not line.startswith(ELSEWHERE)] == []


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run(page: str, tmp_path: Path):
    place = tmp_path / "checkout"
    shutil.copytree(ROOT / "docs" / "tour", place / "docs" / "tour")
    here = place / Path(page).parent if "tour" in page else place
    (here / "train.py").write_text(TRAINED)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "meshlens"
    program.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, *PROGRAM])} "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "JAX_PLATFORMS": "cpu"}
    ran = []
    for line in (line for block, line in COMMANDS if str(block.page.relative_to(ROOT)) == page):
        for command in re.split(r"\s*&&\s*", line):
            if command.startswith(ELSEWHERE):
                continue
            done = subprocess.run(
                ["bash", "-c", command], cwd=here, env=environment, capture_output=True, text=True, timeout=300
            )
            # The tour is meant to have findings.
            finds = command.startswith("meshlens check") and "--add-noqa" not in command
            assert done.returncode in ((0, 1) if finds else (0,)), (command, done.stdout, done.stderr)
            ran.append(command)
    assert ran
