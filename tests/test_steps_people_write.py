"""Steps as people write them in their own projects convert; code that merely looks like them is refused."""

from __future__ import annotations

import pytest

import depth
from command_line import meshlens, write
from steps_converted import converted_step, refusal, runs_alike

BY_KEYWORD = """
from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct
from outside import center


class Metrics(struct.PyTreeNode):
    loss: jax.Array
    count: int


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(x)


@DECORATOR
def cross_entropy(*, labels, logits):
    return jnp.maximum(logits, 0) - logits * labels + jnp.log1p(jnp.exp(-jnp.abs(logits)))


def metrics_of(*, labels, logits):
    if labels.ndim == 1:
        labels = jnp.expand_dims(labels, axis=1)
    loss = cross_entropy(labels=labels, logits=logits)
    return Metrics(loss=jnp.sum(loss), count=logits.shape[0])


@jax.jit
def step(params, batch):
    return metrics_of(labels=batch["y"], logits=Net().apply(params, batch["x"]))


batch = {"x": jnp.sin(jnp.arange(48.0)).reshape(16, 3), "y": jnp.arange(16.0) % 2}
found = step(Net().init(jax.random.key(0), batch["x"]), batch)
print(found.loss, found.count)
"""
LOOPED = """
import itertools

import jax
import jax.numpy as jnp


def dataloader(rows, size):
    while True:
        for start in range(0, 32, size):
            yield tuple(one[start : start + size] for one in rows)


def schedule(size):
    return itertools.repeat((jnp.ones(3), jnp.ones(3)), size)


def train(rows):
    @jax.jit
    def step(params, data_i):
        xi, *rest = data_i
        (yi,) = rest

        def loss_fn(params):
            return jnp.mean((xi @ params - yi) ** 2)

        loss, grads = jax.value_and_grad(loss_fn)(params)
        return params - 0.1 * grads, loss

    params = jnp.ones(3)
    for _, data_i in zip(range(3), SOURCE):
        params, loss = step(params, data_i)
        print(loss)


x = jnp.sin(jnp.arange(96.0)).reshape(32, 3)
train((x, x.sum(1)))
"""
RENEWED = """
import jax
import jax.numpy as jnp


def noisy_loss(params, data, key):
    first, second = jax.random.split(key)
    each = jax.random.split(second, data.shape[0])
    noise = jax.vmap(jax.random.normal)(each)[:, None]
    moved = data + SIZE * (noise + jax.random.normal(first, data.shape))
    return jnp.mean((moved @ params - data.sum(1)) ** 2)


def loss_and_key(params, data, key):
    return noisy_loss(params, data, key), jax.random.split(key, 1)[0]


@jax.jit
def step(params, data, key):
    BODY
    return params - 0.1 * grads, key, loss


data = jnp.sin(jnp.arange(48.0)).reshape(16, 3)
params, key = jnp.ones(3), jax.random.PRNGKey(0)
for _ in range(3):
    params, key, loss = step(params, data, key)
    print(loss, key)
"""
RENEW = """loss, grads = jax.value_and_grad(noisy_loss)(params, data, key)
    key = jax.random.split(key, 1)[0]"""
RENEWED_BY_A_HELPER = """grads = jax.grad(noisy_loss)(params, data, key)
    loss, key = loss_and_key(params, data, key)"""
OF_THE_STATE = """
import jax
import jax.numpy as jnp
from flax import struct


class State(struct.PyTreeNode):
    params: jax.Array
    metrics: object = struct.field(pytree_node=False)


@jax.jit
def step(state, batch):
    scores = jnp.tanh(batch @ state.params)
    return state.metrics.CALL


state = State(jnp.sin(jnp.arange(12.0)).reshape(3, 4), jnp)
print(step(state, jnp.sin(jnp.arange(48.0)).reshape(16, 3)))
"""
MAPPED_METHOD = """
import equinox as eqx
import jax
import jax.numpy as jnp


class Curve(eqx.Module):
    low: float

    def sigma(self, t):
        return self.low + t**2


def loss_fn(model, curve, data):
    t = jnp.linspace(0.0, 1.0, data.shape[1])
    sigmas = WEIGHTS
    return jnp.mean((jax.vmap(model)(data) * sigmas[: data.shape[1]].mean()) ** 2)


@eqx.filter_jit
def step(model, curve, data):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, curve, data)
    return eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, grads)), loss


curve = CURVE
data = jnp.sin(jnp.arange(64.0)).reshape(16, 4)
model = eqx.nn.Linear(4, 4, key=jax.random.key(0))
for _ in range(3):
    model, loss = step(model, curve, data)
    print(loss)
"""
HELD_BY_ITS_NAME = """
import jax
import jax.numpy as jnp


class Trainer:
    def __init__(self):
        self.params = jnp.ones(3)
        self.create_functions()

    def create_functions(self):
        def step(params, batch):
            loss, grads = jax.value_and_grad(lambda p: jnp.mean((batch @ p) ** 2))(params)
            return params - 0.1 * grads, loss

        self.step = jax.jit(step)

    def train(self, loader):
        for batch in loader:
            self.params, loss = self.step(self.params, batch)
            print(loss)


Trainer().train([jnp.sin(jnp.arange(48.0)).reshape(16, 3)] * 3)
"""
SPLAT = """
import jax
import jax.numpy as jnp


def loss_fn(params, PARAMETERS):
    return jnp.mean((x @ params - y) ** 2)


@jax.jit
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, *batch)
    return params - 0.1 * grads, loss


params = jnp.ones(3)
batch = (jnp.sin(jnp.arange(48.0)).reshape(16, 3), jnp.cos(jnp.arange(16.0)))
for _ in range(3):
    params, loss = step(params, batch)
    print(loss)
"""
FACTORY = """
import haiku as hk
import jax
import jax.numpy as jnp


def build_network(size):
    def net(x):
        x = hk.Linear(size)(x)
        return hk.Linear(1)(BODY)

    return hk.without_apply_rng(hk.transform(net))


class Agent:
    def __init__(self):
        self.network = build_network(8)


agent = Agent()


@jax.jit
def step(params, x, y):
    def loss_fn(params):
        return jnp.mean((agent.network.apply(params, x)[..., 0] - y) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


x, y = jnp.sin(jnp.arange(48.0)).reshape(16, 3), jnp.cos(jnp.arange(16.0))
params = agent.network.init(jax.random.key(0), x)
for _ in range(3):
    params, loss = step(params, x, y)
    print(loss)
"""
SHARE = """
import jax
import jax.numpy as jnp


@jax.jit
def step(params, x, y, share):
    def loss_fn(params):
        return jnp.mean(share * (x @ params - y) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return params - 0.1 * grads, loss


params = jnp.ones(3)
x, y = jnp.sin(jnp.arange(48.0)).reshape(16, 3), jnp.cos(jnp.arange(16.0))
for n in range(3):
    if n < 1:
        share = 1.0
    else:
        share = VALUE
    params, loss = step(params, x, y, share)
    print(loss)
"""
NORMALIZED = """
import flax.linen as nn
import jax
import jax.numpy as jnp


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        x = nn.Dense(8)(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        OWN
        return nn.Dense(1)(x)[..., 0]


net = Net()


def loss_fn(params, stats, x, y):
    out, updates = net.apply({"params": params, "batch_stats": stats}, x, mutable=MUTABLE)
    return jnp.mean((out - y) ** 2), updates


@jax.jit
def step(params, stats, x, y):
    (loss, updates), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, stats, x, y)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, updates["batch_stats"], loss


x = jnp.sin(jnp.arange(64.0)).reshape(16, 4)
y = jnp.cos(jnp.arange(16.0))
variables = net.init(jax.random.key(0), x)
params, stats = variables["params"], variables["batch_stats"]
for _ in range(3):
    params, stats, loss = step(params, stats, x, y)
    print(loss, jax.tree.leaves(stats)[0].sum())
"""


def _by_keyword(decorator: str) -> str:
    return BY_KEYWORD.replace("DECORATOR", decorator)


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
def test_a_loss_for_each_row_that_a_vmap_gets_by_keyword_is_summed(tmp_path, target):
    text = _by_keyword("jax.vmap").replace("from outside import center\n", "")
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.parametrize("decorator", ["partial(jax.vmap, out_axes=1)", "center"])
def test_a_loss_that_something_else_makes_of_the_rows_is_refused(tmp_path, decorator):
    assert refusal(tmp_path, _by_keyword(decorator)) == "unreduced-output"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
def test_what_a_loop_over_data_yields_holds_rows_although_its_name_is_unclear(tmp_path, target):
    text = LOOPED.replace("SOURCE", "dataloader(rows, 16)")
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.parametrize("source", ["schedule(3)", "itertools.repeat(rows)"])
def test_what_another_loop_yields_is_not_known_to_hold_rows(tmp_path, source):
    assert refusal(tmp_path, LOOPED.replace("SOURCE", source)) == "nothing-to-split"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
def test_a_key_that_a_step_uses_and_renews_stays_the_same_on_all_devices(tmp_path, target):
    text = RENEWED.replace("SIZE", "0.0").replace("BODY", RENEW)
    after = converted_step(tmp_path, text, target)
    assert '(params, data, jax.random.fold_in(key, jax.lax.axis_index("batch")))' in after
    runs_alike(tmp_path, text, after)


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
def test_a_key_that_a_helper_renews_is_split_before_the_index_is_folded_into_it(tmp_path, target):
    text = (
        RENEWED.replace("SIZE", "0.0").replace("BODY", RENEWED_BY_A_HELPER).replace("print(loss, key)", "print(loss)")
    )
    after = converted_step(tmp_path, text, target)
    assert "next_key, key = jax.random.split(key)" in after
    assert "return params - 0.1 * grads, next_key, loss" in after
    runs_alike(tmp_path, text, after)


@pytest.mark.parametrize("returned", ["key[None]", "(key,)", "loss_and_key(params, data, key)[1]"])
def test_a_key_that_a_helper_renews_is_refused_if_something_else_is_returned(tmp_path, returned):
    text = RENEWED.replace("grads, key", f"grads, {returned}").replace("BODY", RENEWED_BY_A_HELPER)
    assert refusal(tmp_path, text.replace("SIZE", "1.0")) == "random-numbers"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
def test_a_method_of_the_state_gets_what_the_step_has_calculated_for_all_rows(tmp_path, target):
    text = OF_THE_STATE.replace("CALL", "cov(scores)")
    after = converted_step(tmp_path, text, target)
    assert 'cov(jax.lax.all_gather(scores, axis_name="batch", tiled=True))' in after
    runs_alike(tmp_path, text, after)


def test_a_method_of_the_state_does_not_get_the_batch_itself(tmp_path):
    assert refusal(tmp_path, OF_THE_STATE.replace("CALL", "cov(batch)")) == "unreduced-output"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
def test_an_object_whose_method_a_vmap_maps_is_the_same_on_all_devices(tmp_path, target):
    text = MAPPED_METHOD.replace("WEIGHTS", "jax.vmap(curve.sigma)(t)").replace("CURVE", "Curve(1.0)")
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


def test_an_argument_of_unknown_shape_of_which_nothing_is_mapped_may_hold_rows(tmp_path):
    text = MAPPED_METHOD.replace("WEIGHTS", "curve + t").replace("CURVE", 'jnp.load("curve.npy")')
    assert refusal(tmp_path, text) == "which-batch"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
def test_calls_of_an_attribute_with_the_name_of_its_function_are_sharded(tmp_path, target):
    after = converted_step(tmp_path, HELD_BY_ITS_NAME, target)
    assert ("self.step(self.params, shard(batch))" in after) == (target == "pmap")
    runs_alike(tmp_path, HELD_BY_ITS_NAME, after)


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
@pytest.mark.parametrize(
    "text",
    [
        SPLAT.replace("PARAMETERS", "x, y"),
        FACTORY.replace("BODY", "jax.nn.relu(x)"),
        SHARE.replace("VALUE", "max(1 - n / 10, 0)"),
    ],
    ids=["splat", "factory", "share"],
)
def test_parts_of_a_batch_models_from_functions_and_numbers_are_told(tmp_path, target, text):
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SPLAT.replace("PARAMETERS", "*rest").replace("x @ params - y", "rest[0] @ params - rest[1]"), "no-mean"),
        (SPLAT.replace("PARAMETERS", "x, y=0.0"), "no-mean"),
        (FACTORY.replace("BODY", "x - x.mean(axis=0)"), "no-mean"),
        (SHARE.replace("VALUE", "jnp.linspace(0, 1, 16)"), "which-batch"),
        (SHARE.replace("VALUE", "jnp.maximum(x[:, 0], 0)"), "which-batch"),
    ],
)
def test_what_looks_like_them_is_refused(tmp_path, text, reason):
    assert refusal(tmp_path, text) == reason


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
def test_batch_statistics_that_all_devices_average_are_the_same(tmp_path, target):
    text = NORMALIZED.replace("OWN\n", "x = nn.tanh(x)\n").replace("MUTABLE", '["batch_stats"]')
    after = converted_step(tmp_path, text, target)
    assert 'nn.BatchNorm(use_running_average=not train, axis_name="batch")' in after
    runs_alike(tmp_path, text, after)


@pytest.mark.parametrize(
    ("own", "mutable"),
    [
        ('self.variable("batch_stats", "first", lambda: x[0]).value = x[0]', '["batch_stats"]'),
        ("self.sow('seen', 'x', x)", '["batch_stats", "seen"]'),
        ("x = nn.tanh(x)", "True"),
        ("x = nn.BatchNorm(use_running_average=not train, axis_name=None)(x)", '["batch_stats"]'),
    ],
)
def test_other_states_of_models_are_refused(tmp_path, own, mutable):
    write(tmp_path, {"main.py": NORMALIZED.replace("OWN", own).replace("MUTABLE", mutable)})
    for target in ("pmap", "shard_map"):
        ran = meshlens("convert", "main.py::step", "--to", target, cwd=tmp_path)
        assert "refused (" in ran.err, ran.err
