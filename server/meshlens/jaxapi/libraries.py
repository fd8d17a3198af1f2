"""The other callables that the analysis knows: randomness, devices, array constructors, replication, state."""

from __future__ import annotations

from dataclasses import dataclass

_DRAWS = (
    "ball bernoulli beta binomial bits categorical cauchy chisquare choice dirichlet double_sided_maxwell "
    "exponential f gamma generalized_normal geometric gumbel laplace loggamma logistic lognormal maxwell "
    "multinomial multivariate_normal normal orthogonal pareto permutation poisson rademacher randint "
    "rayleigh shuffle t triangular truncated_normal uniform wald weibull_min"
)
_DRAWS_BY_SHAPE = "normal uniform randint gumbel exponential laplace cauchy rademacher bits"

DRAWS: frozenset[str] = frozenset(f"jax.random.{name}" for name in _DRAWS.split())
"""Functions that draw random numbers with a key, their first argument, called `key`."""

DRAWS_IF: dict[str, bool] = {
    **dict.fromkeys("train training is_train is_training enable_dropout".split(), True),
    **dict.fromkeys("deterministic inference eval is_eval".split(), False),
}
"""The usual names of a model's argument that turns dropout and noise on or off, with the value that turns them on."""

KEY_MAKERS: dict[str, str] = {
    "jax.random.PRNGKey": "key",
    "jax.random.key": "key",
    "jax.random.wrap_key_data": "key",
    "jax.random.split": "keys",
    "jax.random.fold_in": "folded",
    "jax.random.clone": "same",
    "jax.random.key_data": "same",
    "flax.linen.make_rng": "key",
    "haiku.next_rng_key": "key",
    "haiku.next_rng_keys": "several",
    "haiku.PRNGSequence": "several",
    "flax.training.common_utils.shard_prng_key": "several",
}
"""Functions that return keys: "key" a single key, "keys" an array of `num` keys, "several" an unknown number.

"folded" is a key that also depends on the data, "same" the given key.
"""

HAIKU_KEYS = frozenset({"haiku.next_rng_key", "haiku.next_rng_keys"})
"""Functions that derive keys from the one passed to `apply`."""

HAIKU_DROPOUT = "haiku.dropout"

VERDICTS = frozenset(
    "isfinite isnan isinf any all count_nonzero argmax argmin argsort equal not_equal less less_equal greater "
    "greater_equal logical_and logical_or logical_not logical_xor isclose allclose array_equal".split()
)
"""Functions and methods whose result is a fact about an array rather than an update of it."""

NORMS = frozenset(
    {"optax.global_norm", "optax.tree.norm", "optax.tree_utils.tree_norm", "optax.tree_utils.tree_l2_norm"}
)
"""Functions that return one number for all arrays of a tree."""

UPDATES = frozenset({"optax.apply_updates", "equinox.apply_updates"})
"""Functions that add an optimizer's updates to parameters."""

UPDATE_METHODS = frozenset({"update", "apply_gradients", "apply_gradient"})
"""Methods of optimizers and training states that take gradients."""

DEVICE_LISTS: dict[str, str] = {
    "jax.devices": "all",
    "jax.local_devices": "local",
}
DEVICE_COUNTS: dict[str, str] = {
    "jax.device_count": "all",
    "jax.local_device_count": "local",
}
PROCESS_QUERIES: dict[str, str] = {
    "jax.process_index": "index",
    "jax.process_count": "count",
    "jax.host_id": "index",
    "jax.host_count": "count",
}
"""Canonical names of queries and what they return; "index" differs between processes."""


@dataclass(frozen=True, slots=True)
class Shaped:
    """A callable whose result has a shape determined by its arguments.

    Attributes:
        how: "shape" (an argument is the shape), "length" (a single argument is the size),
            "like" (as its first argument), "array" (of a literal), "reshape",
            "stack", "concatenate", "broadcast", "repeat", "tile", "expand", "squeeze", "transpose", "square",
            "replicate", "shard", "first", "split", "take".
        parameter: the parameter that determines it.
        index: its position.
    """

    how: str
    parameter: str
    index: int


def _arrays(how: str, parameter: str, index: int, names: str) -> dict[str, Shaped]:
    row = Shaped(how, parameter, index)
    return {f"{module}.{name}": row for module in ("jax.numpy", "numpy") for name in names.split()}


SHAPED: dict[str, Shaped] = {
    **_arrays("shape", "shape", 0, "zeros ones empty full"),
    **_arrays("like", "a", 0, "zeros_like ones_like full_like"),
    **_arrays("like", "prototype", 0, "empty_like"),
    **_arrays("length", "start", 0, "arange"),
    **_arrays("length", "num", 2, "linspace logspace geomspace"),
    **_arrays("length", "n", 0, "fft.fftfreq"),
    **_arrays("length", "M", 0, "hanning hamming blackman bartlett"),
    **_arrays("square", "N", 0, "eye"),
    **_arrays("square", "n", 0, "identity"),
    **_arrays("array", "object", 0, "array"),
    **_arrays("array", "a", 0, "asarray"),
    **_arrays("reshape", "shape", 1, "reshape"),
    **_arrays("stack", "arrays", 0, "stack"),
    **_arrays("concatenate", "arrays", 0, "concatenate"),
    **_arrays("broadcast", "shape", 1, "broadcast_to"),
    **_arrays("repeat", "repeats", 1, "repeat"),
    **_arrays("tile", "reps", 1, "tile"),
    **_arrays("expand", "axis", 1, "expand_dims"),
    **_arrays("squeeze", "axis", 1, "squeeze"),
    **_arrays("transpose", "axes", 1, "transpose"),
    **_arrays("split", "indices_or_sections", 1, "split array_split"),
    **{f"jax.random.{name}": Shaped("shape", "shape", 1) for name in _DRAWS_BY_SHAPE.split()},
    "jax.random.bernoulli": Shaped("shape", "shape", 2),
    "jax.random.truncated_normal": Shaped("shape", "shape", 3),
    "jax.random.split": Shaped("split", "num", 1),
    "jax.lax.broadcast": Shaped("broadcast", "sizes", 1),
    "jax.lax.reshape": Shaped("reshape", "new_sizes", 1),
    "jax.lax.expand_dims": Shaped("expand", "dimensions", 1),
    "jax.lax.squeeze": Shaped("squeeze", "dimensions", 1),
}

GENERATORS: frozenset[str] = frozenset(
    {"numpy.random.default_rng", "numpy.random.RandomState", "numpy.random.Generator"}
)
"""Constructors of NumPy's random generators."""

GENERATOR_SIZES: dict[str, int] = {
    **dict.fromkeys("normal uniform integers randint binomial gamma beta laplace lognormal gumbel logistic".split(), 2),
    **dict.fromkeys("vonmises wald f negative_binomial noncentral_chisquare random_integers".split(), 2),
    **dict.fromkeys("poisson exponential geometric chisquare rayleigh standard_gamma standard_t".split(), 1),
    **dict.fromkeys("weibull pareto power zipf logseries".split(), 1),
    **dict.fromkeys("standard_normal random random_sample standard_exponential standard_cauchy".split(), 0),
    **dict.fromkeys("triangular hypergeometric noncentral_f".split(), 3),
}
"""Generator methods that draw numbers one by one, with the position of `size`; most are also in `numpy.random`."""

GIVES_ARRAY: frozenset[str] = frozenset(
    (
        "sum mean max min prod std var median nansum nanmean nanmax nanmin average logsumexp all any argmax argmin "
        "dot matmul einsum tensordot inner outer vdot cross dot_general conv_general_dilated "
        "exp log log1p expm1 sqrt square abs sign sin cos tan sinh cosh tanh arctan arcsin arccos arctan2 "
        "negative reciprocal power maximum minimum add subtract multiply divide true_divide mod clip floor ceil round "
        "relu relu6 gelu silu swish elu selu celu sigmoid hard_sigmoid hard_tanh softplus softmax log_softmax one_hot "
        "concatenate vstack hstack tile repeat roll flip pad take take_along_axis cumsum cumprod sort argsort "
        "transpose swapaxes moveaxis ravel squeeze expand_dims isnan isfinite isinf logical_and logical_or logical_not "
        "equal greater less float32 int32 bfloat16 float16 rsqrt"
    ).split()
)
"""Functions of `jax.numpy`, `jax.nn` and `jax.lax` that always return one array."""

AS_ARRAY: frozenset[str] = frozenset(
    {f"{module}.{name}" for module in ("numpy", "jax.numpy") for name in ("array", "asarray")}
)
"""Functions that return a copy of an array."""

RANGES_OF_JAX: frozenset[str] = frozenset(
    f"jax.numpy.{name}"
    for name in (
        "arange linspace logspace geomspace array asarray bfloat16 float16 float32 float64 "
        "int8 int16 int32 int64 uint8 uint16 uint32 uint64"
    ).split()
)
"""Functions that return a JAX array of numbers if its shape is known."""

MAY_REPEAT: frozenset[str] = frozenset(
    (
        "zeros ones empty full zeros_like ones_like full_like empty_like broadcast_to stack tile repeat broadcast "
        "eye identity"
    ).split()
)
"""Array constructors whose rows may all be equal."""

REPLICATES: dict[str, int] = {
    "flax.jax_utils.replicate": 0,
    "jax.device_put_replicated": 0,
    "kfac_jax.utils.replicate_all_local_devices": 0,
    "kfac_jax.utils.broadcast_all_local_devices": 0,
    "acme.jax.utils.replicate_in_all_devices": 0,
}
"""Functions that add a leading axis over the devices to every leaf, with the position of the tree."""

PLACES: frozenset[str] = frozenset({"jax.device_put", "jax.reshard", "jax.lax.with_sharding_constraint"})
"""Functions that return their argument, possibly on other devices."""

RESTORES: dict[str, tuple[str, ...]] = {
    "flax.training.checkpoints.restore_checkpoint": ("ckpt_dir", "target"),
    "flax.serialization.from_bytes": ("target",),
    "flax.serialization.from_state_dict": ("target",),
    "equinox.tree_deserialise_leaves": ("path_or_file", "like"),
}
"""Functions that restore a state with the structure of a target, each with its parameters up to the target."""

SAVES: dict[str, tuple[str, ...]] = {
    "flax.training.checkpoints.save_checkpoint": ("ckpt_dir", "target"),
    "flax.training.checkpoints.save_checkpoint_multiprocess": ("ckpt_dir", "target"),
    "flax.serialization.to_bytes": ("target",),
    "flax.serialization.to_state_dict": ("target",),
    "flax.serialization.msgpack_serialize": ("pytree",),
    "equinox.tree_serialise_leaves": ("path_or_file", "pytree"),
    "orbax.checkpoint.args.StandardSave": ("item",),
    "orbax.checkpoint.args.PyTreeSave": ("item",),
    "pickle.dump": ("obj",),
    "pickle.dumps": ("obj",),
}
"""Functions that write a state to disk or serialize it, with their parameters up to the state."""

CHECKPOINTERS: dict[str, tuple[str, ...]] = {
    "orbax.checkpoint.PyTreeCheckpointer": ("directory", "item"),
    "orbax.checkpoint.StandardCheckpointer": ("directory", "state"),
    "orbax.checkpoint.Checkpointer": ("directory", "item"),
    "orbax.checkpoint.AsyncCheckpointer": ("directory", "item"),
    "orbax.checkpoint.CheckpointManager": ("step", "items"),
}
"""Classes whose method `save` writes a state to disk, with its parameters up to the state."""

SHARDS: dict[str, int] = {
    "flax.training.common_utils.shard": 0,
    "flax.training.common_utils.shard_prng_key": 0,
    "jax.device_put_sharded": 0,
    "flax.jax_utils.prefetch_to_device": 0,
}
"""Functions that give each device its part along a leading axis, with the position of the data."""

SPLITS_ROWS: frozenset[str] = frozenset({"flax.training.common_utils.shard"})
"""Functions in `SHARDS` that give each device different rows of the same arrays."""

UNREPLICATES: dict[str, int] = {
    "flax.jax_utils.unreplicate": 0,
    "flax.training.common_utils.get_metrics": 0,
    "kfac_jax.utils.get_first": 0,
    "kfac_jax.utils.get_mean": 0,
    "kfac_jax.utils.get_sum": 0,
}
"""Functions that remove the leading axis over the devices, with the position of the tree."""

TAKES_FIRST: frozenset[str] = frozenset({"flax.jax_utils.unreplicate", "kfac_jax.utils.get_first"})
"""Functions in `UNREPLICATES` that keep device 0's part."""

FRESH_STATE: frozenset[str] = frozenset(
    {
        "flax.training.train_state.TrainState.create",
        "flax.linen.Module.init",
        "flax.linen.Module.init_with_output",
        "haiku.Transformed.init",
        "haiku.TransformedWithState.init",
        "optax.GradientTransformation.init",
        "flax.core.freeze",
        "flax.core.frozen_dict.freeze",
    }
)
"""Functions that return newly created state, as one copy without a leading axis over the devices."""

KEEPS_FRESH: frozenset[str] = frozenset(
    {"flax.core.freeze", "flax.core.frozen_dict.freeze", "optax.GradientTransformation.init"}
)
"""Functions in `FRESH_STATE` whose result has a leading axis over the devices if their argument has one."""

APPLY = "flax.training.train_state.TrainState.apply_fn"
"""The dotted name of the model's `apply` in a training state."""

PLAIN_TREES: frozenset[str] = frozenset(
    {"flax.nnx.to_pure_dict", "flax.nnx.pure", "flax.core.unfreeze", "flax.core.frozen_dict.unfreeze"}
)
"""Functions that convert a tree to plain containers with the same leaves."""

INIT_METHODS: frozenset[str] = frozenset({"init", "init_with_output", "lazy_init"})
"""Methods of library objects that return newly created state."""


MEANS: frozenset[str] = frozenset(
    {
        *(f"{module}.{name}" for module in ("jax.numpy", "numpy") for name in ("mean", "nanmean", "average")),
    }
)
SUMS: frozenset[str] = frozenset(
    {*(f"{module}.{name}" for module in ("jax.numpy", "numpy") for name in ("sum", "nansum"))}
)
"""Reductions of arrays on one device."""
