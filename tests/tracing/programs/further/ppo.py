"""Epochs of PPO in a pmap with replicated parameters."""

import functools

import jax
import jax.numpy as jnp
import optax


def entry():
    tx = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(3e-4))

    def net(p, x):
        h = jnp.tanh(x @ p["w1"])
        h = jnp.tanh(h @ p["w2"])
        return h @ p["pi"], (h @ p["v"])[..., 0]

    @functools.partial(jax.pmap, axis_name="device", in_axes=(None, None, 0, 0, 0, 0, 0), out_axes=(None, None, 0))
    def update(params, opt, obs, act, adv, ret, old):
        adv = (adv - jax.lax.pmean(adv.mean(), "device")) / (jnp.sqrt(jax.lax.pmean(adv.var(), "device")) + 1e-8)

        def epoch(carry, _):
            params, opt = carry

            def loss(p):
                logits, v = net(p, obs)
                logp = jnp.take_along_axis(jax.nn.log_softmax(logits), act[:, None], 1)[:, 0]
                r = jnp.exp(logp - old)
                return -jnp.minimum(r * adv, jnp.clip(r, 0.8, 1.2) * adv).mean() + 0.5 * ((v - ret) ** 2).mean()

            value, g = jax.value_and_grad(loss)(params)
            g = jax.lax.pmean(g, "device")
            u, opt = tx.update(g, opt, params)
            return (optax.apply_updates(params, u), opt), jax.lax.pmean(value, "device")

        (params, opt), ls = jax.lax.scan(epoch, (params, opt), length=4)
        return params, opt, ls

    s, f = jax.ShapeDtypeStruct, jnp.float32
    params = {"w1": s((8, 64), f), "w2": s((64, 64), f), "pi": s((64, 4), f), "v": s((64, 1), f)}
    opt = jax.eval_shape(tx.init, params)
    return update, (params, opt, s((8, 32, 8), f), s((8, 32), jnp.int32), s((8, 32), f), s((8, 32), f), s((8, 32), f))
