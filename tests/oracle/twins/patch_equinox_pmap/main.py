"""A patch classifier in equinox under filter_pmap, with label smoothing and a padded last batch."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax


class Mixer(eqx.Module):
    embed: eqx.nn.Linear
    norm: eqx.nn.LayerNorm
    mix: eqx.nn.MLP
    head: eqx.nn.Linear
    patches: int = eqx.field(static=True)

    def __init__(self, pixels, patches, width, classes, *, key):
        k1, k2, k3 = jr.split(key, 3)
        self.patches = patches
        self.embed = eqx.nn.Linear(pixels // patches, width, key=k1)
        self.norm = eqx.nn.LayerNorm(width)
        self.mix = eqx.nn.MLP(patches, patches, 8, 1, key=k2)
        self.head = eqx.nn.Linear(width, classes, key=k3)

    def __call__(self, image):
        tokens = jax.vmap(self.embed)(image.reshape(self.patches, -1))
        tokens = tokens + jax.vmap(self.mix, in_axes=1, out_axes=1)(jax.vmap(self.norm)(tokens))
        return self.head(tokens.mean(axis=0))


def smoothed(logits, label, amount=0.1):
    target = optax.smooth_labels(jax.nn.one_hot(label, logits.shape[-1]), amount)
    return optax.softmax_cross_entropy(logits, target)


def totals(model, images, labels, valid):
    logits = jax.vmap(model)(images)
    losses = jax.vmap(smoothed)(logits, labels)
    hits = (logits.argmax(-1) == labels) * valid
    return jnp.sum(losses * valid), (jnp.sum(hits), jnp.sum(valid))


class Trainer:
    def __init__(self, tx, axis="replica"):
        self.tx, self.axis = tx, axis
        self.train = eqx.filter_pmap(self._train, axis_name=axis, in_axes=(None, None, 0, 0, 0), out_axes=None)
        self.test = eqx.filter_pmap(self._test, axis_name=axis, in_axes=(None, 0, 0, 0), out_axes=None)

    def _train(self, model, opt_state, images, labels, valid):
        (loss, (_, count)), grads = eqx.filter_value_and_grad(totals, has_aux=True)(model, images, labels, valid)
        loss, count, grads = jax.lax.psum((loss, count, grads), self.axis)
        grads = jax.tree.map(lambda g: g / count, grads)
        updates, opt_state = self.tx.update(grads, opt_state)
        return eqx.apply_updates(model, updates), opt_state, loss / count

    def _test(self, model, images, labels, valid):
        _, (hits, count) = totals(model, images, labels, valid)
        return jax.lax.psum(hits, self.axis) / jax.lax.psum(count, self.axis)


def padded(images, labels, n):
    missing = -len(labels) % n
    valid = np.concatenate([np.ones(len(labels)), np.zeros(missing)]).astype(np.float32)
    images = np.concatenate([images, np.zeros((missing, *images.shape[1:]), images.dtype)])
    labels = np.concatenate([labels, np.zeros(missing, labels.dtype)])
    return tuple(a.reshape(n, -1, *a.shape[1:]) for a in (images, labels, valid))


def main():
    n = jax.local_device_count()
    rng = np.random.default_rng(0)
    images = rng.normal(size=(29, 16)).astype(np.float32) * np.arange(1, 30)[:, None] / 10
    labels = rng.integers(0, 4, size=29)
    model = Mixer(16, 4, 8, 4, key=jr.key(0))
    tx = optax.sgd(0.1)
    opt_state = tx.init(eqx.filter(model, eqx.is_inexact_array))

    def whole(m):
        loss, (hits, count) = totals(m, images, labels, np.ones(29, np.float32))
        return loss / count, hits / count

    (want, accuracy), grads = eqx.filter_value_and_grad(whole, has_aux=True)(model)
    alone = eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, grads))
    trainer = Trainer(tx)
    batch = padded(images, labels, n)
    got_accuracy = trainer.test(model, *batch)
    new, opt_state, loss = trainer.train(model, opt_state, *batch)
    pairs = zip(jax.tree.leaves(eqx.filter(new, eqx.is_array)), jax.tree.leaves(eqx.filter(alone, eqx.is_array)))
    return (
        bool(np.allclose(loss, want, rtol=1e-4))
        and bool(np.allclose(got_accuracy, accuracy))
        and all(np.allclose(a, b, atol=1e-4) for a, b in pairs)
    )


agrees = main()
