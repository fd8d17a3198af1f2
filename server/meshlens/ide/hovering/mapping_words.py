"""How a map treats arguments and results, in words: `in_axes`, `in_specs`, static, donated."""

from __future__ import annotations

from meshlens.axes.domain.values import Binder, Const, Dict, Seq, Site, Spec, Value
from meshlens.axes.jax.mapped_values import axis_of, is_shared
from meshlens.facts.nodes import ListDisplay, TupleDisplay
from meshlens.ide.cursor import nodes_in
from meshlens.ide.hovering.prose import Prose
from meshlens.ide.operand import Operand, Parameter
from meshlens.ide.shown.devices import spec_names
from meshlens.jaxapi.binders import binder as row_of
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView

_MOST_PARTS = 4


def argument_words(prose: Prose, binder: Binder, operand: Operand, place: int) -> str:
    """Returns how the argument for one parameter is mapped, in words."""
    parameter = operand.parameters[place]
    row = row_of(canonical(binder.dotted))
    if row is not None and _listed(binder, row.static, place, parameter):
        return "static: recompiles for each new value"
    words = _mapped(prose, binder, parameter, place)
    if row is not None and _listed(binder, row.donate, place, parameter):
        words += "; donated"
    return words


def says_axes(binder: Binder) -> bool:
    """Returns whether a map accepts one `in_axes` or `in_specs` entry per positional argument, as JAX's maps do."""
    row = row_of(canonical(binder.dotted))
    if row is None or row.in_axes is None or "variable_axes" in row.parameters:
        return False
    return row.in_axes in row.parameters or row.in_axes in row.keywords


def result_words(prose: Prose, binder: Binder) -> str:
    """Returns how the results are combined, in words."""
    row = row_of(canonical(binder.dotted))
    given = binder.argument(row.out_axes) if row is not None and row.out_axes else None
    if binder.kind in ("pmap", "vmap"):
        return _entry(prose, binder, given.value, given.site) if given is not None else _stacked(prose, binder, 0)
    return _entry(prose, binder, given.value, given.site) if given is not None else ""


def _listed(binder: Binder, keyword: str | None, place: int, parameter: Parameter) -> bool:
    given = binder.argument(keyword) if keyword else None
    if given is None or parameter.how in ("key", "**"):
        return False
    items = given.value.items if isinstance(given.value, Seq) else (given.value,)
    return Const(place) in items


def _mapped(prose: Prose, binder: Binder, parameter: Parameter, place: int) -> str:
    on_axes = binder.kind in ("pmap", "vmap")
    if parameter.how in ("key", "**"):
        if on_axes:
            return f"{_stacked(prose, binder, 0)}, like every keyword argument"
        return "cannot be passed by keyword"
    given = binder.argument("in_axes" if on_axes else "in_specs")
    if given is None and on_axes:
        return _stacked(prose, binder, 0)
    if given is None:
        return "split according to its sharding"
    if isinstance(given.value, Seq) and not given.value.open and place >= len(given.value.items):
        return "keeps its default" if parameter.optional else f"has no entry in {given_name(binder)}"
    if parameter.how == "*" and isinstance(given.value, Seq):
        return _rest(prose, binder, given.value, place)
    if isinstance(given.value, Seq) and (sites := items_at(prose.view, given.site)) and place < len(sites):
        return _entry(prose, binder, axis_of(binder, place, None), sites[place])
    return _entry(prose, binder, axis_of(binder, place, None), given.site)


def _rest(prose: Prose, binder: Binder, entries: Seq, place: int) -> str:
    """Returns how the arguments for `*args` are mapped, in words."""
    words = {_entry(prose, binder, entry, None) for entry in entries.items[place:]}
    return words.pop() if len(words) == 1 and not entries.open else "mapped according to the remaining entries"


def given_name(binder: Binder) -> str:
    """Returns the name of the map's parameter that determines how arguments are mapped."""
    return "in_axes" if binder.kind in ("pmap", "vmap", "smap") else "in_specs"


def _entry(prose: Prose, binder: Binder, value: Value, site: Site | None) -> str:
    """Returns an entry of `in_axes`, `in_specs` or a similar argument in words."""
    if isinstance(value, Spec):
        return _spec(prose, value)
    if is_shared(value) is True:
        return f"not mapped, the same {_for_all(binder)}"
    if isinstance(value, Const) and type(value.value) is int:
        return _stacked(prose, binder, value.value)
    if isinstance(value, Seq) and not value.open and 0 < len(value.items) <= _MOST_PARTS:
        return "by part: " + " | ".join(_entry(prose, binder, item, None) for item in value.items)
    if isinstance(value, Dict) and not value.open and 0 < len(value.items) <= _MOST_PARTS:
        keys = [f"{prose.code(repr(key))}: {_entry(prose, binder, item, None)}" for key, item in value.items]
        return f"by key: {' | '.join(keys)}"
    if site is not None and site.path in prose.view.texts:
        text = " ".join(prose.view.text(site).split())
        if len(text) <= 60:
            return f"given by {prose.code(text)}"
    return f"given by {given_name(binder)}"


def _stacked(prose: Prose, binder: Binder, axis: int) -> str:
    if not binder.names:
        return f"mapped along axis {axis}"
    return f"axis {axis} → {prose.axes(name.value for name in binder.names)}"


def items_at(view: FileView, site: Site | None) -> tuple[Site, ...]:
    """Returns the sites of the items in a tuple or list literal; () if there is no such literal."""
    facts = view.solution.facts.get(site.path) if site is not None else None
    if site is None or facts is None or site.block not in facts.blocks:
        return ()
    for node in nodes_in(facts.blocks[site.block].shape):
        if isinstance(node, (TupleDisplay, ListDisplay)) and node.site == site.index:
            return tuple(Site(site.path, site.block, item.site) for item in node.items)
    return ()


def _for_all(binder: Binder) -> str:
    return "for every index" if binder.kind == "vmap" else "on every device"


def _spec(prose: Prose, spec: Spec) -> str:
    if spec.open:
        return f"given by {prose.code(prose.view.text(spec.site))}"
    parts = []
    for place, entry in enumerate(spec.entries):
        if isinstance(entry, Const) and entry.value is None:
            continue
        names = spec_names(entry)
        what = prose.axes(names) if names else "an unknown axis"
        parts.append(f"dimension {place} → {what}")
    return ", ".join(parts) if parts else "replicated on every device"
