"""Flax's logical axes: the mesh axes that a table of rules assigns to an array's dimensions."""

from __future__ import annotations

from meshlens.axes.domain.values import Arg, Const, Seq, Site, Spec, Union, Value
from meshlens.axes.jax.naming import names_in

TO_SPEC = frozenset({"flax.linen.logical_to_mesh_axes", "flax.linen.partitioning.logical_to_mesh_axes"})
TO_SHARDINGS = "flax.linen.logical_to_mesh_sharding"


def assigned(names: Value, rules: Value) -> tuple[Value, ...] | None:
    """Returns the mesh axes of each dimension; None unless all names and rules are known.

    As in Flax, the first rule for a name whose mesh axes are still free wins.

    Args:
        names: the logical names of the dimensions.
        rules: pairs of a logical name and one or several mesh axes, or None.
    """
    if not isinstance(names, Seq) or names.open or not isinstance(rules, Seq) or rules.open:
        return None
    if not all(isinstance(name, Const) for name in names.items):
        return None
    wanted = [name.value for name in names.items if isinstance(name, Const)]
    result: dict[int, Value] = {}
    for rule in rules.items:
        if not isinstance(rule, Seq) or len(rule.items) != 2 or not isinstance(rule.items[0], Const):
            return None
        logical, axes = rule.items[0].value, rule.items[1]
        known, is_unknown = names_in(axes)
        if is_unknown or isinstance(axes, Union):
            return None
        taken = {name.value for value in result.values() for name in names_in(value)[0]}
        if isinstance(logical, str) and logical in wanted and taken.isdisjoint(name.value for name in known):
            result.setdefault(wanted.index(logical), axes)
    return tuple([result.get(place, Const(None)) for place in range(len(wanted))])


def as_spec(args: tuple[Arg, ...], site: Site) -> Spec | None:
    """Returns the spec of `logical_to_mesh_axes(names, rules)`; None if unknown."""
    given = {arg.label if arg.label is not None else place: arg for place, arg in enumerate(args)}
    names = given.get(0, given.get("array_dim_names"))
    rules = given.get(1, given.get("rules"))
    entries = assigned(names.value, rules.value) if names is not None and rules is not None else None
    return Spec(entries, site, (site,) * len(entries)) if entries is not None else None
