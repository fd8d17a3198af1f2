"""A conversion that would be wrong is refused with a reason, and a converted program has numerically identical results.

Every program is a jitted training step of the same kind; the tests vary its loss, how names are bound, and
where its file imports what it uses.
"""

from __future__ import annotations

import ast
import re

import pytest

import depth
import numbers_of_programs
from command_line import meshlens, write
from steps_converted import converted_step, refusal, runs_alike

HEAD = "import jax\nimport jax.numpy as jnp\n"
LOSS = """

def loss_fn(params, batch):
    return jnp.mean((batch @ params - 1) ** 2)

"""
STEP = """
@jax.jit
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    return params - 0.1 * grads, loss

"""
CALLS = """
params = jnp.ones(3)
batch = jnp.sin(jnp.arange(48.0)).reshape(16, 3)
for _ in range(3):
    params, loss = step(params, batch)
"""
TIME_MAJOR = CALLS.replace("48.0)).reshape(16, 3)", "384.0)).reshape(16, 8, 3)")
LARGEST_OF_ROWS = """

def of_rows(function):
    return lambda *args: jax.tree.map(lambda x: jnp.max(x, 0), jax.vmap(function, (None, 0))(*args))


@jax.jit
def step(params, batch):
    grad_fn = jax.value_and_grad(loss_fn)
    REBOUND
    loss, grads = grad_fn(params, batch[:, None])
    return params - 0.1 * grads, loss

"""
COUPLES = {
    "cumulative sum": "jnp.mean(jnp.cumsum(err, axis=0) ** 2)",
    "cumulative sum of lax": "jnp.mean(jax.lax.cumsum(err) ** 2)",
    "cumulative maximum": "jnp.mean(jax.lax.cummax(err, axis=0))",
    "associative scan": "jnp.mean(jax.lax.associative_scan(jnp.add, err) ** 2)",
    "sort": "jnp.mean(jnp.sort(err) * jnp.arange(16.0))",
    "argsort": "jnp.mean(err[jnp.argsort(err)][::-1] * err)",
    "transform": "jnp.mean(jnp.abs(jnp.fft.fft(err)) ** 2)",
    "numbers of the rows": "jnp.mean(err**2 / (1 + jnp.arange(err.shape[0])))",
    "rows beside those of their numbers": "jnp.mean(err[:, None][jnp.arange(err.shape[0]) - 1, 0] * err)",
    "roll": "jnp.mean((err - jnp.roll(err, 1)) ** 2)",
    "difference": "jnp.mean(jnp.diff(err) ** 2)",
    "gradient of an array": "jnp.mean(jnp.gradient(err) ** 2)",
    "convolution": 'jnp.mean(jnp.convolve(err, jnp.ones(3), mode="same") ** 2)',
    "softmax over the rows": "jnp.mean(err * jax.nn.softmax(err, axis=0))",
    "standardized": "jnp.mean(jax.nn.standardize(err) ** 3)",
    "quantile": "jnp.quantile(err ** 2, 0.9)",
    "percentile": "jnp.mean(jnp.percentile(err ** 2, 90))",
    "median": "jnp.median(err ** 2)",
    "unique": "jnp.mean(jnp.unique(err, size=4))",
    "top": "jnp.mean(jax.lax.top_k(err, 2)[0])",
    "sums of segments": "jnp.mean(jax.ops.segment_sum(err, jnp.arange(16) // 4, 4) ** 2)",
    "pairs": "jnp.mean(jnp.abs(err[:, None] - err[None, :]))",
    "one row": "jnp.mean((err - err[0]) ** 2)",
    "one row set": "jnp.mean(err.at[0].set(0.0) ** 2)",
    "rows in another order": "jnp.mean(err * err[ORDER])",
    "other axis after a turn": "jnp.mean(jnp.cumsum(jnp.swapaxes(batch * params, 0, 1), axis=1) ** 2)",
    "mapped over another axis": "jnp.mean(jax.vmap(jnp.cumsum, in_axes=1)(batch * params) ** 2)",
    "branch that a row picks": "jnp.mean(jax.lax.cond(err[0] > 0, lambda e: e, lambda e: -2 * e, err))",
    "mean of some": "jnp.nanmean(jnp.where(err > 0, err ** 2, jnp.nan))",
    "an own function called mean": "Largest.mean(err ** 2)",
    "a function by another name": "jnp.mean(accumulate(err) ** 2)",
    "a function that is made": "jnp.mean(along_rows(err) ** 2)",
    "einsum over the rows and another axis": 'jnp.mean(jnp.einsum("bi,ib->i", batch * params, batch.T) ** 2)',
    "one scan over the rows": "jnp.mean(jax.lax.scan(lambda h, e: (h + e, h), 0.0, err)[1] ** 2)",
    "a loop over the rows": "jax.lax.fori_loop(0, 16, lambda i, h: h + err[i] ** 2 * i, 0.0)",
}
HELPERS = """
import functools

ORDER = jnp.arange(16)[::-1]
accumulate = jnp.cumsum
along_rows = functools.partial(jnp.cumsum, axis=0)


@functools.partial(jnp.vectorize, signature="(c),()->()")
def of_entries(features, err):
    return jnp.max(features) * err


class Largest:
    @staticmethod
    def mean(x):
        return jnp.max(x)


def loss_fn(params, batch):
    err = batch @ params - 1
    return VALUE

"""
STAYS = {
    "elementwise": "jnp.mean(jnp.tanh(err) ** 2)",
    "softmax of features": "jnp.mean(jax.nn.softmax(batch * params) ** 2)",
    "along features": "jnp.mean(jnp.cumsum(batch * params, axis=1) ** 2)",
    "mapped rows": "jnp.mean(jax.vmap(lambda row: jnp.cumsum(row * params).sum())(batch) ** 2)",
    "mapped by lax": "jnp.mean(jax.lax.map(lambda e: e ** 2, err))",
    "einsum": 'jnp.mean(jnp.einsum("bi,i->b", batch, params) ** 2)',
    "doubled": "jnp.mean(jnp.concatenate([err, 2 * err]) ** 2)",
    "layers": "jnp.mean(jax.lax.scan(lambda h, w: (jnp.tanh(h * w), None), err, params)[0] ** 2)",
    "several times": "jnp.mean(jax.lax.fori_loop(0, 3, lambda i, h: jnp.sin(h), err) ** 2)",
    "zeros of rows": "jnp.mean((err + jnp.zeros(batch.shape[0])) ** 2)",
    "vectorized": "jnp.mean(of_entries(batch * params, err))",
    "flat": "jnp.mean(batch.reshape(batch.shape[0], -1) @ params)",
}
REBOUND = {
    "if": "if True:\n        grad_fn = of_rows(grad_fn)",
    "else": "if False:\n        pass\n    else:\n        grad_fn = of_rows(grad_fn)",
    "try": "try:\n        grad_fn = of_rows(grad_fn)\n    except TypeError:\n        pass",
    "except": "try:\n        raise TypeError\n    except TypeError:\n        grad_fn = of_rows(grad_fn)",
    "for": "for wrap in (of_rows,):\n        grad_fn = wrap(grad_fn)",
    "for target": "for grad_fn in (of_rows(grad_fn),):\n        pass",
    "while": "while grad_fn is not None:\n        grad_fn = of_rows(grad_fn)\n        break",
    "with": "with contextlib.nullcontext(of_rows(grad_fn)) as grad_fn:\n        pass",
    "match": "match 1:\n        case 1:\n            grad_fn = of_rows(grad_fn)",
    "walrus": "print(grad_fn := of_rows(grad_fn))",
    "tuple": "grad_fn, _ = of_rows(grad_fn), None",
    "def": "made = of_rows(grad_fn)\n\n    def grad_fn(*args):\n        return made(*args)",
    "import": "import contextlib as grad_fn\n    grad_fn = of_rows(jax.value_and_grad(loss_fn))",
}
AT_TOP = {
    "loss bound again": "loss_fn = (lambda f: lambda p, b: jnp.sqrt(f(p, b)))(loss_fn)\n",
    "loss bound in a branch": "if True:\n    loss_fn = lambda p, b: jnp.max((b @ p - 1) ** 2)\n",
}
SCANS = {
    "rows": "jax.lax.scan(tick, jnp.zeros(batch.shape[1]), batch)",
    "rows by keyword": "jax.lax.scan(tick, init=jnp.zeros(batch.shape[1]), xs=batch)",
    "imported inside": "scan(tick, jnp.zeros(batch.shape[1]), batch)",
}


def _time_major(unrolled: str) -> str:
    body = f"""

def loss_fn(params, batch):
    from jax.lax import scan

    def tick(h, x):
        h = jnp.tanh(x @ params + 0.5 * h)
        return h, h

    _, hs = {unrolled}
    return jnp.mean(hs**2)

"""
    return HEAD + body + STEP + TIME_MAJOR


NOT_GATHERED = [
    "other axis after a turn",
    "mapped over another axis",
    "branch that a row picks",
    "einsum over the rows and another axis",
    "one scan over the rows",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", NOT_GATHERED)
def test_rows_that_meet_stop_a_conversion(tmp_path, name):
    text = HEAD + HELPERS.replace("VALUE", COUPLES[name]) + STEP + CALLS
    assert refusal(tmp_path, text) == "no-mean"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
@pytest.mark.parametrize("name", depth.some([name for name in COUPLES if name not in NOT_GATHERED], 5))
def test_rows_that_meet_are_gathered(tmp_path, target, name):
    text = HEAD + HELPERS.replace("VALUE", COUPLES[name]) + STEP + CALLS
    after = converted_step(tmp_path, text, target)
    assert ("axis_index" if name == "numbers of the rows" else "all_gather") in after
    runs_alike(tmp_path, text, after)


@pytest.mark.parametrize("name", SCANS)
def test_a_scan_over_the_rows_stops_a_conversion(tmp_path, name):
    assert refusal(tmp_path, _time_major(SCANS[name])) == "no-mean"


@pytest.mark.parametrize("name", REBOUND)
def test_a_name_that_is_bound_again_stops_a_conversion(tmp_path, name):
    text = HEAD + "import contextlib\n" + LOSS + LARGEST_OF_ROWS.replace("REBOUND", REBOUND[name]) + CALLS
    assert refusal(tmp_path, text) == "unreduced-output"


@pytest.mark.parametrize("name", AT_TOP)
def test_a_loss_that_the_file_binds_again_stops_a_conversion(tmp_path, name):
    assert refusal(tmp_path, HEAD + LOSS + "\n" + AT_TOP[name] + "\n" + STEP + CALLS) == "no-mean"


def test_gradients_of_each_row_are_not_averaged_before_they_are_clipped(tmp_path):
    step = """
@jax.jit
def step(params, batch):
    grad_fn = jax.grad(loss_fn)
    if CLIPPED:
        grad_fn = jax.vmap(grad_fn, in_axes=(None, 0))
    grads = grad_fn(params, batch[:, None])
    grads = grads / jnp.maximum(1.0, jnp.linalg.norm(grads, axis=-1, keepdims=True))
    return params - 0.1 * grads.mean(0), grads.max()

"""
    assert refusal(tmp_path, HEAD + "\nCLIPPED = True\n" + LOSS + step + CALLS) == "unreduced-output"


def test_a_batch_that_is_never_read_stops_a_conversion(tmp_path):
    step = "\n\n@jax.jit\ndef step(params, batch):\n    return params * 0.9, jnp.sum(params)\n\n"
    assert refusal(tmp_path, HEAD + step + CALLS) == "unread-batch"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
@pytest.mark.parametrize("name", depth.some([*STAYS], 5))
def test_what_works_row_by_row_is_converted_and_gives_the_same_numbers(tmp_path, name, target):
    text = HEAD + HELPERS.replace("VALUE", STAYS[name]) + STEP + CALLS
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
def test_a_scan_over_time_beside_the_rows_gives_the_same_numbers(tmp_path, target):
    text = _time_major("jax.lax.scan(tick, jnp.zeros(batch.shape[0]), jnp.swapaxes(batch, 0, 1))")
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


IMPORTS = {
    "late": HEAD + LOSS + STEP + CALLS + "\nimport os\nimport math\n",
    "late and needed": HEAD + LOSS + STEP + CALLS + "\nimport functools\nimport numpy as np\n",
    "late from": HEAD + LOSS + STEP + CALLS + "\nfrom functools import partial\nfrom jax.sharding import Mesh\n",
    "future": f"\"\"\"A program.\"\"\"\n\nfrom __future__ import annotations\n\n{HEAD}{LOSS}{STEP}{CALLS}\nimport os\n",
    "for types alone": "from typing import TYPE_CHECKING\n\n" + HEAD
    + "\nif TYPE_CHECKING:\n    import functools\n    import numpy as np\n" + LOSS + STEP + CALLS,
    "path": 'import sys\nsys.path.insert(0, ".")\n' + HEAD + LOSS + STEP + CALLS,
    "comments": "import os  # the system\nimport jax  # the library\nimport jax.numpy as jnp  # numbers\n" + LOSS + STEP
    + CALLS,
    "comment above": HEAD + "# These come last.\nimport os  # tools\n" + LOSS + STEP + CALLS,
    "head": "#!/usr/bin/env python\n# A program.\n\n" + HEAD + LOSS + STEP + CALLS,
    "one line": "import jax; import jax.numpy as jnp\n" + LOSS + STEP + CALLS,
    "try": "try:\n    import functools\nexcept ImportError:\n    functools = None\n" + HEAD + LOSS + STEP + CALLS,
    "inside": HEAD + LOSS + "\ndef late():\n    import functools\n\n    return functools\n\n" + STEP + CALLS,
}  # fmt: skip


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
@pytest.mark.parametrize("name", IMPORTS)
def test_imports_stand_above_their_first_use(tmp_path, name, target):
    text = IMPORTS[name]
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.jax
@pytest.mark.parametrize("late", ["import functools\n", "from functools import partial\n"])
def test_what_decorates_a_helper_is_imported_above_it(tmp_path, late):
    text = HEAD + LOSS + late + STEP + CALLS
    runs_alike(tmp_path, text, converted_step(tmp_path, text, "jit"))


def _imports(text: str) -> list[int]:
    return [node.end_lineno or 0 for node in ast.parse(text).body if isinstance(node, (ast.Import, ast.ImportFrom))]


@pytest.mark.parametrize("name", ["path", "comments", "one line"])
def test_a_helper_stands_below_the_imports(tmp_path, name):
    converted = converted_step(tmp_path, IMPORTS[name], "pmap")
    helper = next(node for node in ast.parse(converted).body if isinstance(node, ast.FunctionDef))
    assert helper.name == "shard"
    assert helper.lineno > max(_imports(converted))


@pytest.mark.parametrize("target", ["pmap", "shard_map"])
def test_comments_stay_where_they_are(tmp_path, target):
    for name in ("comments", "comment above", "head"):
        before = IMPORTS[name].split("\n")
        after = converted_step(tmp_path / name.replace(" ", "_"), IMPORTS[name], target).split("\n")
        commented = [line for line in before if "#" in line]
        assert [line for line in after if "#" in line] == commented
    above = converted_step(tmp_path / "again", IMPORTS["comment above"], target)
    assert "# These come last.\nimport os  # tools\n" in above


WEIGHTED = """

def loss_fn(params, x, w):
    return jnp.mean(w * (x @ params - 1) ** 2)


@jax.jit
def step(params, x, w):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, w)
    return params - 0.1 * grads, loss


params = jnp.ones(3)
xs = jnp.sin(jnp.arange(72.0)).reshape(24, 3)
ws = jnp.arange(24.0) / 24
"""
IN_SLICES = (
    "for start in range(0, 24, 8):\n    params, loss = step(params, xs[start : start + 8], ws[start : start + 8])\n"
)
IN_TURN = "for x, w in zip(jnp.split(xs, 3), jnp.split(ws, 3)):\n    params, loss = step(params, x, w)\n"
OF_ONE_SIZE = """
n = 24
inputs = jnp.ones((n, 3))
each = jnp.arange(n) / n
params, loss = step(params, inputs, each)
"""
SHARED_WEIGHTS = ("0.5", "float(jnp.sum(xs))", "jnp.mean(xs, axis=0)", "xs.std(0)", "jnp.asarray(0.5)")


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
def test_weights_of_rows_are_split_as_the_rows_are(tmp_path, target):
    text = HEAD + WEIGHTED + IN_SLICES
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
def test_a_map_gets_by_position_what_was_given_by_keyword(tmp_path, target):
    text = HEAD + WEIGHTED + IN_SLICES.replace("xs[", "x=xs[").replace("ws[", "w=ws[")
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
@pytest.mark.parametrize("calls", [IN_TURN, OF_ONE_SIZE])
def test_what_comes_together_with_rows_is_split_whatever_its_name(tmp_path, target, calls):
    text = HEAD + WEIGHTED + calls
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.parametrize("name", ["w", "weights", "discount", "t", "scale"])
def test_a_name_alone_does_not_tell_what_is_shared(tmp_path, name):
    text = HEAD + re.sub(r"\bw\b", name, WEIGHTED) + "params, loss = step(params, xs, some())\n"
    assert refusal(tmp_path, text) == "which-batch"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
@pytest.mark.parametrize("name", ["w", "scale", "keep"])
def test_as_many_entries_as_there_are_rows_tell_what_is_split(tmp_path, name, target):
    text = HEAD + re.sub(r"\bw\b", name, WEIGHTED) + "params, loss = step(params, xs, ws)\n"
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.parametrize("given", SHARED_WEIGHTS)
def test_what_has_no_rows_is_shared_whatever_its_name(tmp_path, given):
    text = HEAD + WEIGHTED + f"once = {given}\nparams, loss = step(params, xs, once)\n"
    assert "in_axes=(None, 0, None)" in converted_step(tmp_path, text, "pmap")


DEFAULTS = """

@jax.jit
def step(params, batch, decay=0.0, rate=0.1):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    return params - rate * (grads + decay * params), loss


handed = [step]
params = jnp.ones(3)
batch = jnp.sin(jnp.arange(48.0)).reshape(16, 3)
params, loss = step(params, batch)
params, loss = handed[0](params, batch, 0.5)
params, loss = handed[0](params, batch, 0.5, 0.2)
params, loss = handed[0](params, batch=batch, rate=0.01)
"""


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
def test_calls_that_are_not_seen_may_give_every_argument(tmp_path, target):
    text = HEAD + LOSS + DEFAULTS
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
def test_a_comprehension_makes_a_dictionary_of_what_is_reduced(tmp_path, target):
    loss = LOSS.replace("@ params", '@ params["w"]')
    step = STEP.replace("params - 0.1 * grads", "{name: params[name] - 0.1 * grads[name] for name in params}")
    text = HEAD + loss + step + CALLS.replace("jnp.ones(3)", '{"w": jnp.ones(3)}')
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


def test_a_name_for_nothing_is_not_reduced(tmp_path):
    step = """
def evaluate(params, batch):
    err = batch @ params - 1
    return jnp.mean(err**2), jnp.mean(jnp.abs(err))


@jax.jit
def step(params, batch):
    _, error = evaluate(params, batch)
    return params - 0.1 * jax.grad(loss_fn)(params, batch), error

"""
    converted = converted_step(tmp_path, HEAD + LOSS + step + CALLS, "pmap")
    assert "    error = jax.lax.pmean(error, " in converted


KEYS = """\
import jax
import jax.numpy as jnp
from flax.training import common_utils


def step(w, key):
    return w + jax.random.normal(key, w.shape)


p_step = jax.pmap(step)


def main():
    keys = common_utils.shard_prng_key(jax.random.PRNGKey(0))
    return p_step(jnp.zeros((jax.local_device_count(), 3)), keys)


found = main()
"""


def test_the_rows_of_a_key_are_not_those_of_a_helper_that_splits_it(tmp_path):
    write(tmp_path, {"main.py": KEYS})
    ran = meshlens("convert", "main.py", "--all", "--to", "shard_map", "--write", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert "Mesh(np.array(jax.devices()), " in (tmp_path / "main.py").read_text()


MEETING_ROWS = {
    "sort": "jnp.sort(x, axis=0)",
    "sort_default": "jnp.sort(x.sum(1))",
    "cumsum": "jnp.cumsum(x, 0)",
    "cumsum_m": "x.cumsum(0)",
    "softmax0": "jax.nn.softmax(x, axis=0)",
    "norm_all": "x / jnp.linalg.norm(x)",
    "gather": "x[ORDER]",
    "gather2": "jnp.take(x, ORDER, axis=0)",
    "reshape": "x.reshape(8, -1)",
    "reshape3": "x.reshape(2, -1, 3)",
    "T": "x.T",
    "transpose": "jnp.transpose(x)",
    "first": "x[0]",
    "first2": "x - x[0]",
    "last": "x[-1]",
    "slice": "x[1:]",
    "stride": "x[::2]",
    "flip": "x[::-1]",
    "roll": "jnp.roll(x, 1, axis=0)",
    "arange": "x + jnp.arange(x.shape[0])[:, None]",
    "linspace": "x + jnp.linspace(0, 1, x.shape[0])[:, None]",
    "eye": "jnp.eye(x.shape[0]) @ x",
    "gram": "x @ x.T",
    "pairs": "x[:, None] - x[None]",
    "dist": "jnp.sum((x[:, None] - x[None]) ** 2, -1)",
    "closure": "x - DATA",
    "closure_first": "x - DATA[0]",
    "concat": "jnp.concatenate([x, 2 * x])",
    "stack": "jnp.stack([x, x])",
    "vstack": "jnp.vstack([x, x])",
    "argmax": "jnp.argmax(x, axis=0)",
    "diff": "jnp.diff(x, axis=0)",
    "tile": "jnp.tile(x, (2, 1))",
    "at": "x.at[0].set(0.0)",
    "at2": "x.at[:3].add(1.0)",
    "where_index": "jnp.where(jnp.arange(16)[:, None] > 3, x, 0.0)",
    "scan": "jax.lax.scan(lambda c, r: (c + r, c), jnp.zeros(3), x)[1]",
    "assoc": "jax.lax.associative_scan(jnp.add, x)",
    "unique": "jnp.unique(x, size=16, axis=0)",
    "einsum": "jnp.einsum('bi,ci->bc', x, x)",
    "einsum2": "jnp.einsum('bi->ib', x)",
    "segment": "jax.ops.segment_sum(x, jnp.arange(16) // 2, 8)",
    "topk": "jax.lax.top_k(x.T, 3)[0]",
    "noise": "x + jax.random.normal(jax.random.key(0), x.shape)",
    "noise_const": "x + jax.random.normal(jax.random.key(0), (16, 3))",
    "perm": "jax.random.permutation(jax.random.key(0), x)",
    "ones_const": "x * jnp.arange(48.0).reshape(16, 3)",
    "ravel": "jnp.ravel(x, order='F')",
    "squeeze": "jnp.squeeze(x[:, :1])",
    "swap": "jnp.swapaxes(x, 0, 1)",
    "moveaxis": "jnp.moveaxis(x, 0, -1)",
    "hist": "jnp.histogram(x)[0]",
    "flatnonzero": "jnp.nonzero(x, size=4)[0]",
    "all": "jnp.where((x > 0).all(), x, -x)",
    "fft": "jnp.fft.fft(x, axis=0).real",
    "vmapin1": "jax.vmap(lambda c: c - c.mean(), in_axes=1, out_axes=1)(x)",
    "vmapout": "jax.vmap(lambda r: r, out_axes=1)(x)",
    "lists": "[row * 2 for row in x]",
    "fori": "jax.lax.fori_loop(0, x.shape[0], lambda i, c: c.at[i].set(c[i - 1]), x)",
    "grad": "jax.grad(lambda v: jnp.mean(v ** 2))(x)",
    "gradsum": "jax.grad(lambda v: jnp.sum(v) ** 2)(x)",
    "split": "jnp.split(x, 2)[0]",
    "dot": "jnp.dot(x, x.T)",
    "outer": "jnp.outer(x[:, 0], x[:, 0])",
    "pad": "jnp.pad(x, ((1, 0), (0, 0)))",
    "corr": "jnp.corrcoef(x)",
    "loop": "sum(row for row in x)",
    "expand": "x[None]",
    "expand2": "jnp.expand_dims(x, 0)",
    "flatten_all": "x.reshape(-1)[:5]",
}
ROWS = """import jax
import jax.numpy as jnp

DATA = jnp.cos(jnp.arange(48.0)).reshape(16, 3)
ORDER = jnp.arange(16)[::-1]


@jax.jit
def step(x):
    return VALUE


rows = jnp.sin(jnp.arange(48.0)).reshape(16, 3)
out = step(rows)
"""


@pytest.mark.parametrize("name", MEETING_ROWS)
def test_results_in_which_rows_meet_stop_a_conversion(tmp_path, name):
    reason = refusal(tmp_path, ROWS.replace("VALUE", MEETING_ROWS[name]))
    known = ("unreduced-output", "random-numbers", "gradient-of-rows", "no-mean", "summed-loss", "nothing-to-split")
    assert reason in known


NUMBERS_OF_ROWS = {
    "len": "x / len(x)",
    "shape": "x * x.shape[0]",
    "size": "x / x.size",
    "half": "jnp.sum(x) / (x.shape[0] // 2)",
    "returned": "(x, len(x))",
}


OF_ALL_ROWS = {
    "center2": "(x - jnp.mean(x, axis=0)) / jnp.std(x, axis=0)",
    "max": "x / x.max()",
    "bn": "(x - x.mean(axis=0, keepdims=True)) / jnp.sqrt(x.var(axis=0, keepdims=True) + 1e-5)",
}


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
@pytest.mark.parametrize("name", OF_ALL_ROWS)
def test_statistics_of_rows_are_those_of_all_devices(tmp_path, name, target):
    text = ROWS.replace("VALUE", OF_ALL_ROWS[name])
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
@pytest.mark.parametrize("name", NUMBERS_OF_ROWS)
def test_numbers_of_rows_are_those_of_all_devices(tmp_path, name, target):
    text = ROWS.replace("VALUE", NUMBERS_OF_ROWS[name])
    if name == "returned":
        text = text.replace("out = step", "out, count = step")
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


def test_state_that_comes_back_as_rows_stops_a_conversion(tmp_path):
    text = ROWS.replace("def step(x)", "def step(state, x)").replace("VALUE", "state * 0.5 + x")
    text = text.replace("out = step(rows)", "state = rows\nfor _ in range(3):\n    state = step(state, rows)")
    assert refusal(tmp_path, text) == "rows-for-all"


@pytest.mark.parametrize(
    "value", ["jax.nn.softmax(x)", "jax.nn.softmax(x * 2)", "x - x.max(-1)", "jnp.cumsum(x, axis=-1)"]
)
def test_the_last_axis_may_be_that_of_the_batch(tmp_path, value):
    assert refusal(tmp_path, ROWS.replace(".reshape(16, 3)", "").replace("VALUE", value)) == "last-axis"


def test_a_weight_for_each_row_is_split_with_the_rows(tmp_path):
    step = """

@jax.jit
def step(params, batch, sample_weights):
    def loss_fn(params):
        return jnp.sum((batch @ params - 1) ** 2 * sample_weights)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return params - 0.01 * grads, loss

"""
    text = HEAD + step + CALLS.replace("step(params, batch)", "step(params, batch, jnp.arange(16.0))")
    for target in ("pmap", "shard_map"):
        write(tmp_path, {"main.py": text})
        ran = meshlens("convert", "main.py::step", "--to", target, "--write", cwd=tmp_path)
        assert ran.code == 0, ran.err
        assert "jax.lax.psum((loss, grads)" in (tmp_path / "main.py").read_text()


FLAT = HEAD + """

def loss_fn(params, batch):
    return jnp.mean(VALUE)

""" + STEP + CALLS.replace(".reshape(16, 3)", "").replace("jnp.ones(3)", "jnp.ones(())")  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        "jax.nn.softmax(batch * params) ** 2",
        "jax.nn.log_softmax(batch * params) ** 2",
        "jnp.cumsum(batch * params, axis=-1) ** 2",
        "jax.nn.softmax(batch @ params) ** 2",
        "jax.nn.softmax(jnp.tanh(batch @ params)) ** 2",
    ],
)
def test_a_mean_over_what_works_along_the_last_axis_may_be_over_that_of_the_batch(tmp_path, value):
    assert refusal(tmp_path, FLAT.replace("VALUE", value)) == "last-axis"


NETWORK = """
import jax
import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(WIDTH)(x)


net = Net()


@jax.jit
def step(params, x, y):
    out = net.apply(params, x)
    return jnp.mean(VALUE)


x, y = jnp.arange(64.0).reshape(16, 4) / 64, jnp.arange(16.0)
params = net.init(jax.random.PRNGKey(0), x)
for _ in range(2):
    print("loss", step(params, x, y))
"""


@pytest.mark.parametrize("value", ["jax.nn.softmax((out - y) ** 2)", "jnp.max(out * y, axis=-1)"])
def test_a_network_that_gives_a_number_for_each_row_shows_no_other_axis(tmp_path, value):
    text = NETWORK.replace("nn.Dense(WIDTH)(x)", "nn.Dense(1)(x)[..., 0]").replace("VALUE", value)
    assert refusal(tmp_path, text) == "last-axis"


def test_what_a_network_gives_shows_nothing_about_other_arrays(tmp_path):
    text = NETWORK.replace("WIDTH", "3").replace("VALUE", "out.mean(1) * jax.nn.softmax(y)")
    assert refusal(tmp_path, text) == "last-axis"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
def test_a_network_that_gives_features_for_each_row_shows_another_axis(tmp_path, target):
    text = NETWORK.replace("WIDTH", "3").replace("VALUE", "jax.nn.softmax(2 * out) ** 2")
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


def test_a_name_that_is_bound_again_may_have_lost_its_last_axis(tmp_path):
    loss = LOSS.replace(
        "    return jnp.mean((batch @ params - 1) ** 2)", "    batch = batch @ params\n    return VALUE"
    )
    text = HEAD + loss.replace("VALUE", "jnp.mean(jax.nn.softmax(batch) ** 2)") + STEP + CALLS
    assert refusal(tmp_path, text) == "last-axis"


@pytest.mark.parametrize("shape", ["-1, 48", "-1, 6", "(-1, 2, 3)"])
def test_rows_that_another_shape_joins_stop_a_conversion(tmp_path, shape):
    assert refusal(tmp_path, FLAT.replace("VALUE", f"batch.reshape({shape}) ** 2 * params")) == "no-mean"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
@pytest.mark.parametrize("shape", ["-1", "-1, 1", "-1, batch.shape[-1]"])
def test_rows_keep_what_they_hold_in_shapes_of_their_own_sizes(tmp_path, target, shape):
    loss = LOSS.replace("(batch @ params - 1)", f"(batch.reshape({shape}) - params[0])")
    text = HEAD + loss + STEP + CALLS
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


RAGGED = """
params, losses = jnp.ones(3), []
rows = jnp.sin(jnp.arange(66.0)).reshape(22, 3)
for start in range(0, 22, 8):
    batch = rows[start : start + 8]
    params, loss = step(params, batch)
    losses.append(loss)
"""


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
def test_sums_count_the_rows_of_a_ragged_batch_once(tmp_path, target):
    step = STEP.replace("0.1", "0.01")
    text = HEAD + LOSS.replace("jnp.mean", "jnp.sum") + step + RAGGED
    write(tmp_path, {"main.py": text})
    ran = meshlens("convert", "main.py::step", "--to", target, "--write", cwd=tmp_path)
    assert ran.code == 0, ran.err
    converted = (tmp_path / "main.py").read_text()
    assert "jax.lax.psum((loss, grads)" in converted
    runs_alike(tmp_path, text, converted)


MODULES = """
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
        self.last = nnx.Linear(3, 1, rngs=rngs)

    def __call__(self, x):
        return self.last(self.norm(x))[:, 0]


def loss_fn(model, x):
    return jnp.max(model(x) ** 2)


@nnx.jit
def step(model, optimizer, x):
    loss, grads = nnx.value_and_grad(loss_fn)(model, x)
    optimizer.update(model, grads)
    return loss


@nnx.jit
def accuracy(model, x):
    return jnp.mean(model(x) > 0)


xs = jnp.sin(jnp.arange(48.0)).reshape(16, 3)
model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.05), wrt=nnx.Param)
for _ in range(2):
    loss = step(model, optimizer, xs)
found = accuracy(model, xs)
weights = model.last.kernel[...]
del model, optimizer
"""


@pytest.mark.jax
def test_batch_norm_gets_no_axis_that_another_step_does_not_bind(tmp_path):
    write(tmp_path, {"main.py": MODULES})
    ran = meshlens("convert", "main.py::accuracy", "--to", "pmap", "--devices", "8", "--write", cwd=tmp_path)
    assert ran.code == 0, ran.err
    runs_alike(tmp_path, MODULES, (tmp_path / "main.py").read_text())


PYTHON_SIZE = """

def step(params, batch, count):
    folded = batch.reshape(batch.shape[0], -1)[:, :count] * params[:count]
    return jnp.mean(folded**2)


params = jnp.ones(3)
batch = jnp.sin(jnp.arange(48.0)).reshape(16, 3)
loss = step(params, batch, 2)
"""


@pytest.mark.jax
@pytest.mark.parametrize(("target", "said"), [("pmap", "static_broadcasted_argnums"), ("shard_map", "static_argnums")])
def test_a_map_does_not_trace_what_python_needs(tmp_path, target, said):
    after = converted_step(tmp_path, HEAD + PYTHON_SIZE, target)
    assert f"{said}=(2,)" in after
    runs_alike(tmp_path, HEAD + PYTHON_SIZE, after)


TWO_SIZES = """
@jax.jit
def step(params, batch, targets):
    def loss_fn(params):
        return jnp.mean((batch @ params) ** 2) + jnp.mean((params.sum() - targets) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return params - 0.1 * grads, loss


def load(rows):
    return jnp.sin(jnp.arange(3.0 * rows)).reshape(rows, 3)


params, loss = step(jnp.ones(3), load(16), load(FEWER))
"""
FEWER_AXES = {
    "a column beside a flat array": "jnp.mean((batch @ params - targets) ** 2)",
    "in a variable": "jnp.mean(jnp.abs(pred - targets))",
    "by a function": "jnp.mean(jnp.square(jnp.subtract(pred, targets)))",
    "picked": "jnp.mean(jnp.where(targets > 0, pred, 2 * pred) * targets)",
}
COLUMN = """

def loss_fn(params, batch, targets):
    pred = batch @ params
    return VALUE


@jax.jit
def step(params, batch, targets):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch, targets)
    return params - 0.1 * grads, loss


params = jnp.ones(SHAPE)
batch, targets = jnp.sin(jnp.arange(48.0)).reshape(16, 3), jnp.cos(jnp.arange(16.0))
for _ in range(3):
    params, loss = step(params, batch, targets)
"""


def test_rows_beside_another_axis_stop_a_conversion(tmp_path):
    text = HEAD + COLUMN.replace("VALUE", FEWER_AXES["a column beside a flat array"])
    assert refusal(tmp_path, text.replace("SHAPE", "(3, 1)")) == "no-mean"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
@pytest.mark.parametrize("name", ["in a variable", "by a function", "picked"])
def test_predictions_that_meet_all_targets_are_gathered(tmp_path, target, name):
    text = HEAD + COLUMN.replace("VALUE", FEWER_AXES[name]).replace("SHAPE", "(3, 1)")
    after = converted_step(tmp_path, text, target)
    assert "targets, pred = jax.lax.all_gather((targets, pred)" in after
    runs_alike(tmp_path, text, after)


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
def test_rows_beside_rows_give_the_same_numbers(tmp_path, target):
    text = HEAD + COLUMN.replace("VALUE", FEWER_AXES["in a variable"]).replace("SHAPE", "3")
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


def test_a_target_for_all_rows_is_not_split_with_them(tmp_path):
    step = "\n\n@jax.jit\ndef step(x, target):\n    return (x - target) ** 2\n\n"
    call = "rows = step(jnp.ones((SIZE, 8)), jnp.arange(8.0))\n"
    assert refusal(tmp_path, HEAD + step + call.replace("SIZE", "8")) == "unreduced-output"
    assert refusal(tmp_path, HEAD + step + call.replace("SIZE", "64")) == "which-batch"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
def test_what_is_taken_for_a_batch_and_has_other_rows_raises(tmp_path, target):
    fewer = 'int(os.environ.get("ROWS_OF_TARGETS", "8"))'
    converted = converted_step(tmp_path, HEAD + "import os\n" + TWO_SIZES.replace("FEWER", fewer), target)
    (tmp_path / "converted.py").write_text(converted)
    found = numbers_of_programs.differences(tmp_path / "converted.py", tmp_path / "converted.py")
    assert "ValueError: the arrays of one batch have different numbers of rows: [8, 16]" in found[0]


def test_a_batch_that_certainly_has_other_rows_is_refused(tmp_path):
    assert refusal(tmp_path, HEAD + TWO_SIZES.replace("FEWER", "8")) == "which-batch"


FUNCTION = """
def net(params, x):
    hidden = jnp.tanh(x * params)
    return (HIDDEN).sum(axis=-1)


"""
MODULE = """
import flax.linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        hidden = nn.Dense(4)(x)
        return (HIDDEN).sum(axis=-1)


"""
OF_PARTS = MODULE.replace("nn.Dense(4)(x)", "Part()(x)").replace(
    "class Net",
    """class Part(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Dense(4)(x)
        return PART


class Net""",
)
HANDED = """

def make_step(apply):
    @jax.jit
    def step(params, batch):
        return apply(params, batch)

    return step


step = make_step(net)
rows = step(jnp.ones(3), jnp.sin(jnp.arange(48.0)).reshape(16, 3))
"""
EVALUATED = """

@jax.jit
def step(params, batch):
    return CALLED


params = MADE
rows = step(params, jnp.sin(jnp.arange(48.0)).reshape(16, 3))
"""
INITIALIZED = "Net().init(jax.random.key(0), jnp.ones((2, 3)))"
BY_APPLY = EVALUATED.replace("CALLED", "Net().apply(params, batch)").replace("MADE", INITIALIZED)
STATE = """
from flax.training.train_state import TrainState
import optax


@jax.jit
def step(state, batch):
    return state.apply_fn(state.params, batch)


state = TrainState.create(apply_fn=net, params=jnp.ones(3), tx=optax.sgd(0.1))
rows = step(state, jnp.sin(jnp.arange(48.0)).reshape(16, 3))
"""
TRANSFORMED = """
import haiku as hk


def forward(x):
    hidden = hk.Linear(4)(x)
    return (HIDDEN).sum(axis=-1)


network = hk.without_apply_rng(hk.transform(forward))
""" + EVALUATED.replace("CALLED", "network.apply(params, batch)").replace(
    "MADE", "network.init(jax.random.key(0), jnp.ones((2, 3)))"
)
OBJECT = """
import equinox as eqx


class Net(eqx.Module):
    weight: jax.Array

    def __call__(self, x):
        hidden = x * self.weight
        return (HIDDEN).sum(axis=-1)


""" + EVALUATED.replace("CALLED", "params(batch)").replace("MADE", "Net(jnp.ones(3))")
MODELS = {
    "a module of linen": MODULE + BY_APPLY,
    "a function of a train state": FUNCTION + STATE,
    "a function that a caller hands over": FUNCTION + HANDED,
    "a transformed function": TRANSFORMED,
    "a module of equinox": OBJECT,
    "a table of functions": FUNCTION
    + 'MODELS = {"net": net}\n'
    + EVALUATED.replace("CALLED", 'MODELS["net"](params, batch)').replace("MADE", "jnp.ones(3)"),
}
KNOWN = [name for name in MODELS if name != "a table of functions"]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_in_which_rows_meet_is_refused(tmp_path, name):
    assert refusal(tmp_path, HEAD + MODELS[name].replace("HIDDEN", "hidden - hidden.mean(axis=0)"))


@pytest.mark.jax
@pytest.mark.parametrize("name", KNOWN)
def test_a_model_that_keeps_rows_apart_gives_the_same_numbers(tmp_path, name):
    text = HEAD + MODELS[name].replace("HIDDEN", "hidden - hidden.mean(axis=-1, keepdims=True)")
    runs_alike(tmp_path, text, converted_step(tmp_path, text, "pmap"))


def test_parts_of_a_model_are_read(tmp_path):
    text = HEAD + OF_PARTS.replace("HIDDEN", "hidden") + BY_APPLY
    assert refusal(tmp_path, text.replace("PART", "x / x.std()"))
    assert converted_step(tmp_path, text.replace("PART", "x / x.std(axis=-1, keepdims=True)"), "pmap") != text


TWO_CLASSES = """
class Apart:
    def run(self, params, x):
        return x * params


class Meeting:
    def run(self, params, x):
        return REST


if jax.device_count() > 100:
    net = Apart()
else:
    net = Meeting()
""" + EVALUATED.replace("CALLED", "net.run(params, batch)").replace("MADE", "jnp.ones(3)")


def test_whatever_a_variable_may_hold_keeps_rows_apart(tmp_path):
    assert refusal(tmp_path, HEAD + TWO_CLASSES.replace("REST", "x - x.mean(axis=0) * params"))
    text = HEAD + TWO_CLASSES.replace("REST", "x - params")
    assert converted_step(tmp_path, text, "pmap") != text


HANDED_MODEL = (
    MODULE
    + """
def make_step(net):
    @jax.jit
    def step(params, batch):
        return net.apply(params, batch)

    return step


def run(net, batch):
    return make_step(net)(net.init(jax.random.key(0), batch), batch)


rows = run(Net(), jnp.sin(jnp.arange(48.0)).reshape(16, 3))
"""
)
MAPPED = """
def mapped(net):
    return nn.vmap(type(net), AXES, variable_axes={"params": None}, split_rngs={"params": False})()
"""
EACH_ROW = MAPPED.replace("AXES", "in_axes=0")


@pytest.mark.parametrize("axes", ["in_axes=0, out_axes=1", "in_axes=(1,)", "in_axes=AXIS, out_axes=AXIS"])
def test_a_model_that_a_library_may_map_along_other_axes_is_refused(tmp_path, axes):
    text = HEAD + HANDED_MODEL.replace("HIDDEN", "hidden - hidden.mean(axis=-1, keepdims=True)")
    assert converted_step(tmp_path, text + EACH_ROW, "pmap") != text + EACH_ROW
    assert refusal(tmp_path, text + MAPPED.replace("AXES", axes))


def test_a_model_in_which_rows_meet_is_refused_though_a_library_maps_models(tmp_path):
    assert refusal(tmp_path, HEAD + HANDED_MODEL.replace("HIDDEN", "hidden - hidden.mean(axis=0)") + EACH_ROW)


UNREAD = {
    "apply": "apply(params, batch)",
    "forward": "outside.forward(params, batch)",
    "normalize": "normalize(batch) @ params",
    "an object of another library": "outside.Network(4)(params, batch)",
    "what a function of another library makes": "outside.get_model()(params, batch)",
    "an argument": "network(params, batch)",
    "the apply of an argument": "network.apply(params, batch)",
    "the apply_fn of an argument": "network.apply_fn(params, batch)",
    "an axis of a vmap": 'jax.vmap(lambda row: row - jax.lax.pmean(row, "row"), axis_name="row")(batch)',
    "a decorator": "centered(params, batch)",
}
IMPORTED = """
import flax.linen as nn
import outside
from outside import apply, center, normalize


@center
def centered(params, batch):
    return batch @ params


def make_step(network):
    @jax.jit
    def step(params, batch):
        return CALLED

    return step


step = make_step(outside.network)
rows = step(jnp.ones(3), jnp.sin(jnp.arange(48.0)).reshape(16, 3))
"""


@pytest.mark.parametrize("name", UNREAD)
def test_a_name_does_not_tell_what_a_function_does(tmp_path, name):
    assert refusal(tmp_path, HEAD + IMPORTED.replace("CALLED", UNREAD[name])) == "unreduced-output"


LAST_SIZE = """

@jax.jit
def step(params, x):
    def loss_fn(params):
        err = (x - params) ** 2
        return jnp.sum(err) / err.shape[-1]

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return params - 0.01 * grads, loss


params, loss = step(jnp.zeros(3), ROWS)
"""


def test_a_size_that_is_counted_from_the_end_may_be_the_number_of_rows(tmp_path):
    assert refusal(tmp_path, HEAD + LAST_SIZE.replace("ROWS", "jnp.load('rows.npy')")) == "no-mean"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
def test_a_size_that_is_counted_from_the_end_is_that_of_another_axis_if_the_shape_is_known(tmp_path, target):
    text = HEAD + LAST_SIZE.replace("ROWS", "jnp.ones((16, 3))")
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))
