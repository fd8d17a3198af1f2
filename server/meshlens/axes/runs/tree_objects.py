"""Objects that maps treat as trees of arrays: named tuples, dataclasses, structs of flax and chex."""

from __future__ import annotations

from collections.abc import Callable

from meshlens.axes.domain.classes import lineage
from meshlens.axes.domain.joining import labels_of, variations_in
from meshlens.axes.domain.values import Arg, Data, Dict, Instance, Seq, Site, Union, Value
from meshlens.axes.domain.variation import of_tree
from meshlens.axes.runs.heap import altered, attributes_of
from meshlens.axes.runs.run import Run

DEEPEST = 4
"""Maximum nesting of trees that are followed, because one may contain itself."""


def fields_of(run: Run, value: Value) -> dict[str, Value] | None:
    """Returns the fields of a tree of arrays; None for any other value."""
    if not isinstance(value, Instance) or not value.cls.dataclass:
        return None
    held = attributes_of(run, value)
    names = dict.fromkeys(field for member in reversed(lineage(value.cls)) for field in member.fields)
    return {name: held[name] for name in names if name in held}


def with_fields(run: Run, value: Instance, changed: Callable[[str, Value], Value], site: Site) -> Instance:
    """Returns a copy of a tree with every field replaced.

    Args:
        run: the run.
        value: the tree.
        changed: returns a field's new value, given its name and value.
        site: the site of the copy.
    """
    fields = fields_of(run, value) or {}
    args = tuple(Arg(name, changed(name, held), None, None) for name, held in fields.items())
    return altered(run, value, args, site)


def as_data(run: Run, value: Value, depth: int = 0) -> Value:
    """Returns a value with every tree in it replaced by unknown data with the labels of its fields."""
    if isinstance(value, Seq):
        return Seq(value.kind, tuple(as_data(run, item, depth) for item in value.items), value.open)
    if isinstance(value, Dict):
        return Dict(tuple((key, as_data(run, item, depth)) for key, item in value.items), value.open)
    if isinstance(value, Union):
        return Union(tuple(dict.fromkeys(as_data(run, option, depth) for option in value.options)), value.of_table)
    fields = fields_of(run, value) if depth < DEEPEST else None
    if fields is None:
        return value
    parts = [as_data(run, held, depth + 1) for held in fields.values()]
    over = of_tree(one for part in parts for one in variations_in(part))
    return Data(frozenset().union(*(labels_of(part) for part in parts)), over=over)
