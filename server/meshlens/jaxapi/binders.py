"""The transformations that bind axis names: `pmap`, `vmap`, `shard_map`, `smap` and equivalents in libraries."""

from __future__ import annotations

from meshlens.jaxapi import library_binders
from meshlens.jaxapi.binding import PMAP_KEYWORDS, Binder

__all__ = ["BINDERS", "MAPS_ON_DEVICES", "PATCHES_PMAP", "RUNS_VARIANTS", "Binder", "binder"]

_XLA_COMPUTATION = (
    "in_parts", "out_parts", "backend", "tuple_args", "instantiate_const_outputs", "return_shape", "donate_argnums",
)  # fmt: skip

_JAX = (
    Binder(
        "pmap",
        "jax.pmap",
        ("fun", "axis_name"),
        (*PMAP_KEYWORDS, "global_arg_shapes"),
        static="static_broadcasted_argnums",
        donate="donate_argnums",
    ),
    Binder("pmap", "jax.soft_pmap", ("fun", "axis_name", "in_axes"), (), out_axes=None, until=(0, 3, 18)),
    Binder(
        "vmap",
        "jax.vmap",
        ("fun", "in_axes", "out_axes", "axis_name", "axis_size", "spmd_axis_name", "sum_match"),
    ),
    Binder(
        "shard_map",
        "jax.shard_map",
        ("f",),
        ("mesh", "in_specs", "out_specs", "axis_names", "check_vma"),
        operand="f",
        names_from="mesh",
        names="axis_names",
        factory=True,
        positional_only=True,
        in_axes="in_specs",
        out_axes="out_specs",
        mesh="mesh",
        check="check_vma",
        since=(0, 6, 1),
        wrapped_keywords=False,
    ),
    Binder(
        "shard_map",
        "jax.experimental.shard_map.shard_map",
        ("f", "mesh", "in_specs", "out_specs", "check_rep", "auto"),
        operand="f",
        names_from="mesh",
        names="auto",
        in_axes="in_specs",
        out_axes="out_specs",
        mesh="mesh",
        check="check_rep",
        wrapped_keywords=False,
    ),
    Binder(
        "smap",
        "jax.smap",
        ("f",),
        ("in_axes", "out_axes", "axis_name"),
        operand="f",
        factory=True,
        positional_only=True,
        since=(0, 7, 0),
        wrapped_keywords=False,
    ),
    Binder(
        "axis_env",
        "jax.make_jaxpr",
        ("fun", "static_argnums", "axis_env", "return_shape", "abstracted_axes"),
        names_from="axis_env",
        names="axis_env",
        in_axes=None,
        out_axes=None,
        static="static_argnums",
    ),
    Binder(
        "axis_env",
        "jax.xla_computation",
        ("fun", "static_argnums", "axis_env", *_XLA_COMPUTATION),
        names_from="axis_env",
        names="axis_env",
        in_axes=None,
        out_axes=None,
        static="static_argnums",
        until=(0, 4, 34),
    ),
    Binder(
        "xmap",
        "jax.experimental.maps.xmap",
        ("fun", "in_axes", "out_axes"),
        ("axis_sizes", "axis_resources", "donate_argnums", "backend"),
        names_from="xmap",
        names="in_axes",
        open=True,
        donate="donate_argnums",
        until=(0, 4, 31),
    ),
)

BINDERS: dict[str, Binder] = {row.dotted: row for row in (*_JAX, *library_binders.ROWS)}

MAPS_ON_DEVICES = frozenset({"pmap", "shard_map", "smap"})
"""Kinds that run their operand on several devices; they do not nest, so no outer map binds more names."""

PATCHES_PMAP = frozenset({"chex.fake_pmap", "chex.fake_pmap_and_jit"})
"""Context managers that replace `jax.pmap` with `vmap`, with the same axis names."""

RUNS_VARIANTS = frozenset({"chex.variants", "chex.all_variants"})
"""Decorators of test methods whose `self.variant` may be a `pmap` with the axis name "i"."""


def binder(dotted: str) -> Binder | None:
    """Returns the binder with the given canonical name, or None."""
    return BINDERS.get(dotted)
