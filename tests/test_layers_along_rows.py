"""A model whose layers run along the rows' axis is refused; one whose layers treat each row alike converts.

Every program is a training step; the tests differ in what its model does with the batch.
"""

from __future__ import annotations

from textwrap import indent

import pytest

import depth
from steps_converted import converted_step, refusal, runs_alike

pytestmark = pytest.mark.slow

DATA = """
batch = {
    "x": jnp.sin(jnp.arange(384.0)).reshape(16, 8, 3),
    "y": jnp.cos(jnp.arange(512.0)).reshape(16, 8, 4),
}
"""
LINEN = (
    """
import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state


class Scanned(nn.Module):
    @functools.partial(nn.scan, variable_broadcast="params", in_axes=AXIS, out_axes=AXIS, split_rngs={"params": False})
    @nn.compact
    def __call__(self, carry, x):
        return nn.GRUCell(4)(carry, x)


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
BODY


@jax.jit
def step(state, batch):
    def loss_fn(params):
        return jnp.mean((state.apply_fn({"params": params}, batch["x"]) - batch["y"]) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


"""
    + DATA
    + """
net = Net()
params = net.init(jax.random.key(0), batch["x"])["params"]
state = train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1))
for _ in range(3):
    state, loss = step(state, batch)
    print(loss)
"""
)
HAIKU = (
    """
import haiku as hk
import jax
import jax.numpy as jnp


def net(x):
BODY


model = hk.without_apply_rng(hk.transform(net))


def loss_fn(params, batch):
    return jnp.mean((model.apply(params, batch["x"]) - batch["y"]) ** 2)


@jax.jit
def step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss


"""
    + DATA
    + """
params = model.init(jax.random.key(0), batch["x"])
for _ in range(3):
    params, loss = step(params, batch)
    print(loss)
"""
)
EQUINOX = """
import equinox as eqx
import jax
import jax.numpy as jnp


class Net(eqx.Module):
    first: eqx.Module
    parts: list
    last: eqx.Module

    def __init__(self, key):
        self.first = FIRST
        self.parts = [FIRST]
        self.last = eqx.nn.Linear(4, 4, key=key)

    def __call__(self, x):
BODY


def loss_fn(model, x, y):
    return jnp.mean((CALLED - y) ** 2)


@eqx.filter_jit
def step(model, x, y):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, x, y)
    return eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, grads)), loss


model = Net(jax.random.key(0))
x = jnp.sin(jnp.arange(64.0)).reshape(16, 4)
y = jnp.cos(jnp.arange(64.0)).reshape(16, 4)
for _ in range(3):
    model, loss = step(model, x, y)
    print(loss)
"""
ATTENTION = "eqx.nn.MultiheadAttention(2, 4, key=key)"
CELL = "eqx.nn.GRUCell(4, 4, key=key)"
LINEN_ALONG = {
    "a recurrent layer over time": "return nn.RNN(nn.LSTMCell(4), time_major=True)(x)",
    "one that the call tells": "layer = nn.RNN(nn.LSTMCell(4))\nreturn layer(x, time_major=True)",
    "a scan of a cell": "cell = nn.scan(nn.GRUCell, variable_broadcast='params', split_rngs={'params': False})(4)\n"
    "return cell(jnp.zeros((8, 4)), x)[1]",
    "a scan of a class": "return Scanned()(jnp.zeros((8, 4)), x)[1]",
    "softmax": "return nn.softmax(nn.Dense(4)(x), axis=0)",
    "softmax by position": "return nn.log_softmax(nn.Dense(4)(x), 0)",
    "a normalization": "return nn.LayerNorm(reduction_axes=(0, 2))(nn.Dense(4)(x))",
    "a dense layer": "return nn.DenseGeneral((16, 4), axis=(0, -1))(x).transpose(1, 0, 2)",
    "attention to swapped axes": "x = jnp.swapaxes(nn.Dense(4)(x), 0, 1)\n"
    "return jnp.swapaxes(nn.SelfAttention(num_heads=1)(x), 0, 1)",
    "attention mapped over time": "return nn.vmap(nn.SelfAttention, in_axes=1, out_axes=1, "
    "variable_axes={'params': None}, split_rngs={'params': False})(num_heads=1)(nn.Dense(4)(x))",
    "an axis moved": "x = jnp.moveaxis(nn.Dense(4)(x), 0, 1)[:, :, None]\n"
    "return jnp.moveaxis(nn.dot_product_attention(x, x, x)[:, :, 0], 0, 1)",
    "the first row": "x = nn.Dense(4)(x)\nreturn x - x[0]",
    "some rows": "x = nn.Dense(4)(x)\nreturn jnp.concatenate([x[1:], x[:1]], axis=0) * x",
    "axes in another order": "x = einops.rearrange(nn.Dense(4)(x), 'b t d -> t b d')\n"
    "return einops.rearrange(nn.SelfAttention(num_heads=1)(x), 't b d -> b t d')",
    "rows behind another axis": "x = einops.rearrange(nn.Dense(4)(x), 'b t d -> (t b) d')\n"
    "return einops.rearrange(x, '(b t) d -> b t d', t=8)",
    "a mean of rows": "x = nn.Dense(4)(x)\nreturn x - einops.reduce(x, 'b t d -> t d', 'mean')",
}
HAIKU_ALONG = {
    "an unrolled cell": "cell = hk.LSTM(4)\nreturn hk.dynamic_unroll(cell, x, cell.initial_state(8))[0]",
    "one unrolled in Python": "cell = hk.GRU(4)\nreturn hk.static_unroll(cell, x, cell.initial_state(8))[0]",
    "a scan": "cell = hk.Linear(4)\nreturn hk.scan(lambda c, u: (cell(u) + c,) * 2, jnp.zeros((8, 4)), x)[1]",
    "a normalization": "return hk.LayerNorm(0, True, True)(hk.Linear(4)(x))",
    "one over two axes": "return hk.LayerNorm(axis=(0, 2), create_scale=True, create_offset=True)(hk.Linear(4)(x))",
    "statistics": "return hk.BatchNorm(False, False, 0.9)(hk.Linear(4)(x), is_training=True)",
    "a pool": "x = hk.Linear(4)(x)\nreturn x - hk.max_pool(x, (16, 1, 1), (16, 1, 1), 'VALID')",
    "a loop that rows end": "x = hk.Linear(4)(x)\n"
    "return jax.lax.while_loop(lambda h: jnp.max(h) > 0.1, lambda h: h * 0.5, x)",
}
EQUINOX_ALONG = {
    "attention": (ATTENTION, "return jax.vmap(self.last)(self.first(x, x, x))"),
    "attention of a list": (ATTENTION, "for part in self.parts:\n    x = part(x, x, x)\nreturn x"),
    "a convolution": ("eqx.nn.Conv1d(16, 16, 3, padding=1, key=key)", "return self.first(x)"),
    "a normalization": ("eqx.nn.LayerNorm((16, 4))", "return jax.vmap(self.last)(self.first(x))"),
    "a scan": (CELL, "return jax.lax.scan(lambda h, u: (self.first(u, h),) * 2, jnp.zeros(4), x)[1]"),
}
LINEN_APART = {
    "a recurrent layer": "return nn.RNN(nn.LSTMCell(4))(x)",
    "a scan of a cell over time": "cell = nn.scan(nn.GRUCell, variable_broadcast='params', "
    "split_rngs={'params': False}, in_axes=1, out_axes=1)(4)\nreturn cell(jnp.zeros((x.shape[0], 4)), x)[1]",
    "a scan of a class over time": "return Scanned()(jnp.zeros((x.shape[0], 4)), x)[1]",
    "softmax": "return nn.softmax(nn.Dense(4)(x))",
    "a normalization": "b, t, d = x.shape\nreturn nn.LayerNorm(reduction_axes=(-2, -1))(nn.Dense(4)(x))",
}
HAIKU_APART = {
    "a normalization": "return hk.LayerNorm(-1, True, True)(hk.Linear(4)(x))",
    "a pool": "x = hk.Linear(4)(x)\nreturn x - hk.avg_pool(x, (1, 8, 1), (1, 8, 1), 'VALID')",
}
EINOPS = "import einops\n"


def _linen(body: str, axis: int) -> str:
    head = EINOPS if "einops" in body else ""
    return head + LINEN.replace("BODY", indent(body, " " * 8)).replace("AXIS", str(axis))


def _equinox(first: str, body: str, called: str) -> str:
    text = EQUINOX.replace("FIRST", first).replace("CALLED", called)
    return text.replace("BODY", indent(body, " " * 8))


@pytest.mark.parametrize("name", LINEN_ALONG)
def test_a_model_of_linen_that_works_along_the_rows_is_refused(tmp_path, name):
    assert refusal(tmp_path, _linen(LINEN_ALONG[name], 0)) == "no-mean"


@pytest.mark.parametrize("name", HAIKU_ALONG)
def test_a_model_of_haiku_that_works_along_the_rows_is_refused(tmp_path, name):
    assert refusal(tmp_path, HAIKU.replace("BODY", indent(HAIKU_ALONG[name], "    "))) == "no-mean"


@pytest.mark.parametrize("name", EQUINOX_ALONG)
def test_a_model_of_equinox_that_gets_all_rows_at_once_is_refused(tmp_path, name):
    assert refusal(tmp_path, _equinox(*EQUINOX_ALONG[name], "model(x)")) == "no-mean"


@pytest.mark.jax
@pytest.mark.parametrize("name", depth.some(LINEN_APART, 1))
def test_a_model_of_linen_that_keeps_rows_apart_gives_the_same_numbers(tmp_path, name):
    text = _linen(LINEN_APART[name], 1)
    runs_alike(tmp_path, text, converted_step(tmp_path, text, "pmap"))


@pytest.mark.jax
@pytest.mark.parametrize("name", depth.some([*HAIKU_APART], 1))
def test_a_model_of_haiku_that_keeps_rows_apart_gives_the_same_numbers(tmp_path, name):
    text = HAIKU.replace("BODY", indent(HAIKU_APART[name], "    "))
    runs_alike(tmp_path, text, converted_step(tmp_path, text, "pmap"))


@pytest.mark.jax
@pytest.mark.parametrize("first", depth.some(["eqx.nn.MLP(4, 4, 8, 1, key=key)", "eqx.nn.LayerNorm(4)"], 1))
def test_a_model_of_equinox_that_is_mapped_over_the_rows_gives_the_same_numbers(tmp_path, first):
    text = _equinox(first, "return self.last(self.first(x))", "jax.vmap(model)(x)")
    runs_alike(tmp_path, text, converted_step(tmp_path, text, "pmap"))
    inside = _equinox(first, "return jax.vmap(self.last)(jax.vmap(self.first)(x))", "model(x)")
    runs_alike(tmp_path, inside, converted_step(tmp_path, inside, "pmap"))


def test_a_layer_of_equinox_itself_that_gets_all_rows_at_once_is_refused(tmp_path):
    text = _equinox(ATTENTION, "return x", "model(x, x, x)")
    before, _, rest = text.partition("class Net")
    made = rest.partition("def loss_fn")[2].replace(
        "Net(jax.random.key(0))", ATTENTION.replace("=key", "=jax.random.key(0)")
    )
    assert refusal(tmp_path, f"{before}def loss_fn{made}") == "no-mean"


def test_what_is_imported_in_a_try_is_known_if_it_means_the_same(tmp_path):
    tried = "try:\n    import jax.numpy as jnp\nexcept ImportError:\n    IN_ITS_PLACE"
    text = LINEN.replace("BODY", "        return nn.Dense(4)(x)").replace("AXIS", "1")
    again = text.replace("import jax.numpy as jnp", tried.replace("IN_ITS_PLACE", "import jax.numpy as jnp"))
    assert converted_step(tmp_path, again, "pmap") != again
    assert refusal(tmp_path, text.replace("import jax.numpy as jnp", tried.replace("IN_ITS_PLACE", "jnp = object()")))


EVALUATED = """
import haiku as hk
import jax
import jax.numpy as jnp


def net(x, is_training):
    return hk.Linear(4)(hk.BatchNorm(True, True, 0.9)(hk.Linear(4)(x), is_training=is_training))


forward = hk.transform_with_state(net)


@jax.jit
def step(params, state, batch):
    found, _ = forward.apply(params, state, None, batch["x"], is_training=TRAINING)
    return jnp.sum((found - batch["y"]) ** 2)


batch = {"x": jnp.sin(jnp.arange(48.0)).reshape(16, 3), "y": jnp.cos(jnp.arange(64.0)).reshape(16, 4)}
params, state = forward.init(jax.random.key(0), batch["x"], True)
print(step(params, state, batch))
"""


@pytest.mark.jax
def test_a_network_of_haiku_whose_averages_are_known_gives_the_same_numbers(tmp_path):
    assert refusal(tmp_path, EVALUATED.replace("TRAINING", "True")) == "unreduced-output"
    text = EVALUATED.replace("TRAINING", "False")
    runs_alike(tmp_path, text, converted_step(tmp_path, text, "pmap"))
