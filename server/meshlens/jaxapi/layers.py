"""Layers of flax, haiku and equinox, and what they do to the shape of an array."""

from __future__ import annotations

from typing import NamedTuple

LAST = "last"
LOOK_UP = "look up"
CONVOLVE = "convolve"


class Features(NamedTuple):
    """The layer parameter that sets the number of features of the result.

    Attributes:
        parameter: its name.
        place: its position.
        how: what the layer does: `LAST` replaces the last axis, `LOOK_UP` adds one, `CONVOLVE` may change all.
    """

    parameter: str
    place: int
    how: str = LAST


INITIALIZERS = ".initializers."
"""A part of the name of each function that makes an array from a key and a shape, or returns such a function."""

PARAMETERS: frozenset[str] = frozenset(
    f"flax.nnx.{name}" for name in "Param Variable BatchStat Cache Intermediate".split()
)
"""Classes that wrap an array, their first argument."""

KEEP_SHAPE: frozenset[str] = frozenset(
    [
        f"flax.{module}.{name}"
        for module in ("linen", "nnx")
        for name in "LayerNorm RMSNorm GroupNorm BatchNorm InstanceNorm Dropout".split()
    ]
    + ["haiku.LayerNorm", "haiku.RMSNorm", "haiku.GroupNorm", "haiku.BatchNorm", "haiku.InstanceNorm"]
    + ["equinox.nn.LayerNorm", "equinox.nn.RMSNorm", "equinox.nn.Dropout", "equinox.nn.Identity"]
)
"""Layers whose result has the shape of their argument."""

KEEP_SHAPE_BY_DEFAULT: dict[str, str] = dict.fromkeys(
    (
        "flax.linen.MultiHeadDotProductAttention",
        "flax.linen.MultiHeadAttention",
        "flax.linen.SelfAttention",
        "flax.nnx.MultiHeadAttention",
    ),
    "out_features",
) | {"equinox.nn.MultiheadAttention": "output_size"}
"""Layers whose result has the shape of their first argument, unless this parameter is given."""

FEATURES: dict[str, Features] = {
    "flax.linen.Dense": Features("features", 0),
    "flax.linen.Embed": Features("features", 1, LOOK_UP),
    "flax.linen.Conv": Features("features", 0, CONVOLVE),
    "flax.nnx.Linear": Features("out_features", 1),
    "flax.nnx.Embed": Features("features", 1, LOOK_UP),
    "flax.nnx.Conv": Features("out_features", 1, CONVOLVE),
    "haiku.Linear": Features("output_size", 0),
    "haiku.Embed": Features("embed_dim", 1, LOOK_UP),
    "haiku.Conv2D": Features("output_channels", 0, CONVOLVE),
    "equinox.nn.Linear": Features("out_features", 1),
    "equinox.nn.Embedding": Features("embedding_size", 1, LOOK_UP),
}
"""Layers that set the number of features of their result."""

KEEP_ROWS: frozenset[str] = frozenset(
    [name for name in (*KEEP_SHAPE, *KEEP_SHAPE_BY_DEFAULT, *FEATURES) if not name.startswith("equinox.")]
    + [f"flax.{module}.{name}" for module in ("linen", "nnx") for name in "ConvTranspose Einsum PReLU".split()]
    + ["flax.linen.DenseGeneral", "flax.linen.ConvLocal"]
    + ["flax.nnx.LinearGeneral", "flax.nnx.LoRALinear"]
    + [f"haiku.{name}" for name in "Conv1D Conv3D Conv1DTranspose Conv2DTranspose nets.MLP MultiHeadAttention".split()]
)
"""Layers that work on each row of their first argument, an array with at least two dimensions."""

SEQUENTIAL: frozenset[str] = frozenset(
    {"flax.linen.Sequential", "flax.nnx.Sequential", "equinox.nn.Sequential", "haiku.Sequential"}
)
"""Layers that apply other layers, passed as a list or as positional arguments, one after another."""

METHODS_OF_ROWS: frozenset[str] = frozenset({"attend"})
"""Methods of layers, such as those of an embedding, that work on each row of their argument."""


class Created(NamedTuple):
    """A parameter that a layer creates.

    Attributes:
        path: its path inside the layer.
        axes: for each axis, the layer's parameter that gives its size; "input" for the last size of the layer's input,
            "" for another size, and "*kernel_size" for as many axes as the parameter `kernel_size` has entries.
        switch: the layer's parameter that switches it off; "" if there is none.
    """

    path: tuple[str, ...]
    axes: tuple[str, ...]
    switch: str = ""


class Creates(NamedTuple):
    """The parameters that a layer creates.

    Attributes:
        parameters: the layer's own positional parameters, in order.
        leaves: the parameters that it creates.
        unless: parameters of the layer with which it creates others.
    """

    parameters: tuple[str, ...]
    leaves: tuple[Created, ...]
    unless: tuple[str, ...] = ()


def _affine(features: str) -> tuple[Created, ...]:
    scale = Created(("scale",), (features,), "use_scale")
    return scale, Created(("bias",), (features,), "use_bias")


def _attention(features: str) -> tuple[Created, ...]:
    made: list[Created] = []
    for name in ("query", "key", "value"):
        made.append(Created((name, "kernel"), (features, "num_heads", "")))
        made.append(Created((name, "bias"), ("num_heads", ""), "use_bias"))
    return (
        *made,
        Created(("out", "kernel"), ("num_heads", "", "")),
        Created(("out", "bias"), ("",), "use_bias"),
    )


def _linear(features: str, inputs: str) -> tuple[Created, ...]:
    return Created(("kernel",), (inputs, features)), Created(("bias",), (features,), "use_bias")


def _convolution(features: str) -> tuple[Created, ...]:
    return Created(("kernel",), ("*kernel_size", "", features)), Created(("bias",), (features,), "use_bias")


_OTHER_AXES = ("feature_axes", "reduction_axes", "axis")
_OTHER_KERNELS = ("normalize_qk", "qkv_dot_general_cls", "dot_general_cls")

CREATED: dict[str, Creates] = {
    "flax.linen.Dense": Creates(("features",), _linear("features", "input")),
    "flax.linen.Embed": Creates(
        ("num_embeddings", "features"), (Created(("embedding",), ("num_embeddings", "features")),)
    ),
    "flax.linen.Conv": Creates(("features", "kernel_size"), _convolution("features")),
    "flax.linen.LayerNorm": Creates((), _affine("input"), _OTHER_AXES),
    "flax.linen.GroupNorm": Creates((), _affine("input"), _OTHER_AXES),
    "flax.linen.BatchNorm": Creates((), _affine("input"), _OTHER_AXES),
    "flax.linen.RMSNorm": Creates((), _affine("input")[:1], _OTHER_AXES),
    "flax.nnx.Linear": Creates(("in_features", "out_features"), _linear("out_features", "in_features")),
    "flax.nnx.Embed": Creates(
        ("num_embeddings", "features"), (Created(("embedding",), ("num_embeddings", "features")),)
    ),
    "flax.nnx.Conv": Creates(("in_features", "out_features", "kernel_size"), _convolution("out_features")),
    "flax.nnx.LayerNorm": Creates(("num_features",), _affine("num_features"), _OTHER_AXES),
    "flax.nnx.GroupNorm": Creates(("num_features",), _affine("num_features"), _OTHER_AXES),
    "flax.nnx.BatchNorm": Creates(("num_features",), _affine("num_features"), _OTHER_AXES),
    "flax.nnx.RMSNorm": Creates(("num_features",), _affine("num_features")[:1], _OTHER_AXES),
    "equinox.nn.Linear": Creates(
        ("in_features", "out_features", "use_bias"),
        (Created(("weight",), ("out_features", "in_features")), Created(("bias",), ("out_features",), "use_bias")),
    ),
    "equinox.nn.Embedding": Creates(
        ("num_embeddings", "embedding_size"), (Created(("weight",), ("num_embeddings", "embedding_size")),), ("weight",)
    ),
    **{
        f"equinox.nn.{name}": Creates(
            ("shape", "eps", "use_weight", "use_bias"),
            (Created(("weight",), ("*shape",), "use_weight"), Created(("bias",), ("*shape",), "use_bias")),
        )
        for name in ("LayerNorm", "RMSNorm")
    },
    **{
        f"flax.linen.{name}": Creates(("num_heads",), _attention("input"), _OTHER_KERNELS)
        for name in ("MultiHeadDotProductAttention", "MultiHeadAttention", "SelfAttention")
    },
}
"""The parameters that layers of flax and equinox create, as `jax.tree_util.tree_leaves_with_path` lists them."""
