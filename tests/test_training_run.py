"""The training run of the tour: its programs are what the command writes, and all of them reach the same losses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import virtual_devices
from command_line import meshlens

TOUR = Path(__file__).parents[1] / "docs" / "tour"
HERE = TOUR / "11_one_training_run"
STEPS = [("single.py", "pmap.py", "pmap"), ("pmap.py", "shard_map.py", "shard_map")]
DEVICES = {"single.py": 1, "pmap.py": 8, "shard_map.py": 8}
LOSSES = "import json, runpy, sys; print(json.dumps(runpy.run_path(sys.argv[1])['losses']))"
# Over eight devices the gradients are added in another order, and 200 steps amplify the difference.
APART = 1e-5


@pytest.mark.parametrize(("before", "after", "target"), STEPS)
def test_the_command_writes_the_next_program(before: str, after: str, target: str, tmp_path: Path) -> None:
    shutil.copy(TOUR / "meshlens.toml", tmp_path)
    shutil.copy(HERE / before, tmp_path / after)
    ran = meshlens("convert", f"{after}::train_step", "--to", target, "--write", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert (tmp_path / after).read_bytes() == (HERE / after).read_bytes()


def test_the_page_shows_what_changes() -> None:
    texts = {name: (HERE / name).read_text("utf-8").split("\n") for name in DEVICES}
    fences = (HERE / "README.md").read_text("utf-8").split("```diff\n")[1:]
    for fence, (before, after, _) in zip(fences, STEPS, strict=True):
        for line in fence.split("```")[0].split("\n"):
            if line and not line.endswith("…"):
                assert (line[1:] in texts[before]) is (line[0] != "+" or line == "+"), line
                assert (line[1:] in texts[after]) is (line[0] != "-"), line


@pytest.mark.jax
def test_the_losses_are_the_same() -> None:
    alone, *others = (_losses(name) for name in DEVICES)
    assert len(alone) == 200
    assert alone[-1] < alone[0] / 100
    for losses in others:
        assert max(abs(one - other) for one, other in zip(alone, losses, strict=True)) < APART


def _losses(name: str) -> list[float]:
    environment = {**os.environ, **virtual_devices.environment(DEVICES[name])}
    command = [sys.executable, "-c", LOSSES, str(HERE / name)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    losses: list[float] = json.loads(done.stdout.splitlines()[-1])
    return losses
