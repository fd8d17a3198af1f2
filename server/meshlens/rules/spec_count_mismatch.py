r"""`in_specs` or `out_specs` has the wrong number of specs for the mapped function.

`shard_map` takes a tuple with one spec for each argument, or one spec for all of them; the same goes for results.
Otherwise, it raises `ValueError: pytree structure error: different lengths of tuple at key path: shard_map in_specs`,
or `different types` if a list is passed instead of a tuple, or a tuple for a single array. A spec that is not a
`PartitionSpec` raises a `TypeError`.

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("rows",))


def affine(x, kernel, bias):
    return x @ kernel + bias


parallel = jax.shard_map(affine, mesh=mesh, in_specs=(P("rows"), P()), out_specs=P("rows"))
#                                                    ^^^^^^^^^^^^^^^^ AX202: in_specs has 2 entries, but the call \
#                                                    passes 3 arguments
print(parallel(jnp.ones((8, 4)), jnp.ones((4, 4)), jnp.ones(4)))
```

becomes

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("rows",))


def affine(x, kernel, bias):
    return x @ kernel + bias


parallel = jax.shard_map(affine, mesh=mesh, in_specs=(P("rows"), P(), P()), out_specs=P("rows"))
print(parallel(jnp.ones((8, 4)), jnp.ones((4, 4)), jnp.ones(4)))
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Dict, Seq, Site
from meshlens.axes.jax.mapped_values import axis_of
from meshlens.axes.jax.mapping import name_of
from meshlens.axes.runs.records import Binding, MappedCall
from meshlens.checking.counting import counted
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.project.writing.import_statements import name_of_module
from meshlens.rules.helpers.binder_calls import is_accepted
from meshlens.rules.helpers.entries import as_tuple, entries_at, place_of, with_entry
from meshlens.rules.helpers.miscounts import Miscount, explained, miscounts, place_of_miscount, positional
from meshlens.rules.helpers.prefixes import Mismatch, mismatch
from meshlens.rules.helpers.spec_pairs import SpecPair, spec_pairs
from meshlens.text import Edit, FileEdit

_MAPS = frozenset({"jax.shard_map", "jax.experimental.shard_map.shard_map"})
_WHY = "you may have meant to split this argument"


@rule("AX202", Severity.ERROR, reads="places")
def spec_count_mismatch(view: FileView) -> Iterator[Finding]:
    """Compares the specs of each `shard_map` with its calls, its function and the results."""
    for miscount in miscounts(view, _MAPS, "in_specs"):
        yield from _miscounted(view, miscount)
    bindings: dict[Site, list[Binding]] = defaultdict(list)
    for binding in view.records.bindings:
        if canonical(binding.binder.dotted) in _MAPS:
            bindings[binding.binder.site].append(binding)
    calls: dict[Site, list[MappedCall]] = defaultdict(list)
    for call in view.records.calls_of_maps:
        calls[call.binder.site].append(call)
    for site, group in bindings.items():
        yield from _no_specs(view, group)
        yield from _too_long(view, calls[site])
        yield from _unlike_arguments(view, calls[site])
        yield from _unlike_results(view, calls[site])


def _miscounted(view: FileView, miscount: Miscount) -> Iterator[Finding]:
    place = place_of_miscount(view, miscount, "in_specs")
    if place is None:
        return
    site, related = place
    fixes: tuple[Fix, ...] = ()
    spec = name_of_module(view, "jax.sharding.PartitionSpec")
    if miscount.entries + 1 == miscount.arguments and spec is not None:
        edits = with_entry(view, site, miscount.entries, f"{spec}()")
        fixes = (Fix("replicate the last argument", edits, "suggestion", _WHY),) if edits else ()
    yield Finding(view.span(site), explained(miscount, "in_specs", name_of(miscount.binder.operand)), fixes, related)


def _no_specs(view: FileView, group: list[Binding]) -> Iterator[Finding]:
    for parameter in ("in_specs", "out_specs"):
        found = certain((one, one.context, _is_list(view, one.binder.argument(parameter))) for one in group)
        arg = found.binder.argument(parameter) if found is not None else None
        if arg is not None and arg.site is not None and parameter == "in_specs":
            fix = Fix("change to a tuple", as_tuple(view, arg.site))
            yield Finding(view.span(arg.site), "in_specs is a list; shard_map needs a tuple", (fix,))
        yield from _strings(view, group, parameter)
    missing = certain((one, one.context, _lacks_out_specs(one)) for one in group)
    if missing is not None and is_accepted(view, missing.binder) and view.is_here(missing.binder.site):
        yield Finding(view.span(missing.binder.site), "shard_map needs out_specs")


def _is_list(view: FileView, arg: Arg | None) -> bool:
    if arg is None or arg.site is None or not isinstance(arg.value, Seq) or arg.value.kind != "list":
        return False
    return view.is_here(arg.site) and view.text(arg.site).startswith("[")


def _lacks_out_specs(binding: Binding) -> bool:
    return not any(name in ("out_specs", "*", "**") for name, _ in binding.binder.arguments)


def _strings(view: FileView, group: list[Binding], parameter: str) -> Iterator[Finding]:
    for binding in group[:1]:
        arg = binding.binder.argument(parameter)
        entries = entries_at(view, arg.site) if arg is not None else None
        if arg is None or arg.site is None or binding.context.guarded or binding.context.expected:
            continue
        values = arg.value.items if isinstance(arg.value, Seq) and entries is not None else (arg.value,)
        for value, site in zip(values, entries or (arg.site,), strict=False):
            if isinstance(value, Const) and isinstance(value.value, str) and view.is_here(site):
                message = f'{parameter} needs a PartitionSpec, but "{value.value}" is a string'
                yield Finding(view.span(site), message, _spec(view, site))


def _spec(view: FileView, site: Site) -> tuple[Fix, ...]:
    name = name_of_module(view, "jax.sharding.PartitionSpec") or name_of_module(view, "jax.P")
    if name is None:
        return ()
    return (
        Fix("wrap in a PartitionSpec", (FileEdit(view.path, Edit(view.span(site), f"{name}({view.text(site)})")),)),
    )


def _too_long(view: FileView, calls: list[MappedCall]) -> Iterator[Finding]:
    found = certain((call, call.context, _longer_than_rank(call) is not None) for call in calls)
    longer = _longer_than_rank(found) if found is not None else None
    given = found.binder.argument("in_specs") if found is not None else None
    if found is None or longer is None or given is None or given.site is None:
        return
    place, pair = longer
    shape = shape_of(pair.value)
    site = place_of(view, given.site, (place, *pair.path)) if isinstance(given.value, Seq) else given.site
    if pair.path and view.is_here(pair.spec.site):
        site = pair.spec.site
    if site is not None and view.is_here(site) and shape is not None:
        entries, axes = counted(len(pair.spec.entries), "entry", "entries"), counted(len(shape), "axis", "axes")
        what = f"an array in argument {place}" if pair.value is not found.args[place].value else f"argument {place}"
        yield Finding(view.span(site), f"the spec has {entries}, but {what} has {axes}")


def _longer_than_rank(call: MappedCall) -> tuple[int, SpecPair] | None:
    given, specs = positional(call), call.binder.argument("in_specs")
    if given is None or (specs is not None and isinstance(specs.value, Seq) and len(specs.value.items) != given):
        return None
    for place, arg in enumerate(call.args):
        for pair in spec_pairs(axis_of(call.binder, place, arg.label), arg.value):
            shape = shape_of(pair.value)
            if shape is not None and len(pair.spec.entries) > len(shape):
                return place, pair
    return None


class _Unlike(NamedTuple):
    """Specs that differ in structure from the values that they apply to.

    Attributes:
        place: where the specs differ.
        call: a call for which they differ.
        mismatch: how they differ.
    """

    place: Site
    call: MappedCall
    mismatch: Mismatch


def _unlike(
    view: FileView, calls: list[MappedCall], name: str, compare: Callable[[MappedCall], Mismatch | None]
) -> _Unlike | None:
    """Returns how specs differ from their values on a route that certainly runs; None if they do not."""
    call = certain((one, one.context, compare(one) is not None) for one in calls)
    differs = compare(call) if call is not None else None
    arg = call.binder.argument(name) if call is not None else None
    if call is None or differs is None or arg is None:
        return None
    site = place_of(view, arg.site, differs.path)
    return _Unlike(site, call, differs) if site is not None and view.is_here(site) else None


def _unlike_arguments(view: FileView, calls: list[MappedCall]) -> Iterator[Finding]:
    """Compares trees of specs with the trees of values that the calls pass."""
    found = _unlike(view, calls, "in_specs", _of_arguments)
    if found is not None:
        differs, call = found.mismatch, found.call.call
        related = (Related(view.path_of(call), view.span(call), "called here"),)
        message = f"in_specs has {differs.given} for argument {differs.path[0]}, but the call passes {differs.wanted}"
        yield Finding(view.span(found.place), message, (), related)


def _of_arguments(call: MappedCall) -> Mismatch | None:
    arg, given = call.binder.argument("in_specs"), positional(call)
    if arg is None or given is None or not isinstance(arg.value, Seq) or len(arg.value.items) != given:
        return None
    entries = [one if isinstance(one, Dict) else UNKNOWN for one in arg.value.items]
    values = tuple([one.value for one in call.args if one.label is None])
    return mismatch(replace(arg.value, items=tuple(entries)), Seq("tuple", values))


def _unlike_results(view: FileView, calls: list[MappedCall]) -> Iterator[Finding]:
    found = _unlike(view, calls, "out_specs", _of_result)
    if found is not None:
        differs, name = found.mismatch, name_of(found.call.binder.operand)
        yield Finding(view.span(found.place), f'out_specs has {differs.given}, but "{name}" returns {differs.wanted}')


def _of_result(call: MappedCall) -> Mismatch | None:
    arg = call.binder.argument("out_specs")
    return mismatch(arg.value, call.returned) if arg is not None else None
