import jax
from jax import lax
from jax.sharding import PartitionSpec as P

from .optimizer import AXIS, AdamState, ShardedAdam


def make_train_step(loss_fn, tx: ShardedAdam, mesh):
    state_specs = AdamState(count=P(), mu=P(AXIS), nu=P(AXIS))

    def local_step(params, state, batch):
        loss, grads = jax.value_and_grad(loss_fn)(params, batch)
        params, state = tx.update(grads, state, params)
        return params, state, lax.pmean(loss, AXIS)

    mapped = jax.shard_map(
        local_step,
        mesh=mesh,
        in_specs=(P(), state_specs, P(AXIS)),
        out_specs=(P(), state_specs, P()),
        check_vma=False,
    )
    return jax.jit(mapped, donate_argnames=("params", "state"))
