"""Binders: transformations that bind axis names, and how they are called."""

from __future__ import annotations

from dataclasses import dataclass

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Binder:
    """A transformation that binds axis names.

    Attributes:
        kind: "pmap", "vmap", "shard_map", "smap", "axis_env", "xmap" or "pallas".
        dotted: its canonical name.
        parameters: names of the positional parameters in order.
        keywords: names of the keyword-only parameters.
        operand: the parameter that takes the mapped function, at position 0; "" if the transformation is only a
            decorator, which runs the function immediately.
        names_from: the source of the axis names: "axis_name" (one name), "mesh" (all names of the mesh, or
            those of `axis_names`), "axis_env" (pairs of name and size), "xmap" (names in `in_axes`), "grid" (pairs of
            name and size, here or in a grid spec), "parameters" (the values of several parameters), "" (none).
        names: the parameter for the axis names.
        more_names: further parameters for axis names, if `names_from` is "parameters".
        default_name: the name bound by default.
        factory: whether it may be called without the operand to get a decorator.
        positional_only: whether the operand cannot be given by keyword.
        open: whether it may bind names that the call does not show.
        var_keywords: whether it accepts any keyword.
        in_axes, out_axes, static, donate: the parameters for the mapped axes of the arguments and of the results, for
            the static arguments, and for the donated ones; None if the transformation has no such parameter.
        mesh: the parameter for the mesh.
        check: the parameter that turns off the replication check.
        since, until: first version with it, first version without it.
        wrapped_keywords: whether the mapped function accepts keyword arguments.
    """

    kind: str
    dotted: str
    parameters: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    operand: str = "fun"
    names_from: str = "axis_name"
    names: str = "axis_name"
    more_names: tuple[str, ...] = ()
    default_name: str | None = None
    factory: bool = False
    positional_only: bool = False
    open: bool = False
    var_keywords: bool = False
    in_axes: str | None = "in_axes"
    out_axes: str | None = "out_axes"
    static: str | None = None
    donate: str | None = None
    mesh: str | None = None
    check: str | None = None
    since: Version | None = None
    until: Version | None = None
    wrapped_keywords: bool = True


PMAP_KEYWORDS = (
    "in_axes",
    "out_axes",
    "static_broadcasted_argnums",
    "devices",
    "backend",
    "axis_size",
    "donate_argnums",
)
"""Keywords that `jax.pmap` and `flax.nnx.pmap` have in common."""
