"""The keyword arguments of JAX's transformations in each version."""

from __future__ import annotations

from functools import lru_cache

from meshlens.jaxapi.binders import BINDERS
from meshlens.jaxapi.changes import NEWEST, OLDEST, SETTLED
from meshlens.jaxapi.collectives import COLLECTIVES
from meshlens.jaxapi.history import keyword_change
from meshlens.jaxapi.meshes import MESHES

Version = tuple[int, ...]

_JIT = (
    "fun",
    "in_shardings",
    "out_shardings",
    "static_argnums",
    "static_argnames",
    "donate_argnums",
    "donate_argnames",
    "keep_unused",
    "device",
    "backend",
    "inline",
    "abstracted_axes",
    "compiler_options",
    "in_axis_resources",
    "out_axis_resources",
)
_GRAD = ("fun", "argnums", "has_aux", "holomorphic", "allow_int", "reduce_axes")

TRANSFORMATION_KEYWORDS: dict[str, tuple[str, ...]] = {
    "jax.jit": _JIT,
    "jax.grad": _GRAD,
    "jax.value_and_grad": _GRAD,
    "jax.jacfwd": ("fun", "argnums", "has_aux", "holomorphic"),
    "jax.jacrev": ("fun", "argnums", "has_aux", "holomorphic", "allow_int"),
    "jax.hessian": ("fun", "argnums", "has_aux", "holomorphic"),
    "jax.checkpoint": ("fun", "prevent_cse", "policy", "static_argnums", "static_argnames", "concrete"),
    "jax.lax.scan": ("f", "init", "xs", "length", "reverse", "unroll", "_split_transpose"),
}

# (first version with the keyword, first version without it); None means no bound.
VERSIONED: dict[tuple[str, str], tuple[Version | None, Version | None]] = {
    ("jax.pmap", "global_arg_shapes"): (None, (0, 10, 0)),
    ("jax.vmap", "sum_match"): ((0, 9, 0), None),
    ("jax.shard_map", "f"): ((99,), None),
    ("jax.smap", "f"): ((99,), None),
    ("jax.experimental.shard_map.shard_map", "auto"): (None, (0, 8, 0)),
    ("jax.make_jaxpr", "abstracted_axes"): (None, (0, 8, 2)),
    ("jax.make_mesh", "axis_types"): ((0, 5, 0), None),
    ("jax.make_mesh", "axis_sizes"): ((0, 11, 1), None),
    ("jax.jit", "fun"): (None, (0, 7, 0)),
    ("jax.jit", "abstracted_axes"): (None, (0, 8, 2)),
    ("jax.jit", "compiler_options"): ((0, 4, 36), None),
    # These were keywords of pjit only, according to the sources of 0.4.7 to 0.4.14.
    ("jax.jit", "in_axis_resources"): (None, (0, 4, 14)),
    ("jax.jit", "out_axis_resources"): (None, (0, 4, 14)),
    ("jax.checkpoint", "static_argnames"): ((0, 10, 2), None),
    ("jax.checkpoint", "concrete"): (None, (0, 11, 0)),
    ("jax.lax.all_gather", "to"): ((0, 8, 2), None),
}

BY_NAME_TOO: frozenset[tuple[str, str]] = frozenset({("jax.experimental.pjit.pjit", "fun")})
"""Keywords that an alias accepts in every release, although its target does not."""


@lru_cache(maxsize=2_000)
def keywords(dotted: str, version: Version) -> frozenset[str] | None:
    """Returns the keywords that a callable accepts in one version of JAX.

    Args:
        dotted: its canonical name.
        version: the version of JAX, such as `(0, 10, 2)`.

    Returns:
        Their names; None if the callable is not in the tables or accepts any keyword.
    """
    names = _all_keywords(dotted)
    if names is None:
        return None
    return frozenset(name for name in names if _accepted(dotted, name, version))


def may_take(dotted: str, keyword: str, version: Version) -> bool:
    """Returns whether a callable may accept a keyword, according to the tables.

    A release newer than the tables may accept any keyword except removed ones, and a release older than the tables any
    keyword except known mistakes. The default version stands for newer releases too, so it accepts their additions.

    Args:
        dotted: canonical name of the callable.
        keyword: the keyword.
        version: the version of JAX.
    """
    accepted = keywords(dotted, version)
    if accepted is None or keyword in accepted:
        return True
    row = keyword_change(dotted, keyword)
    since, until = VERSIONED.get((dotted, keyword), (None, None))
    if version == SETTLED and since is not None and SETTLED < since <= NEWEST:
        return True
    went = until is not None or (row is not None and row.removed is not None)
    if version < OLDEST:
        return (dotted, keyword) not in MEANT
    return version > NEWEST and not went


def _all_keywords(dotted: str) -> tuple[str, ...] | None:
    binder = BINDERS.get(dotted)
    if binder is not None:
        return None if binder.var_keywords else (*binder.parameters, *binder.keywords)
    plain = TRANSFORMATION_KEYWORDS.get(dotted)
    if plain is not None:
        return plain
    row = MESHES.get(dotted) or COLLECTIVES.get(dotted)
    return None if row is None else (*row.parameters, *row.keywords)


def _accepted(dotted: str, name: str, version: Version) -> bool:
    since, until = VERSIONED.get((dotted, name), (None, None))
    row = keyword_change(dotted, name)
    gone = row.removed if row is not None and until is None else until
    return (since is None or version >= since) and (gone is None or version < gone)


MEANT: dict[tuple[str, str], str] = {
    ("jax.pmap", "static_argnums"): "static_broadcasted_argnums",
    ("jax.pmap", "static_argnames"): "static_broadcasted_argnums",
    ("jax.pmap", "in_axis"): "in_axes",
    ("jax.pmap", "out_axis"): "out_axes",
    ("jax.pmap", "axis"): "axis_name",
    ("jax.pmap", "name"): "axis_name",
    ("jax.pmap", "axis_names"): "axis_name",
    ("jax.vmap", "in_axis"): "in_axes",
    ("jax.vmap", "axis"): "in_axes",
    ("jax.vmap", "axis_names"): "axis_name",
    ("jax.jit", "static_broadcasted_argnums"): "static_argnums",
    ("jax.jit", "in_specs"): "in_shardings",
    ("jax.jit", "out_specs"): "out_shardings",
    ("jax.jit", "in_axis_resources"): "in_shardings",
    ("jax.jit", "out_axis_resources"): "out_shardings",
    ("jax.shard_map", "axis_name"): "axis_names",
    ("jax.shard_map", "check_rep"): "check_vma",
    ("jax.experimental.shard_map.shard_map", "check_vma"): "check_rep",
    ("jax.make_mesh", "shape"): "axis_shapes",
    ("jax.make_mesh", "mesh_shape"): "axis_shapes",
    ("jax.make_mesh", "axis_sizes"): "axis_shapes",
    ("jax.make_mesh", "axis_shapes"): "axis_sizes",
    ("jax.make_mesh", "names"): "axis_names",
}
"""The keyword that was probably meant, for each invalid one."""
