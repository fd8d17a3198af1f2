"""Resolves re-exports, private paths and former locations in JAX and its libraries to canonical names."""

from __future__ import annotations

from functools import lru_cache

_EXACT = {
    "jax.P": "jax.sharding.PartitionSpec",
    "jax.NamedSharding": "jax.sharding.NamedSharding",
    "jax.lib.xla_bridge.get_backend": "jax.extend.backend.get_backend",
    "jax.Partial": "jax.tree_util.Partial",
    "jax.remat": "jax.checkpoint",
    "jax.ad_checkpoint.checkpoint": "jax.checkpoint",
    "jax.ad_checkpoint.remat": "jax.checkpoint",
    "jax.new_remat": "jax.checkpoint",
    "jax.jacobian": "jax.jacrev",
    "jax.host_count": "jax.process_count",
    "jax.host_id": "jax.process_index",
    "jax.sharding.set_mesh": "jax.set_mesh",
    "jax.sharding.make_mesh": "jax.make_mesh",
    "jax.sharding.reshard": "jax.reshard",
    "jax.custom_derivatives.closure_convert": "jax.closure_convert",
    "jax.custom_derivatives.custom_gradient": "jax.custom_gradient",
    "jax.custom_derivatives.custom_jvp": "jax.custom_jvp",
    "jax.custom_derivatives.custom_vjp": "jax.custom_vjp",
    "jax.experimental.PartitionSpec": "jax.sharding.PartitionSpec",
    "jax.experimental.pjit.PartitionSpec": "jax.sharding.PartitionSpec",
    "jax.experimental.pjit.with_sharding_constraint": "jax.lax.with_sharding_constraint",
    "jax.experimental.pjit.pjit": "jax.jit",
    "jax.experimental.maps.Mesh": "jax.sharding.Mesh",
    "jax.experimental.maps.mesh": "jax.sharding.Mesh",
    "jax.experimental.maps.ResourceEnv": "jax.interpreters.pxla.ResourceEnv",
    "jax.experimental.maps.thread_resources": "jax.interpreters.pxla.thread_resources",
    "jax.experimental.sharding.Mesh": "jax.sharding.Mesh",
    "jax.experimental.sharding.NamedSharding": "jax.sharding.NamedSharding",
    "jax.experimental.sharding.PartitionSpec": "jax.sharding.PartitionSpec",
    "jax.experimental.sharding.MeshPspecSharding": "jax.sharding.NamedSharding",
    "jax.interpreters.pxla.Mesh": "jax.sharding.Mesh",
    "jax.interpreters.pxla.PartitionSpec": "jax.sharding.PartitionSpec",
    "jax.interpreters.sharded_jit.PartitionSpec": "jax.sharding.PartitionSpec",
    "jax.experimental.x64_context.enable_x64": "jax.enable_x64",
    "jax.experimental.enable_x64": "jax.enable_x64",
    "jax.random.PRNGKeyArray": "jax.random.KeyArray",
    "jax.numpy.amax": "jax.numpy.max",
    "jax.numpy.amin": "jax.numpy.min",
    "jax.nn.logsumexp": "jax.scipy.special.logsumexp",
    "jax.scipy.misc.logsumexp": "jax.scipy.special.logsumexp",
    "jax.tree_map": "jax.tree.map",
    "jax.tree_multimap": "jax.tree.map",
    "jax.tree_util.tree_map": "jax.tree.map",
    "jax.tree_util.tree_multimap": "jax.tree.map",
    "jax.tree_util.tree_map_with_path": "jax.tree.map_with_path",
    "jax.tree_util.tree_leaves_with_path": "jax.tree.leaves_with_path",
    "jax.tree_util.tree_flatten_with_path": "jax.tree.flatten_with_path",
    **{
        f"jax.{prefix}{name}": f"jax.tree.{name}"
        for prefix in ("tree_", "tree_util.tree_")
        for name in ("all", "flatten", "leaves", "reduce", "structure", "transpose", "unflatten")
    },
    **{
        f"flax.{module}.{name}": f"jax.nn.{name}"
        for module in ("linen", "nnx")
        for name in (
            "celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid log_softmax "
            "one_hot relu relu6 selu sigmoid silu soft_sign softmax softplus standardize swish"
        ).split()
    },
    **{f"flax.{module}.tanh": "jax.numpy.tanh" for module in ("linen", "nnx")},
    "flax.linen.checkpoint": "flax.linen.remat",
    "flax.nnx.checkpoint": "flax.nnx.remat",
    "flax.nnx.jax_partial": "functools.partial",
    "flax.linen.module.compact": "flax.linen.compact",
    "flax.linen.partitioning.remat": "flax.linen.remat",
    "haiku.checkpoint": "haiku.remat",
    "haiku.lax.scan": "haiku.scan",
    "haiku.nets.vqvae.VectorQuantizer": "haiku.nets.VectorQuantizer",
    "haiku.nets.vqvae.VectorQuantizerEMA": "haiku.nets.VectorQuantizerEMA",
    "haiku.SyncBatchNorm": "haiku.BatchNorm",
    "haiku.data_structures.tree_map": "jax.tree.map",
    "optax.tree_utils.tree_map_params": "optax.tree_map_params",
    "optax.tree.map_params": "optax.tree_map_params",
    "equinox.filter_remat": "equinox.filter_checkpoint",
    "chex.PRNGKey": "jax.random.KeyArray",
}

# The rest of a name after a prefix is unchanged; the longest prefix wins.
_PREFIXES = {
    "jax._src.api.": "jax.",
    "jax._src.pmap.": "jax.",
    "jax.api.": "jax.",
    "jax._src.ad_checkpoint.": "jax.",
    "jax._src.custom_derivatives.": "jax.",
    "jax._src.tree_util.": "jax.tree_util.",
    "jax._src.tree.": "jax.tree.",
    "jax._src.shard_map.": "jax.",
    "jax._src.lax.parallel.": "jax.lax.",
    "jax._src.lax.control_flow.": "jax.lax.",
    "jax._src.lax.control_flow.loops.": "jax.lax.",
    "jax._src.lax.control_flow.conditionals.": "jax.lax.",
    "jax._src.lax.lax.": "jax.lax.",
    "jax._src.lax.": "jax.lax.",
    "jax.lax.parallel.": "jax.lax.",
    "jax.lax.lax_parallel.": "jax.lax.",
    "jax.lax.lax.": "jax.lax.",
    "jax.lax.control_flow.": "jax.lax.",
    "jax._src.numpy.lax_numpy.": "jax.numpy.",
    "jax._src.numpy.reductions.": "jax.numpy.",
    "jax._src.numpy.": "jax.numpy.",
    "jax.numpy.lax_numpy.": "jax.numpy.",
    "jax.experimental.numpy.": "jax.numpy.",
    "jax.np.": "jax.numpy.",
    "jax._src.nn.functions.": "jax.nn.",
    "jax._src.nn.": "jax.nn.",
    "jax.experimental.stax.": "jax.example_libraries.stax.",
    "jax.experimental.optimizers.": "jax.example_libraries.optimizers.",
    "jax.nn.functions.": "jax.nn.",
    "jax._src.random.": "jax.random.",
    "jax.prng.": "jax.random.",
    "jax._src.sharding.": "jax.sharding.",
    "jax._src.sharding_impls.": "jax.sharding.",
    "jax._src.named_sharding.": "jax.sharding.",
    "jax._src.partition_spec.": "jax.sharding.",
    "jax._src.mesh.": "jax.sharding.",
    "jax._src.mesh_utils.": "jax.experimental.mesh_utils.",
    "jax._src.interpreters.pxla.": "jax.interpreters.pxla.",
    "jax._src.maps.": "jax.experimental.maps.",
    "jax._src.pjit.": "jax.experimental.pjit.",
    "jax._src.pallas.": "jax.experimental.pallas.",
    "jax._src.xla_bridge.": "jax.",
    "jax.lib.xla_bridge.": "jax.",
    "jax._src.util.": "jax.util.",
    "jax._src.": "jax.",
    "flax.linen.normalization.": "flax.linen.",
    "flax.linen.linear.": "flax.linen.",
    "flax.linen.module.": "flax.linen.",
    "flax.linen.transforms.": "flax.linen.",
    "flax.linen.activation.": "flax.linen.",
    "flax.linen.attention.": "flax.linen.",
    "flax.linen.stochastic.": "flax.linen.",
    "flax.experimental.nnx.": "flax.nnx.",
    "flax.nnx.nn.normalization.": "flax.nnx.",
    "flax.nnx.nnx.": "flax.nnx.",
    "flax.nnx.transforms.transforms.": "flax.nnx.",
    "flax.nnx.transforms.": "flax.nnx.",
    "flax.optim.dynamic_scale.": "flax.training.dynamic_scale.",
    "optax.losses.": "optax.",
    "flax.linen.spmd.": "flax.linen.",
    "haiku._src.batch_norm.": "haiku.",
    "haiku._src.stateful.": "haiku.",
    "haiku._src.transform.": "haiku.",
    "haiku._src.nets.vqvae.": "haiku.nets.",
    "equinox._vmap_pmap.": "equinox.",
    "equinox._jit.": "equinox.",
    "equinox._ad.": "equinox.",
    "equinox.nn._batch_norm.": "equinox.nn.",
    "optax._src.": "optax.",
    "optax._src.base.": "optax.",
    "optax._src.combine.": "optax.",
    "optax.transforms.": "optax.",
    "optax.contrib._sam.": "optax.contrib.",
    "chex._src.fake.": "chex.",
    "chex._src.variants.": "chex.",
    "chex._src.asserts.": "chex.",
    "kfac_jax._src.utils.": "kfac_jax.utils.",
    "kfac_jax._src.utils.parallel.": "kfac_jax.utils.",
    "kfac_jax.utils.parallel.": "kfac_jax.utils.",
    "jax.experimental.pallas.mosaic.": "jax.experimental.pallas.tpu.",
    "jax._src.pallas.mosaic.": "jax.experimental.pallas.tpu.",
}
_HEADS = frozenset(prefix.split(".", 1)[0] for prefix in _PREFIXES)


@lru_cache(maxsize=10_000)
def canonical(dotted: str) -> str:
    """Returns the canonical name that the tables use for a dotted name.

    Two spellings of one behavior have the same canonical name; the history of changes uses names as written.

    Args:
        dotted: the name with the file's own aliases resolved, such as `jax.experimental.pjit.PartitionSpec`.

    Returns:
        The canonical name; an unknown name is returned unchanged.
    """
    if dotted.split(".", 1)[0] not in _HEADS:
        return dotted
    known = _EXACT.get(dotted)
    if known is not None:
        return known
    end = dotted.rfind(".") + 1
    while end > 0:
        public = _PREFIXES.get(dotted[:end])
        if public is not None:
            return canonical(public + dotted[end:])
        end = dotted.rfind(".", 0, end - 1) + 1
    return dotted
