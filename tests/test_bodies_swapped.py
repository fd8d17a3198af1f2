"""The body of a function decides whether others are entered: after every swap, findings are those of a cold start."""

from __future__ import annotations

from pathlib import Path
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cold_start import ROOT, found, opened
from depth import examples

FILES = ("one", "two", "three")
NAMES = ("alpha", "beta", "gamma", "delta")
# Small functions are entered whatever they contain.
LARGE = "a, b, c, d, e, f, g, h = len(x), min(x), max(x), sum(x), abs(x), round(x), bool(x), tuple(x)"
LAST = (
    "return x",
    "return {other}(x)",
    "return [{other}(x), {other}(x + 1)]",
    "return apply({other}, x)",
    "return apply(Thing(), x)",
    "return Thing().run(x)",
    "return jax.jit({other})(x)",
    "return jax.pmap({other}, axis_name='j')(x)",
    "return lax.psum(x, 'i')",
    "return x.at[",
)
STARTS = (
    "for k in range(3):\n    {other}(k)\n",
    "y = {other}(1)\n",
    "if __name__ == '__main__':\n    {other}(2)\n",
    "def test_{other}():\n    {other}(1)\n",
    "step = jax.pmap({other}, axis_name='i')\n",
    "Thing().run(3)\n",
)

Files = dict[str, list[str]]


def _body(dice: Random, indent: str) -> str:
    lines = [LARGE] if dice.random() < 0.9 else []
    lines += [dice.choice(LAST).format(other=dice.choice(NAMES))] if dice.random() < 0.9 else []
    return "".join(f"{indent}{line}\n" for line in lines)


def _project(dice: Random) -> Files:
    """Returns files by name: heads of functions at even places, bodies at odd ones; files import only earlier ones."""
    homes = {name: dice.choice(FILES) for name in (*NAMES, "apply", "Thing")}
    files: Files = {}
    for at, file in enumerate(FILES):
        imports = [f"from {home} import {name}\n" for name, home in homes.items() if home in FILES[:at]]
        parts = files[file] = ["".join(["import jax\nfrom jax import lax\n", *imports]), ""]
        for name in [name for name in NAMES if homes[name] == file]:
            mapped = dice.choice(("", "", "@jax.jit\n", "@jax.pmap\n"))
            parts += [f"\n\n{mapped}def {name}(x):\n", _body(dice, " " * 4)]
        if homes["Thing"] == file:
            parts += ["\n\nclass Thing:\n    def run(self, x):\n", _body(dice, " " * 8)]
            parts += ["\n    def __call__(self, x):\n", _body(dice, " " * 8)]
        starts = dice.choices(STARTS, k=dice.randint(0, 2))
        calls = "".join("\n\n" + start.format(other=dice.choice(NAMES)) for start in starts)
        apply = f"\n\ndef apply(fn, x):\n    {LARGE}\n    return fn(x)\n" if homes["apply"] == file else ""
        parts += [apply + calls, ""]
    return files


def _sources(files: Files) -> dict[Path, bytes]:
    return {ROOT / f"{name}.py": "".join(parts).encode() for name, parts in files.items()}


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 1 << 32))
def test_a_body_is_followed_from_all_that_reach_it(seed):
    dice = Random(seed)
    files = _project(dice)
    sources = _sources(files)
    paths = tuple(sources)
    workspace = opened(sources)
    found(workspace, paths)
    for _ in range(8):
        name = dice.choice(FILES)
        bodies = [at for at in range(3, len(files[name]), 2) if files[name][at - 1].endswith("x):\n")]
        if not bodies:
            continue
        at = dice.choice(bodies)
        files[name][at] = _body(dice, " " * (8 if "(self" in files[name][at - 1] else 4))
        sources = _sources(files)
        workspace = workspace.with_file(ROOT / f"{name}.py", sources[ROOT / f"{name}.py"])
        cold = opened(sources)
        assert found(workspace, paths) == found(cold, paths)
        assert workspace.solution.results.keys() == cold.solution.results.keys()


HELPER = """import jax
from jax import lax


def average(tree):
{body}
"""
SCRIPT = f"""import jax
from sync import average


def train_step(x):
    {LARGE}
    return average(x)


for epoch in range(3):
    train_step(epoch)
"""


def test_a_collective_typed_into_a_helper_is_found_from_the_script_that_calls_it():
    sync, script = ROOT / "sync.py", ROOT / "train.py"
    for body in ("", "    return tree", "    return tree +"):
        sources = {sync: HELPER.format(body=body).encode(), script: SCRIPT.encode()}
        workspace = opened(sources)
        assert not [one for one in found(workspace, (sync, script)) if one.code == "AX101"]
        workspace = workspace.with_file(sync, HELPER.format(body="    return lax.pmean(tree, 'batch')").encode())
        assert [one.code for one in found(workspace, (sync, script))] == ["AX101"]
