"""A small residual network with batch norm by pmean, momentum, in pmap."""

import functools

import jax
import jax.numpy as jnp
from jax import lax


def conv(x, w, s=1):
    return lax.conv_general_dilated(x, w, (s, s), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def bn(x, p, s):
    m = lax.pmean(x.mean((0, 1, 2)), "batch")
    v = lax.pmean((x**2).mean((0, 1, 2)), "batch") - m**2
    return (x - m) * lax.rsqrt(v + 1e-5) * p["g"] + p["b"], {"m": 0.9 * s["m"] + 0.1 * m, "v": 0.9 * s["v"] + 0.1 * v}


def net(p, s, x):
    new = {}
    x = conv(x, p["stem"], 2)
    for i in range(3):
        q = p[f"b{i}"]
        h, new[f"b{i}0"] = bn(conv(x, q["w1"], 2 if i else 1), q["n1"], s[f"b{i}0"])
        h, new[f"b{i}1"] = bn(conv(jax.nn.relu(h), q["w2"]), q["n2"], s[f"b{i}1"])
        x = jax.nn.relu(h + conv(x, q["skip"], 2 if i else 1))
    return x.mean((1, 2)) @ p["fc"], new


@functools.partial(jax.pmap, axis_name="batch", donate_argnums=(0, 1, 2))
def train_step(p, s, mom, x, y):
    def loss(p):
        logits, new = net(p, s, x)
        ce = -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * jax.nn.one_hot(y, 1000), -1))
        return ce, (new, logits)

    (value, (s2, logits)), g = jax.value_and_grad(loss, has_aux=True)(p)
    g = lax.pmean(g, "batch")
    mom = jax.tree.map(lambda m, g: 0.9 * m + g, mom, g)
    p = jax.tree.map(lambda p, m: p - 0.1 * m, p, mom)
    acc = jnp.mean(logits.argmax(-1) == y)
    return p, s2, mom, lax.pmean({"loss": value, "acc": acc}, "batch")


def entry():
    n = jax.device_count()

    def f(*s, t=jnp.float32):
        return jax.ShapeDtypeStruct((n, *s), t)

    def nrm(c):
        return {"g": f(c), "b": f(c)}

    p, s, c = {"stem": f(7, 7, 3, 64), "fc": f(256, 1000)}, {}, 64
    for i, o in enumerate((64, 128, 256)):
        p[f"b{i}"] = {"w1": f(3, 3, c, o), "n1": nrm(o), "w2": f(3, 3, o, o), "n2": nrm(o), "skip": f(1, 1, c, o)}
        s[f"b{i}0"], s[f"b{i}1"], c = {"m": f(o), "v": f(o)}, {"m": f(o), "v": f(o)}, o
    return train_step, (p, s, p, f(32, 64, 64, 3), f(32, t=jnp.int32))
