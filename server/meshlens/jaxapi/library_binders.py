"""The binders in libraries: Pallas, Flax, Haiku, Equinox, Objax, Haliax."""

from __future__ import annotations

from meshlens.jaxapi.binding import PMAP_KEYWORDS, Binder

_GRAPH = ("graph", "graph_updates")
_LINEN_VMAP = ("variable_axes", "split_rngs", "in_axes", "out_axes", "axis_size", "axis_name")

_PALLAS_ROOT = "jax.experimental.pallas"
_PALLAS = (
    *(
        Binder(
            "pallas",
            f"{_PALLAS_ROOT}.{name}",
            parameters,
            operand=operand,
            names_from="mesh",
            names="mesh",
            factory=True,
            var_keywords=True,
            in_axes=None,
            out_axes=None,
            mesh="mesh",
        )
        for name, parameters, operand in (
            ("kernel", ("body", "out_type"), "body"),
            ("core_map", ("mesh",), ""),
        )
    ),
    Binder(
        "pallas",
        f"{_PALLAS_ROOT}.pallas_call",
        ("kernel", "out_shape"),
        ("grid_spec", "grid"),
        operand="kernel",
        names_from="grid",
        names="grid",
        factory=True,
        var_keywords=True,
        in_axes=None,
        out_axes=None,
    ),
    Binder(
        "pallas",
        f"{_PALLAS_ROOT}.mosaic_gpu.kernel",
        ("body", "out_shape"),
        ("grid_names", "cluster_names", "thread_name"),
        operand="body",
        names_from="parameters",
        names="grid_names",
        more_names=("cluster_names", "thread_name"),
        factory=True,
        var_keywords=True,
        in_axes=None,
        out_axes=None,
        mesh="mesh",
    ),
)

_LIBRARIES = (
    Binder(
        "vmap",
        "flax.linen.vmap",
        ("target", *_LINEN_VMAP, "spmd_axis_name", "metadata_params", "methods"),
        operand="target",
    ),
    Binder(
        "vmap",
        "flax.core.lift.vmap",
        ("fn", *_LINEN_VMAP, "spmd_axis_name", "metadata_params"),
        operand="fn",
    ),
    Binder(
        "vmap",
        "flax.linen.partitioning.vmap_with_axes",
        ("target", *_LINEN_VMAP, "partitioning_axis_names", "spmd_axis_name", "methods"),
        operand="target",
    ),
    Binder(
        "vmap",
        "haiku.vmap",
        ("fun", "in_axes", "out_axes", "axis_name", "axis_size"),
        ("split_rng", "spmd_axis_name"),
    ),
    Binder(
        "vmap",
        "flax.nnx.vmap",
        ("f",),
        ("in_axes", "out_axes", "axis_name", "axis_size", "spmd_axis_name", "transform_metadata", *_GRAPH),
        operand="f",
        factory=True,
    ),
    Binder(
        "pmap",
        "flax.nnx.pmap",
        ("f",),
        ("axis_name", *PMAP_KEYWORDS, "transform_metadata", *_GRAPH),
        operand="f",
        factory=True,
        static="static_broadcasted_argnums",
        donate="donate_argnums",
    ),
    Binder(
        "shard_map",
        "flax.nnx.shard_map",
        ("f",),
        ("mesh", "in_specs", "out_specs", "axis_names", "check_vma", *_GRAPH),
        operand="f",
        names_from="mesh",
        names="axis_names",
        factory=True,
        in_axes="in_specs",
        out_axes="out_specs",
        mesh="mesh",
        check="check_vma",
    ),
    Binder(
        "vmap",
        "equinox.filter_vmap",
        ("fun",),
        ("in_axes", "out_axes", "axis_name", "axis_size"),
        factory=True,
        var_keywords=True,
    ),
    Binder(
        "pmap",
        "equinox.filter_pmap",
        ("fun",),
        ("in_axes", "out_axes", "axis_name", "axis_size", "donate"),
        factory=True,
        var_keywords=True,
        donate="donate",
    ),
    Binder(
        "pmap",
        "objax.Parallel",
        ("f", "vc", "reduce", "axis_name", "static_argnums"),
        operand="f",
        default_name="device",
        in_axes=None,
        out_axes=None,
        static="static_argnums",
    ),
    Binder("vmap", "objax.Vectorize", ("f", "vc", "batch_axis"), operand="f", names_from="", in_axes="batch_axis"),
    Binder(
        "shard_map",
        "haliax.shard_map",
        ("f",),
        operand="f",
        names_from="mesh",
        names="axis_names",
        factory=True,
        open=True,
        var_keywords=True,
        in_axes="in_specs",
        out_axes="out_specs",
        mesh="mesh",
    ),
    Binder("vmap", "haliax.vmap", ("fn", "axis"), (), operand="fn", names_from="", open=True, var_keywords=True),
)

ROWS = (*_PALLAS, *_LIBRARIES)
