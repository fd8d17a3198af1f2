"""Real Neovim: the newest that a package provides, and the one in Debian 12."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import write
from real_editors import FIXED, RENAMED, documented, neovim, project, run, said

pytestmark = pytest.mark.editors
HERE = Path(__file__).parent / "nvim"


@pytest.mark.parametrize(("version", "encoding"), [((0, 11), "utf-8"), ((0, 7), "utf-16")], ids=["0.11", "0.7"])
def test_neovim(tmp_path: Path, version: tuple[int, int], encoding: str):
    nvim = neovim(version)
    root = project(tmp_path / "project")
    init = tmp_path / "init.lua"
    init.write_text(documented("Neovim", "lua")[0 if version >= (0, 11) else 1])
    scripts = ["-c", f"luafile {init}", "-c", "edit", "-c", f"luafile {HERE / 'lsp.lua'}"]
    done = run([nvim, "--clean", "--headless", *scripts, "train.py"], root)
    seen = said(done.stdout)
    assert seen["version"] == list(version)
    assert seen["root"] == str(root)
    assert seen["encoding"] == encoding
    assert seen["diagnostic"] == ["AX101", '"bacth"', "meshlens"]
    assert "batch" in seen["hover"]
    assert not seen["unmapped"]
    assert seen["completion"] == "batch"
    assert seen["elsewhere"] is True
    assert "axis_name=AXIS" in seen["definition"]
    assert seen["fixed"] == FIXED
    assert seen["renamed"] == RENAMED
    assert seen["names"] == 'AXIS = "rows"\n'
    assert seen["pass"] is True


ENTRY = """import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P


def loss(w, x):
    h = jnp.tanh(x @ w)
    return jnp.mean(h * h)


def entry():
    mesh = jax.make_mesh((8,), ("data",))
    w = jax.ShapeDtypeStruct((128, 256), jnp.float32, sharding=NamedSharding(mesh, P()))
    x = jax.ShapeDtypeStruct((64, 128), jnp.float32, sharding=NamedSharding(mesh, P("data")))
    return jax.jit(jax.grad(loss)), (w, x)
"""


def test_a_lens_traces_an_entry(tmp_path: Path):
    nvim = neovim((0, 11))
    root = tmp_path / "project"
    write(root, {"pyproject.toml": "", "train.py": ENTRY})
    init = tmp_path / "init.lua"
    init.write_text(documented("Neovim", "lua")[0])
    scripts = ["-c", f"luafile {init}", "-c", "edit", "-c", f"luafile {HERE / 'trace.lua'}"]
    seen = said(run([nvim, "--clean", "--headless", *scripts, "train.py"], root).stdout)
    assert "all-reduce 128.0 KiB" in seen["hint"]
    assert "f32[64,256]" in seen["hint"]
    assert "on each device" in seen["hover"]
    assert seen["error"][0] == seen["row"]
    assert "add got incompatible shapes" in seen["error"][1]
    assert seen["pass"] is True


STEPS = """import jax
import jax.numpy as jnp


def report(params, batch):
    print(params)
    return jnp.mean(batch @ params)


@jax.jit
def unclear(first, second):
    return jnp.mean(first * second)


@jax.jit
def predict(params, batch):
    return batch @ params


first = second = jnp.ones(8)
report(jnp.ones(3), jnp.ones((8, 3)))
unclear(first, second)
for _ in range(3):
    out = predict(jnp.ones(3), jnp.ones((8, 3)))
"""


@pytest.mark.parametrize("version", [(0, 11), (0, 7)], ids=["0.11", "0.7"])
def test_a_function_is_parallelized_or_the_menu_says_why_not(tmp_path: Path, version: tuple[int, int]):
    nvim = neovim(version)
    root = tmp_path / "project"
    write(root, {"pyproject.toml": "", "train.py": STEPS})
    init = tmp_path / "init.lua"
    init.write_text(documented("Neovim", "lua")[0 if version >= (0, 11) else 1])
    scripts = ["-c", f"luafile {init}", "-c", "edit", "-c", f"luafile {HERE / 'parallelize.lua'}"]
    seen = said(run([nvim, "--clean", "--headless", *scripts, "train.py"], root).stdout)
    jitted = "Cannot parallelize with jit and sharding: "
    assert any(one.startswith(jitted) and "calls print()" in one for one in seen["refused"])
    which = 'Cannot convert function to pmap: it is unknown whether "first" is shared by all devices or split over them'
    assert which in seen["asked"]
    assert "Parallelize with jit and sharding" in seen["ways"]
    assert "Convert function to pmap" in seen["ways"]
    assert "predict(jnp.ones(3), shard_batch(jnp.ones((8, 3))))" in seen["text"]
    assert seen["pass"] is True
