"""BatchNorm over the axis of a pmap, with gradients added up in a scan before they are averaged."""

import functools

import flax.linen as nn
import jax
import jax.numpy as jnp


class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        for c in (16, 32):
            x = nn.Conv(c, (3, 3), strides=2, use_bias=False)(x)
            x = nn.BatchNorm(use_running_average=not train, axis_name="i")(x)
            x = nn.relu(x)
        return nn.Dense(10)(x.mean((1, 2)))


def entry():
    net = Net()

    @functools.partial(jax.pmap, axis_name="i")
    def step(variables, images, labels):
        def micro(grads, batch):
            x, y = batch

            def loss(params):
                logits, new = net.apply({**variables, "params": params}, x, mutable=["batch_stats"])
                return jnp.mean(-jnp.sum(jax.nn.one_hot(y, 10) * jax.nn.log_softmax(logits), -1)), new

            (value, new), g = jax.value_and_grad(loss, has_aux=True)(variables["params"])
            return jax.tree.map(jnp.add, grads, g), (value, new)

        zero = jax.tree.map(jnp.zeros_like, variables["params"])
        grads, (values, new) = jax.lax.scan(micro, zero, (images, labels))
        grads = jax.lax.pmean(grads, "i")
        stats = jax.tree.map(lambda a: jax.lax.pmean(a[-1], "i"), new)
        return (
            jax.tree.map(lambda p, g: p - 0.1 * g, variables["params"], grads),
            stats,
            jax.lax.pmean(values.mean(), "i"),
        )

    v = jax.eval_shape(net.init, jax.random.key(0), jnp.zeros((4, 16, 16, 3)))
    v = jax.tree.map(lambda a: jax.ShapeDtypeStruct((8, *a.shape), a.dtype), v)
    return step, (
        v,
        jax.ShapeDtypeStruct((8, 3, 4, 16, 16, 3), jnp.float32),
        jax.ShapeDtypeStruct((8, 3, 4), jnp.int32),
    )
