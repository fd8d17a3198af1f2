"""Training steps as the libraries' own examples write them convert; code that merely looks like them is refused."""

from __future__ import annotations

import pytest

import depth
from steps_converted import converted_step, refusal, runs_alike

pytestmark = pytest.mark.slow

TRANSFORMED_LOSS = """
import haiku as hk
import jax
import jax.numpy as jnp


def forward(tokens):
    h = hk.Linear(8)(hk.Embed(16, 8)(tokens))
    HIDDEN
    return hk.Linear(16)(h)


@hk.transform
def loss_fn(data):
    targets = jax.nn.one_hot(data["target"], 16)
    each = jnp.sum(targets * jax.nn.log_softmax(forward(data["obs"])), axis=-1)
    return LOSS


@jax.jit
def step(params, rng, data):
    rng, new_rng = jax.random.split(rng)
    loss, grads = jax.value_and_grad(loss_fn.apply)(params, rng, data)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), new_rng, loss


data = {"obs": jnp.arange(128).reshape(16, 8) % 16, "target": jnp.arange(1, 129).reshape(16, 8) % 16}
rng = jax.random.PRNGKey(0)
params = loss_fn.init(rng, data)
for _ in range(3):
    params, rng, loss = step(params, rng, data)
    print(loss)
"""
LATER = "loss_fn = hk.transform(loss_of)\n\n\n@jax.jit"
KEY_FOR_EACH_ROW = """
import equinox as eqx
import jax
import jax.numpy as jnp
import optax


class Net(eqx.Module):
    layer: eqx.nn.Linear
    dropout: eqx.nn.Dropout

    def __init__(self, key):
        self.layer = eqx.nn.Linear(4, 3, key=key)
        self.dropout = eqx.nn.Dropout(0.5)

    def __call__(self, x, train, key):
        return self.dropout(self.layer(x), inference=not train, key=key)


@eqx.filter_value_and_grad
def compute_grads(model, images, labels, key):
    SPLIT
    logits = jax.vmap(model, in_axes=(0, None, 0))(images, True, key)
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels))


@eqx.filter_jit
def step(model, images, labels, key):
    loss, grads = compute_grads(model, images, labels, key)
    return eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, grads)), loss


model = Net(jax.random.key(0))
for i in range(3):
    model, loss = step(model, jnp.sin(jnp.arange(64.0)).reshape(16, 4), jnp.arange(16) % 3, KEY)
    print(loss)
"""
KEYS_BY_NAME = """
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, deterministic=False):
        return nn.Dropout(0.0, deterministic=deterministic)(nn.Dense(3)(x))


@jax.jit
def step(state, batch, rngs):
    own = {name: jax.random.fold_in(rng, state.step) for name, rng in rngs.items()}

    def loss_fn(params):
        return jnp.mean((state.apply_fn({"params": params}, batch["x"], rngs=own) - batch["y"]) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), RESULT


batch = {"x": jnp.sin(jnp.arange(48.0)).reshape(16, 3), "y": jnp.cos(jnp.arange(48.0)).reshape(16, 3)}
net = Net()
rngs = {"dropout": jax.random.key(1)}
params = net.init({"params": jax.random.key(0), **rngs}, batch["x"])["params"]
state = train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1))
for _ in range(3):
    state, loss = step(state, batch, rngs)
    print(loss)
"""

RECORDS = """
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import struct
from flax.training import train_state


class Metrics(struct.PyTreeNode):
    loss: jax.Array
    accuracy: jax.Array
    count: int | None = None
MORE


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(x)


def compute_metrics(*, labels, logits):
    loss = optax.sigmoid_binary_cross_entropy(logits, labels)
    return Metrics(loss=LOSS, accuracy=jnp.sum((logits > 0) == labels), count=COUNT)


@jax.jit
def step(state, batch):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, batch["x"])
        return jnp.mean(optax.sigmoid_binary_cross_entropy(logits, batch["y"])), logits
    (_, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    metrics = compute_metrics(labels=batch["y"], logits=logits)
    return state.apply_gradients(grads=grads), metrics


batch = {"x": jnp.sin(jnp.arange(48.0)).reshape(16, 3), "y": (jnp.arange(16.0) % 2)[:, None]}
net = Net()
params = net.init(jax.random.key(0), batch["x"])["params"]
state = train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1))
for _ in range(3):
    state, metrics = step(state, batch)
    print(metrics.loss, metrics.accuracy, metrics.count)
"""
VALUES = """
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state


class VAE(nn.Module):
    latents: int
    @nn.compact
    def __call__(self, x):
        return nn.Dense(x.shape[-1])(nn.relu(nn.Dense(self.latents)(x)))


def model(latents):
    return VAE(latents=latents)


def step(state, batch, latents):
    def loss_fn(params):
        return jnp.mean((model(latents).apply({"params": params}, batch) - batch) ** 2)
    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


class Config:
    latents = 5
config = Config()
batch = jnp.sin(jnp.arange(48.0)).reshape(16, 3)
params = model(config.latents).init(jax.random.key(0), batch)["params"]
state = train_state.TrainState.create(apply_fn=model(config.latents).apply, params=params, tx=optax.sgd(0.1))
for _ in range(3):
    state, loss = step(state, batch, GIVEN)
    print(loss)
del state
"""


def _loss(hidden: str, loss: str) -> str:
    return TRANSFORMED_LOSS.replace("HIDDEN", hidden).replace("LOSS", loss)


@pytest.mark.jax
@pytest.mark.parametrize("loss", depth.some(["-jnp.mean(each)", "-jnp.sum(each) / 128"], 1))
def test_a_loss_that_haiku_transforms_gives_the_same_numbers(tmp_path, loss):
    text = _loss("h = jax.nn.relu(h)", loss)
    runs_alike(tmp_path, text, converted_step(tmp_path, text, "pmap"))
    later = text.replace("@hk.transform\ndef loss_fn", "def loss_of").replace("@jax.jit", LATER)
    assert converted_step(tmp_path, later, "pmap") != later


@pytest.mark.parametrize("hidden", ["h = h - h.mean(0)", "h = h - h[0]", "h = hk.LayerNorm(0, True, True)(h)"])
def test_a_loss_that_haiku_transforms_in_which_rows_meet_is_refused(tmp_path, hidden):
    assert refusal(tmp_path, _loss(hidden, "-jnp.mean(each)")) == "no-mean"


@pytest.mark.parametrize(
    "loss", ["-jnp.max(each)", "-jnp.mean(each) ** 2", "-jnp.median(each)", "jnp.cumsum(each)[-1]"]
)
def test_a_loss_that_haiku_transforms_that_is_no_mean_is_refused(tmp_path, loss):
    assert refusal(tmp_path, _loss("h = jax.nn.relu(h)", loss)) == "no-mean"


EACH_ROW = """
from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp
from outside import center


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(x), nn.Dense(2)(x)


@DECORATOR
def squares(x, target):
    return jnp.sum((x - target) ** 2)


@jax.jit
def step(params, batch):
    def loss_fn(params):
        rebuilt, _ = Net().apply(params, batch)
        return squares(rebuilt, batch).mean()

    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


batch = jnp.sin(jnp.arange(64.0)).reshape(16, 4)
params = Net().init(jax.random.key(0), batch)
for _ in range(3):
    params, loss = step(params, batch)
    print(loss)
"""


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
@pytest.mark.parametrize("decorator", depth.some(["jax.vmap", "partial(jax.vmap, in_axes=(0, 0))"], 1))
def test_a_mean_of_what_a_decorated_function_returns_for_each_row(tmp_path, target, decorator):
    text = EACH_ROW.replace("from outside import center\n", "").replace("DECORATOR", decorator)
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.parametrize("decorator", ["partial(jax.vmap, in_axes=1)", "center"])
def test_a_mean_of_what_another_decorated_function_returns_is_refused(tmp_path, decorator):
    assert refusal(tmp_path, EACH_ROW.replace("DECORATOR", decorator)) == "no-mean"


@pytest.mark.jax
def test_a_key_for_each_row_is_split_with_the_rows_whatever_its_name(tmp_path):
    keys = "jax.random.split(jax.random.key(i), 16)"
    text = KEY_FOR_EACH_ROW.replace("    SPLIT\n", "").replace("KEY)", f"{keys})")
    after = converted_step(tmp_path, text, "pmap")
    assert "in_axes=(None, 0, 0, 0)" in after
    runs_alike(tmp_path, text, after)


def test_one_key_that_is_split_for_the_rows_inside_is_not_split(tmp_path):
    text = KEY_FOR_EACH_ROW.replace("SPLIT", "key = jax.random.split(key, images.shape[0])")
    after = converted_step(tmp_path, text.replace("KEY)", "jax.random.key(i))"), "pmap")
    assert "in_axes=(None, 0, 0, None)" in after
    assert "fold_in" in after


@pytest.mark.jax
def test_keys_that_are_read_by_name_differ_on_each_device(tmp_path):
    text = KEYS_BY_NAME.replace("RESULT", "loss")
    after = converted_step(tmp_path, text, "pmap")
    assert "rngs = jax.tree.map(lambda key: jax.random.fold_in(key" in after
    runs_alike(tmp_path, text, after)


def test_keys_that_are_read_by_name_and_returned_are_refused(tmp_path):
    assert refusal(tmp_path, KEYS_BY_NAME.replace("RESULT", "own")) == "random-numbers"


def _records(loss: str, count: str, more: str = "") -> str:
    return RECORDS.replace("LOSS", loss).replace("COUNT", count).replace("MORE\n", more)


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
@pytest.mark.parametrize("count", depth.some(["logits.shape[0]", "jnp.sum(labels)"], 1))
def test_a_record_of_sums_is_summed_over_the_devices(tmp_path, target, count):
    text = _records("jnp.sum(loss)", count)
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


RENEWED = """
    def __post_init__(self):
        object.__setattr__(self, "loss", self.loss**2)
"""


@pytest.mark.parametrize("loss", ["jnp.sum(loss)", "jnp.mean(loss)", "jnp.max(loss)"])
def test_a_record_that_changes_what_it_stores_is_refused(tmp_path, loss):
    assert refusal(tmp_path, _records(loss, "16", RENEWED)) == "unreduced-output"


def test_a_record_of_something_else_is_refused(tmp_path):
    # The helper takes its arguments by keyword, so it cannot get the name of the axis.
    assert refusal(tmp_path, _records("jnp.max(loss)", "logits.shape[0]")) == "parameters"


RECORDS_IN_PARTS = [
    ("jnp.sum(loss) ** 2", "logits.shape[0]"),
    ("jnp.mean(loss)", "logits.shape[0]"),
    ("jnp.sum(loss)", "16"),
]


@pytest.mark.parametrize(("loss", "count"), RECORDS_IN_PARTS)
def test_parts_of_a_record_are_not_reduced_in_a_function_without_room_for_an_axis_name(tmp_path, loss, count):
    assert refusal(tmp_path, _records(loss, count)) == "parameters"


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["shard_map", "pmap"], 1))
@pytest.mark.parametrize(("loss", "count"), RECORDS_IN_PARTS)
def test_each_part_of_a_record_is_reduced_by_itself(tmp_path, loss, count, target):
    text = _records(loss, count).replace(
        "def compute_metrics(*, labels, logits)", "def compute_metrics(labels, logits)"
    )
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.jax
@pytest.mark.parametrize(
    ("target", "said"), depth.some([("pmap", "static_broadcasted_argnums"), ("shard_map", "static_argnums")], 1)
)
def test_what_is_a_python_value_at_each_call_stays_one(tmp_path, target, said):
    text = VALUES.replace("GIVEN", "config.latents")
    after = converted_step(tmp_path, text, target)
    assert f"{said}=(2,)" in after
    runs_alike(tmp_path, text, after)


def test_what_is_an_array_at_a_call_is_no_python_value(tmp_path):
    assert refusal(tmp_path, VALUES.replace("GIVEN", "jnp.sum(batch)")) in ("python-value", "unhashable-static")


METRICS = """
import jax
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.last = nnx.Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        return self.last(x)


@nnx.jit
def step(model, metrics, batch):
    logits = model(batch["x"])
    each = -jnp.take_along_axis(jax.nn.log_softmax(logits), batch["y"][:, None], axis=1)[:, 0]
    UPDATE


def batches():
    for n in range(3):
        yield {"x": jnp.sin(jnp.arange(64.0) + n).reshape(16, 4), "y": jnp.arange(16) % 3, "w": jnp.arange(1.0, 17.0)}


model = Net(nnx.Rngs(0))
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"), accuracy=nnx.metrics.Accuracy())
for batch in batches():
    step(model, metrics, batch)
print(metrics.compute())
"""
RIGHT_UPDATES = """
metrics.update(loss=each.mean(), logits=logits, labels=batch["y"])
metrics.update(loss=jnp.linalg.norm(logits.T @ logits), logits=logits, labels=batch["y"])
""".strip().splitlines()
WRONG_UPDATES = """
metrics.update(loss=each[0], logits=logits, labels=batch["y"])
metrics.update(loss=jnp.linalg.norm(logits @ logits.T), logits=logits, labels=batch["y"])
found = metrics; found.update(loss=each[0], logits=logits, labels=batch["y"])
metrics.loss.update(loss=jnp.linalg.norm(logits @ logits.T))
metrics.loss.total[...] = metrics.loss.total[...] + each[0]
""".strip().splitlines()


@pytest.mark.jax
@pytest.mark.parametrize("target", depth.some(["pmap", "shard_map"], 1))
@pytest.mark.parametrize("update", RIGHT_UPDATES)
def test_a_metric_of_nnx_counts_the_rows_of_all_devices(tmp_path, target, update):
    text = METRICS.replace("UPDATE", update)
    runs_alike(tmp_path, text, converted_step(tmp_path, text, target))


@pytest.mark.parametrize("update", WRONG_UPDATES)
def test_an_object_of_nnx_that_would_differ_between_devices_is_refused(tmp_path, update):
    assert refusal(tmp_path, METRICS.replace("UPDATE", update)) == "objects"
