"""Self-distillation: a student follows a moving average of itself; teacher outputs are centered over the batch."""

from typing import Any

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P


class ProjectionHead(nn.Module):
    out: int

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(16)(x)
        x = nn.gelu(x)
        x = nn.Dense(8)(x)
        x = x / (1e-6 + jnp.linalg.norm(x, axis=-1, keepdims=True))
        return nn.Dense(self.out, use_bias=False)(x)


class Student(nn.Module):
    out: int = 12

    @nn.compact
    def __call__(self, views):
        b, v, f = views.shape
        x = nn.Dense(16)(views.reshape(b * v, f))
        x = nn.LayerNorm()(nn.relu(x))
        return ProjectionHead(self.out)(x).reshape(b, v, self.out)


@flax.struct.dataclass
class State:
    params: Any
    teacher: Any
    center: jax.Array
    opt_state: Any
    step: int


def dino_loss(student, teacher, center, student_temp=0.1, teacher_temp=0.05):
    targets = jax.nn.softmax((teacher - center) / teacher_temp, axis=-1)
    logp = jax.nn.log_softmax(student / student_temp, axis=-1)
    cross = -jnp.einsum("bvk,bwk->bvw", targets, logp)
    views = cross.shape[1]
    off = 1 - jnp.eye(views)
    return jnp.mean(jnp.sum(cross * off, axis=(1, 2)) / off.sum())


def train_step(state, views, rng, *, model, tx, axis="dp", momentum=0.9):
    if axis is not None:
        rng = jax.random.fold_in(rng, jax.lax.axis_index(axis))
    noise = 0.0 * jax.random.normal(rng, views.shape)
    views = views + noise
    teacher = model.apply({"params": state.teacher}, views)

    def loss_fn(params):
        student = model.apply({"params": params}, views)
        return dino_loss(student, jax.lax.stop_gradient(teacher), state.center)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    batch_center = teacher.mean(axis=(0, 1))
    if axis is not None:
        loss, grads, batch_center = jax.lax.pmean((loss, grads, batch_center), axis)
    updates, opt_state = tx.update(grads, state.opt_state, state.params)
    params = optax.apply_updates(state.params, updates)
    teacher_params = jax.tree.map(lambda t, s: momentum * t + (1 - momentum) * s, state.teacher, params)
    center = 0.9 * state.center + 0.1 * batch_center
    new = State(params, teacher_params, center, opt_state, state.step + 1)
    return new, {"loss": loss, "center_norm": jnp.linalg.norm(center)}


def main():
    mesh = Mesh(np.array(jax.devices()).reshape(8), ("dp",))
    model, tx = Student(), optax.adamw(1e-2)
    views = jax.random.normal(jax.random.key(0), (16, 2, 6)) * jnp.arange(1, 17)[:, None, None]
    params = model.init(jax.random.key(1), views)["params"]
    state = State(params, params, jnp.zeros(12), tx.init(params), 0)
    rng = jax.random.key(2)

    want, want_metrics = train_step(state, views, rng, model=model, tx=tx, axis=None)
    want, want_metrics = train_step(want, views, rng, model=model, tx=tx, axis=None)

    def local(state, views, rng):
        return train_step(state, views, rng, model=model, tx=tx)

    step = jax.jit(
        jax.shard_map(
            local, mesh=mesh, in_specs=(P(), P("dp"), P()), out_specs=(P(), P()), check_vma=False
        )
    )
    got, metrics = step(state, views, rng)
    got, metrics = step(got, views, rng)
    same = jax.tree.map(
        lambda a, b: np.allclose(a, b, atol=2e-3), (got.teacher, got.center), (want.teacher, want.center)
    )
    return all(jax.tree.leaves(same)) and bool(np.allclose(metrics["loss"], want_metrics["loss"], atol=1e-3))


agrees = main()
