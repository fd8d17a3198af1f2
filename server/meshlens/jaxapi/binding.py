"""Binders: transformations that bind axis names, and how they are called."""

from __future__ import annotations

from dataclasses import dataclass

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Binder:
    """One binder.

    Attributes:
        kind: "pmap", "vmap", "shard_map", "smap", "axis_env", "xmap" or "pallas".
        dotted: its canonical name.
        parameters: names of the positional parameters in order.
        keywords: names of the keyword-only parameters.
        operand: the parameter that takes the mapped function, at position 0; "" if it is only a decorator,
            which runs the function at once.
        names_from: where the axis names come from: "axis_name" (one name), "mesh" (all names of the mesh, or
            those of `axis_names`), "axis_env" (pairs of name and size), "xmap" (names in `in_axes`), "grid" (pairs of
            name and size, here or in a grid spec), "parameters" (those of several parameters), "" (none).
        names: the parameter that holds them.
        more_names: further parameters that hold some, for "parameters".
        default_name: the name bound when the parameter is left out.
        factory: it may be called without the operand and then decorates.
        positional_only: the operand cannot be given by keyword.
        open: further names may be bound that the call does not show.
        var_keywords: it accepts any keyword.
        in_axes, out_axes, static, donate: parameters that say how arguments and results are mapped, which
            arguments are static, which are donated; None where there is none.
        mesh: the parameter that takes the mesh.
        check: the parameter that switches the check of replication.
        since, until: first version that has it, first version without it.
        wrapped_keywords: the mapped function accepts keyword arguments.
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
"""What every relative of `pmap` takes by keyword."""
