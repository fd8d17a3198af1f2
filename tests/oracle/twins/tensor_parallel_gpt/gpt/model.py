import jax
import jax.numpy as jnp
from jax import lax


def init_params(key, cfg):
    k_emb, *k_blocks = jax.random.split(key, cfg.n_layer + 1)
    d = cfg.d_model
    blocks = []
    for k in k_blocks:
        k1, k2, k3, k4 = jax.random.split(k, 4)
        blocks.append(
            {
                "qkv": jax.random.normal(k1, (3, d, d)) * d**-0.5,
                "proj": jax.random.normal(k2, (d, d)) * d**-0.5,
                "up": jax.random.normal(k3, (d, 4 * d)) * d**-0.5,
                "down": jax.random.normal(k4, (4 * d, d)) * (4 * d) ** -0.5,
            }
        )
    return {"wte": jax.random.normal(k_emb, (cfg.vocab, d)) * 0.1, "blocks": blocks}


def layer_norm(x):
    x = x - x.mean(-1, keepdims=True)
    return x * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def attention(p, x, head_dim, tp_axis=None):
    b, t, _ = x.shape
    q, k, v = jnp.einsum("btd,cde->cbte", x, p["qkv"])
    q, k, v = (a.reshape(b, t, -1, head_dim).transpose(0, 2, 1, 3) for a in (q, k, v))
    att = q @ k.swapaxes(-1, -2) / head_dim**0.5
    att = jnp.where(jnp.tril(jnp.ones((t, t), bool)), att, -1e9)
    y = jax.nn.softmax(att, axis=-1) @ v
    y = y.transpose(0, 2, 1, 3).reshape(b, t, -1) @ p["proj"]
    if tp_axis is not None:
        y = lax.psum(y, tp_axis)
    return y


def mlp(p, x, tp_axis=None):
    h = jax.nn.gelu(x @ p["up"])
    y = h @ p["down"]
    if tp_axis is not None:
        y = lax.psum(y, tp_axis)
    return y


def forward(params, tokens, cfg, tp_axis=None):
    head_dim = cfg.d_model // cfg.n_head
    x = params["wte"][tokens]
    for p in params["blocks"]:
        x = x + attention(p, layer_norm(x), head_dim, tp_axis)
        x = x + mlp(p, layer_norm(x), tp_axis)
    return layer_norm(x) @ params["wte"].T


def loss_fn(params, tokens, cfg, tp_axis=None):
    logits = forward(params, tokens[:, :-1], cfg, tp_axis)
    logp = jax.nn.log_softmax(logits)
    return -jnp.take_along_axis(logp, tokens[:, 1:, None], -1).mean()
