"""Objects that maps treat as trees of arrays: named tuples, dataclasses, and structs of flax and chex."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_ as _is

from meshlens.axes.domain.classes import class_attribute, is_named_tuple, names_of_fields
from meshlens.axes.domain.joining import labels_of, variations_in
from meshlens.axes.domain.values import Arg, Data, Dict, Instance, Seq, Site, Spec, Union, Value
from meshlens.axes.domain.variation import of_tree
from meshlens.axes.runs.heap import altered, attributes_of
from meshlens.axes.runs.run import Run

DEEPEST = 4
"""Maximum nesting of trees that are followed, because a tree may contain itself."""


def fields_of(run: Run, value: Value) -> dict[str, Value] | None:
    """Returns the fields of a tree of arrays; None for any other value."""
    if not isinstance(value, Instance) or not value.cls.dataclass:
        return None
    held = attributes_of(run, value)
    names = names_of_fields(value.cls)
    found = {name: held[name] if name in held else class_attribute(value.cls, name) for name in names}
    return {name: one for name, one in found.items() if one is not None}


def as_tuple(run: Run, value: Value) -> Value:
    """Returns a named tuple, or a spec, as a plain tuple; any other value unchanged."""
    if isinstance(value, Spec):
        return Seq("tuple", value.entries, value.open)
    if not isinstance(value, Instance) or not value.cls.dataclass or not is_named_tuple(value.cls):
        return value
    fields = fields_of(run, value)
    return Seq("tuple", tuple(fields.values())) if fields else value


def as_tree(run: Run, value: Value, depth: int = 0) -> Value:
    """Returns a value with every named tuple in it replaced with a tuple."""
    if depth >= DEEPEST:
        return value
    if isinstance(value, Instance):
        held = as_tuple(run, value)
        return as_tree(run, held, depth + 1) if isinstance(held, Seq) else value
    if isinstance(value, Seq):
        items = tuple([as_tree(run, item, depth) for item in value.items])
        return value if all(map(_is, items, value.items)) else Seq(value.kind, items, value.open)
    if isinstance(value, Dict):
        pairs = tuple([(key, as_tree(run, item, depth)) for key, item in value.items])
        alike = all(new is old for (_, new), (_, old) in zip(pairs, value.items, strict=True))
        return value if alike else Dict(pairs, value.open, value.attributes)
    return value


def entries_for(run: Run, value: Instance, entry: Value) -> dict[str, Value] | None:
    """Returns the entries of a tree prefix for the fields of a tree; empty if they do not match the fields.

    Returns None if the prefix is a single entry, which applies to every field.
    """
    names = list(fields_of(run, value) or ())
    if isinstance(entry, Seq):
        alike = not entry.open and len(entry.items) == len(names) and is_named_tuple(value.cls)
        return dict(zip(names, entry.items, strict=True)) if alike else {}
    return fields_of(run, entry)


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
    """Returns a value with named tuples as tuples, and other trees as unknown data with the labels of their fields."""
    if isinstance(value, Seq):
        return Seq(value.kind, tuple(as_data(run, item, depth) for item in value.items), value.open)
    if isinstance(value, Dict):
        return Dict(tuple((key, as_data(run, item, depth)) for key, item in value.items), value.open)
    held = as_tuple(run, value) if isinstance(value, Instance) and depth < DEEPEST else value
    if isinstance(held, Seq):
        return as_data(run, held, depth + 1)
    if isinstance(value, Union):
        return Union(tuple(dict.fromkeys(as_data(run, option, depth) for option in value.options)), value.of_table)
    fields = fields_of(run, value) if depth < DEEPEST else None
    if fields is None:
        return value
    parts = [as_data(run, held, depth + 1) for held in fields.values()]
    over = of_tree(one for part in parts for one in variations_in(part))
    return Data(frozenset().union(*(labels_of(part) for part in parts)), over=over)
