"""The specs of a value and the axis names of a spec, each with the place that says it."""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.values import Const, Dict, Made, Seq, Site, Spec, Union, Value


def specs_in(value: Value) -> Iterator[Spec]:
    """Every spec of a tree of specs and shardings; where one of several is possible, none."""
    if isinstance(value, Spec):
        yield value
    elif isinstance(value, Seq):
        for item in value.items:
            yield from specs_in(item)
    elif isinstance(value, Dict):
        for _, item in value.items:
            yield from specs_in(item)


def possible_specs(value: Value, certain: bool = True) -> Iterator[tuple[Spec, bool]]:
    """Every spec that a tree of specs may hold, and whether it certainly holds that one."""
    if isinstance(value, Spec):
        yield value, certain
    elif isinstance(value, (Seq, Dict)):
        for item in value.items:
            yield from possible_specs(item[1] if isinstance(item, tuple) else item, certain)
    elif isinstance(value, Union):
        for option in value.options:
            yield from possible_specs(option, False)


def spec_names(spec: Spec) -> Iterator[tuple[Const, Site]]:
    """The axis names of a spec, each with the place that says it."""
    for place, entry in enumerate(spec.entries):
        site = spec.sites[place] if place < len(spec.sites) else spec.site
        for name in entry.items if isinstance(entry, Seq) else (entry,):
            if isinstance(name, Const) and isinstance(name.value, str):
                yield name, site


def sharding_parts(value: Value) -> tuple[Value | None, Value | None]:
    """Mesh and spec of a `NamedSharding`."""
    if not isinstance(value, Made) or value.dotted != "jax.sharding.NamedSharding":
        return None, None
    given = dict(value.arguments)
    return given.get("mesh"), given.get("spec")
