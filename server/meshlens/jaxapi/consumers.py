"""Library classes and calls that use an axis name later: normalization layers, quantizers, optimizers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Consumer:
    """A callable that stores an axis name and reduces over it when its result is used.

    Attributes:
        name: its name in messages.
        dotted: its canonical name.
        parameter: the parameter for the axis name; a call that passes None for it reduces nothing.
        index: its position; None if it is keyword-only.
        when: when the name is used: "call" (when the result is called), a method's name (when that method is called),
            or "now" (during the call itself).
        skips_when: keyword (of the constructor or call) that disables the collective if true.
        skips_unless: keyword that disables it if false.
        skips_in_init: whether the collective is skipped during initialization of parameters.
        required: whether the axis has no default.
        call_parameters: the parameters of the call, if one of them skips the collective and can be passed by position.
    """

    name: str
    dotted: str
    parameter: str
    index: int | None
    when: str = "call"
    skips_when: tuple[str, ...] = ()
    skips_unless: tuple[str, ...] = ()
    skips_in_init: bool = False
    required: bool = False
    call_parameters: tuple[str, ...] = ()


_RUNNING = ("use_running_average",)
_OF_FLAX = ("x", "use_running_average")
_OF_HAIKU = ("inputs", "is_training")

_ROWS = (
    Consumer(
        "BatchNorm",
        "flax.linen.BatchNorm",
        "axis_name",
        10,
        skips_when=_RUNNING,
        skips_in_init=True,
        call_parameters=_OF_FLAX,
    ),
    Consumer("LayerNorm", "flax.linen.LayerNorm", "axis_name", 9),
    Consumer("RMSNorm", "flax.linen.RMSNorm", "axis_name", 7),
    Consumer("GroupNorm", "flax.linen.GroupNorm", "axis_name", 10),
    Consumer("InstanceNorm", "flax.linen.InstanceNorm", "axis_name", 8),
    Consumer("BatchNorm", "flax.nnx.BatchNorm", "axis_name", None, skips_when=_RUNNING, call_parameters=_OF_FLAX),
    Consumer("LayerNorm", "flax.nnx.LayerNorm", "axis_name", None),
    Consumer("RMSNorm", "flax.nnx.RMSNorm", "axis_name", None),
    Consumer("GroupNorm", "flax.nnx.GroupNorm", "axis_name", None),
    Consumer("InstanceNorm", "flax.nnx.InstanceNorm", "axis_name", None),
    Consumer(
        "BatchNorm",
        "haiku.BatchNorm",
        "cross_replica_axis",
        7,
        skips_unless=("is_training",),
        call_parameters=_OF_HAIKU,
    ),
    Consumer("VectorQuantizer", "haiku.nets.VectorQuantizer", "cross_replica_axis", 5),
    Consumer(
        "VectorQuantizerEMA",
        "haiku.nets.VectorQuantizerEMA",
        "cross_replica_axis",
        6,
        skips_unless=("is_training",),
        call_parameters=_OF_HAIKU,
    ),
    Consumer("BatchNorm", "equinox.nn.BatchNorm", "axis_name", 1, skips_when=("inference",), required=True),
    Consumer("sam", "optax.contrib.sam", "batch_axis_name", 5, when="update"),
    Consumer(
        "DynamicScale.value_and_grad",
        "flax.training.dynamic_scale.DynamicScale.value_and_grad",
        "axis_name",
        3,
    ),
)

CONSUMERS: dict[str, Consumer] = {row.dotted: row for row in _ROWS}

NOT_AXIS_NAMES: dict[str, str] = {
    "flax.jax_utils.replicate": "axis_name",
    "flax.jax_utils.prefetch_to_device": "axis_name",
    "flax.linen.partitioning.scan_with_axes": "axis_name",
}
"""Callables with a parameter that looks like an axis name but names something else."""


def consumer(dotted: str) -> Consumer | None:
    """Returns the consumer with the given canonical name, or None."""
    return CONSUMERS.get(dotted)
