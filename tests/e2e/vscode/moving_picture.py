"""Makes docs/images/meshlens.gif: the packaged extension in a real VS Code, from a typo to a traced step.

`nox -s moving_picture` runs it; the scenario `moving-picture` determines how long each frame is shown.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tests"))

from packaged import vsix
from workbench import extensions, play, serving

PROGRAM = """\
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def loss_fn(params, batch):
    hidden = jax.nn.relu(batch["x"] @ params["w"])
    return jnp.mean((hidden @ params["v"] - batch["y"]) ** 2)


@partial(jax.pmap, axis_name="batch", in_axes=(None, 0))
def evaluate(params, batch):
    return lax.pmean(loss_fn(params, batch), axis_name=)


@jax.jit
def train_step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, loss


def main():
    random = np.random.default_rng(0)
    params = {"w": random.normal(size=(32, 64)) / 8, "v": random.normal(size=(64, 8)) / 8}
    for step in range(100):
        batch = {"x": random.normal(size=(512, 32)), "y": random.normal(size=(512, 8))}
        params, loss = train_step(params, batch)
    print(loss)


def entry():
    mesh = jax.sharding.Mesh(jax.devices(), ("data",))
    rows = jax.sharding.NamedSharding(mesh, jax.P("data"))
    params = {"w": jax.ShapeDtypeStruct((32, 64), "float32"), "v": jax.ShapeDtypeStruct((64, 8), "float32")}
    x = jax.ShapeDtypeStruct((512, 32), "float32", sharding=rows)
    y = jax.ShapeDtypeStruct((512, 8), "float32", sharding=rows)
    return train_step, (params, {"x": x, "y": y})


if __name__ == "__main__":
    main()
"""


def make(target: Path, room: Path) -> None:
    """Writes the picture.

    Args:
        target: the file to write.
        room: an empty folder.
    """
    (workspace := room / "demo").mkdir()
    (workspace / "train.py").write_text(PROGRAM)
    (workspace / "meshlens.toml").write_text("devices = 8\n")
    installed, shots = extensions(room / "extensions", vsix()), room / "shots"
    machine = {"meshlens.interpreter": sys.executable}
    with serving(room / "profile", installed, {}, machine, ["--disable-workspace-trust"]) as address:
        shown = play("moving-picture", address, workspace, shots, room / "profile")["frames"]
    first, *others = (Image.open(shots / f"{one['name']}.png").convert("RGB").quantize(128) for one in shown)
    durations = [round(1000 * one["seconds"]) for one in shown]
    first.save(target, save_all=True, append_images=others, duration=durations, loop=0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        make(Path(sys.argv[1]) if sys.argv[1:] else ROOT / "docs" / "images" / "meshlens.gif", Path(folder))
