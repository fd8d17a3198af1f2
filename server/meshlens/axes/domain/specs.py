"""The specs in a value and the axis names in a spec, each with its site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from meshlens.axes.domain.map_values import Leaf
from meshlens.axes.domain.values import Const, Dict, Made, Seq, Site, Spec, Union, Value

_SHARDING = "jax.sharding.NamedSharding"


def specs_in(value: Value) -> Iterator[Spec]:
    """Yields every spec in a tree of specs and shardings; skips parts with several possibilities."""
    for spec, is_certain in possible_specs(value):
        if is_certain:
            yield spec


def possible_specs(value: Value) -> Iterator[tuple[Spec, bool]]:
    """Yields every spec that a tree of specs may contain, and whether the tree certainly contains it.

    Visits a part that occurs in several places only once, because a tree may contain one part a thousand times.
    """
    met: set[tuple[int, bool]] = set()
    waiting: list[tuple[Value, bool]] = [(value, True)]
    while waiting:
        part, certain = waiting.pop()
        if (id(part), certain) in met:
            continue
        met.add((id(part), certain))
        if isinstance(part, Spec):
            yield part, certain
        elif isinstance(part, Seq):
            waiting.extend([(item, certain) for item in part.items[::-1]])
        elif isinstance(part, Dict):
            waiting.extend([(item, certain) for _, item in part.items[::-1]])
        elif isinstance(part, Union):
            waiting.extend([(option, False) for option in part.options[::-1]])


def spec_names(spec: Spec) -> Iterator[tuple[Const, Site]]:
    """Yields the axis names of a spec, each with its site."""
    for place, entry in enumerate(spec.entries):
        site = spec.sites[place] if place < len(spec.sites) else spec.site
        for name in entry.items if isinstance(entry, Seq) else (entry,):
            if isinstance(name, Const) and isinstance(name.value, str):
                yield name, site


def sharding_parts(value: Value) -> tuple[Value | None, Value | None]:
    """Returns the mesh and spec of a `NamedSharding`."""
    if not isinstance(value, Made) or value.dotted != _SHARDING:
        return None, None
    given = dict(value.arguments)
    return given.get("mesh"), given.get("spec")


def specs_of_leaves(values: Iterable[Value], mesh: Value | None) -> Iterator[tuple[Value | None, Spec, Leaf]]:
    """Yields the specs that were chosen by path for leaves with a known rank, each with its mesh and its leaf.

    Args:
        values: trees of specs and shardings.
        mesh: the current mesh, for specs without a mesh of their own.
    """
    waiting, met = list(values)[::-1], set[int]()
    while waiting:
        value = waiting.pop()
        if id(value) in met:
            continue
        met.add(id(value))
        if isinstance(value, Seq):
            waiting.extend(value.items[::-1])
        elif isinstance(value, Dict):
            waiting.extend([held for _, held in value.items[::-1]])
        else:
            own, spec = (mesh, value) if isinstance(value, Spec) else sharding_parts(value)
            leaf = leaf_of(spec)
            if isinstance(spec, Spec) and leaf is not None:
                yield own, spec, leaf


def leaf_of(spec: Value | None) -> Leaf | None:
    """Returns the leaf that a spec was chosen for; None if there is none, or if its rank is unknown."""
    leaf = spec.leaf if isinstance(spec, Spec) else None
    return leaf if leaf is not None and leaf.shape is not None else None


def chosen_for(value: Value, leaf: Leaf) -> Value:
    """Returns a spec or a sharding as chosen for a leaf of a tree; any other value unchanged."""
    if isinstance(value, Spec):
        return replace(value, leaf=leaf)
    if isinstance(value, Made) and value.dotted == _SHARDING:
        return replace(value, arguments=tuple([(name, chosen_for(one, leaf)) for name, one in value.arguments]))
    return value
