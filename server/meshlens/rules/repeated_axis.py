"""An axis name appears twice in a collective, a spec or a mesh.

A collective that repeats an axis raises `ValueError: repeated axis` (under `vmap`: `duplicate value in 'axes' of
reduction`).
JAX accepts a spec that repeats an axis, but a sharding that uses the spec raises `DuplicateSpecError`: a mesh axis can
split only one dimension of an array.
`vmap(spmd_axis_name=…)` adds its axis to the sharding constraints inside it, so they must not name that axis
themselves; otherwise, JAX raises `ValueError: vmap spmd_axis_name ('ensemble',) cannot appear in
with_sharding_constraint spec, but got spec P('ensemble', None)`.
JAX silently accepts a mesh with a repeated name, but the mesh then has one axis instead of two.

```python
import jax
from functools import partial


@partial(jax.pmap, axis_name="data")
def step(x):
    return jax.lax.pmean(x, ("data", "data"))
    #                                ^^^^^^ AX104: axis "data" is named twice in this pmean
```

becomes

```python
import jax
from functools import partial


@partial(jax.pmap, axis_name="data")
def step(x):
    return jax.lax.pmean(x, "data")
```
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from meshlens.axes.domain.specs import sharding_parts, spec_names, specs_in
from meshlens.axes.domain.values import Const, Mesh, Seq, Site, Spec, Value
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import ApiCall, AxisUse, Records
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.registry import rule
from meshlens.facts.nodes import DictDisplay, ListDisplay, TupleDisplay
from meshlens.jaxapi.meshes import CONSTRAINT, OUT_SHARDING, PARTITION_SPEC, TAKE_SPECS
from meshlens.project.solving.solution import Solution
from meshlens.project.trees import path_to
from meshlens.project.view import FileView
from meshlens.rules.helpers.displays import is_display, without_item
from meshlens.rules.helpers.specs import argument_of, blamed
from meshlens.rules.helpers.spmd_names import spmd_names

_USERS = frozenset({"jax.sharding.NamedSharding", *TAKE_SPECS})
_HARMLESS = frozenset({"axis_index", "axis_size", "pcast", "pvary"})


@rule("AX104", Severity.ERROR)
def repeated_axis(view: FileView) -> Iterator[Finding]:
    """Reports each collective, used spec and mesh that certainly names an axis twice."""
    of_file = view.solution.once_of_records(f"repeating {view.path}", partial(_repeating, path=str(view.path)))
    found = (
        *_collectives(view, of_file.uses),
        *_specs(view, view.solution.once_of_records("specs that repeat an axis", _repeating_specs)),
        *_meshes(view, of_file.meshes),
        *_of_vmaps(view, of_file.constraints),
        *_of_tables(view, of_file.entries),
    )
    seen: set[Site] = set()
    for site, finding in found:
        if site not in seen:
            seen.add(site)
            yield finding


class _InUse(NamedTuple):
    """A spec with the context and the place of its use."""

    spec: Spec
    context: Context
    user: Site


class _Repeating(NamedTuple):
    """The records of a file that certainly name an axis twice, or may do so together with the code around them.

    Attributes:
        uses: the collectives, one for each call.
        meshes: the calls that make meshes.
        constraints: the sharding constraints to which a vmap adds axes.
        entries: the calls that make specs, whether or not anything uses them.
    """

    uses: list[AxisUse]
    meshes: list[ApiCall]
    constraints: list[ApiCall]
    entries: list[ApiCall]


def _repeating(solution: Solution, path: str) -> _Repeating:
    records = solution.by_file.get(path) or Records()
    by_call: dict[Site, list[AxisUse]] = {}
    for use in records.uses:
        by_call.setdefault(use.call, []).append(use)
    calls = [call for call in records.calls if _certain(call.context)]
    return _Repeating(
        [uses[0] for uses in by_call.values() if all(_repeats(use) for use in uses)],
        [call for call in calls if isinstance(call.result, Mesh) and _first_repeated(call.result.names) is not None],
        [
            call
            for call in calls
            if call.dotted == CONSTRAINT and not call.context.conditional and any(spmd_names(call))
        ],
        [
            call
            for call in calls
            if call.dotted == PARTITION_SPEC
            and isinstance(call.result, Spec)
            and not call.guarded
            and _first_repeated(_flat(call.result)) is not None
        ],
    )


def _repeating_specs(solution: Solution) -> list[_InUse]:
    """Returns the specs in use that name an axis twice, in all files: what a spec repeats may be passed to its file."""
    return [
        one
        for path, records in solution.by_file.items()
        for one in solution.once_of(("specs that repeat an axis", path), records, None, partial(_repeating_in, records))
    ]


def _repeating_in(records: Records) -> list[_InUse]:
    used = _in_use(records)
    return [one for one in used if _first_repeated(_flat(one.spec)) is not None and _certain(one.context)]


def _in_use(records: Records) -> Iterator[_InUse]:
    """Yields each spec that is certainly used: in a `NamedSharding`, a sharding constraint, or a `shard_map`."""
    for call in records.calls:
        is_user = call.dotted in _USERS
        for arg in call.args:
            if is_user or arg.label == OUT_SHARDING:
                for spec in specs_in(arg.value):
                    yield _InUse(spec, call.context, call.call)
    for binding in records.bindings:
        if binding.binder.kind != "shard_map":
            continue
        for name, arg in binding.binder.arguments:
            if name in ("in_specs", "out_specs"):
                for spec in specs_in(arg.value):
                    yield _InUse(spec, binding.context, binding.binder.site)


def _collectives(view: FileView, uses: list[AxisUse]) -> Iterator[tuple[Site, Finding]]:
    for use in uses:
        name = _repeated(use.whole)
        if use.kind in _HARMLESS or use.axis is None or name is None:
            continue
        site = _second(view, use.whole, name, use.axis)
        fixes = _once(view, use.axis, site, name)
        yield use.call, Finding(view.span(site), f'axis "{name.value}" is named twice in this {use.kind}', fixes)


def _repeats(use: AxisUse) -> bool:
    return _certain(use.context) and _repeated(use.whole) is not None


def _certain(context: Context) -> bool:
    return context.sure and not context.guarded and not context.expected


def _repeated(whole: Value) -> Const | None:
    """Returns the second of two equal names in a sequence."""
    if not isinstance(whole, Seq) or whole.kind not in ("tuple", "list"):
        return None
    return _first_repeated(whole.items)


def _first_repeated(items: tuple[Value, ...]) -> Const | None:
    names: set[str] = set()
    for item in items:
        if isinstance(item, Const) and isinstance(item.value, str):
            if item.value in names:
                return item
            names.add(item.value)
    return None


def _second(view: FileView, whole: Value, name: Const, axis: Site) -> Site:
    """Returns the repeated literal if it is in the argument itself, else the argument."""
    origin = name.origin
    if origin is None or origin.path != axis.path or not view.span(axis).contains(view.span(origin)):
        return axis
    return origin


def _once(view: FileView, axis: Site, site: Site, name: Const) -> tuple[Fix, ...]:
    if site == axis or not is_display(view, axis):
        return ()
    edit = without_item(view, axis, site)
    why = "another axis may have been meant"
    return (Fix(f'remove the repeated "{name.value}"', (edit,), "unsafe", why),) if edit is not None else ()


def _specs(view: FileView, used: list[_InUse]) -> Iterator[tuple[Site, Finding]]:
    repeating = [(one, name) for one in used if (name := _first_repeated(_flat(one.spec))) is not None]
    counts = Counter(origin for one, name in repeating for origin in _written_apart(view, one.spec, name))
    for (spec, _, user), name in repeating:
        related = [Related(view.path_of(user), view.span(user), "the spec is used here")]
        passed, word = _passed(view, spec, name), "argument"
        origins = _written_apart(view, spec, name) if passed is None else []
        if origins:
            # Of the two, the name that more specs repeat is the odd one.
            passed, word = max(origins, key=lambda origin: (counts[origin], view.span(origin).start)), "name"
            other = next(origin for origin in origins if origin != passed)
            related.append(Related(view.path_of(other), view.span(other), "the other name is here"))
        if passed is None and view.is_here(spec.site):
            yield spec.site, _twice_in_spec(view, spec.site, name, tuple(related))
        elif passed is not None and view.is_here(passed):
            made = Related(view.path_of(spec.site), view.span(spec.site), "the spec is made here")
            message = f'with this {word}, a spec names axis "{name.value}" twice; an axis can split only one dimension'
            yield passed, Finding(view.span(passed), message, (), (made, *related))


def _passed(view: FileView, spec: Spec, name: Const) -> Site | None:
    """Returns the only argument that gave a spec one of two equal names, if neither is written in the spec itself."""
    alike = _alike(spec, name)
    if any(one.origin is None or _inside(view, one.origin, spec.site) for one in alike):
        return None
    given = {one.via for one in alike}
    return next(iter(given - {None}), None) if None in given and len(given) == 2 else None


def _written_apart(view: FileView, spec: Spec, name: Const) -> list[Site]:
    """Returns the places of equal names of a spec, if they are different entries of a table outside its function."""
    origins = dict.fromkeys(one.origin for one in _alike(spec, name))
    places = [origin for origin in origins if origin is not None]
    is_table = len(places) > 1 and len(places) == len(origins) and len({origin.path for origin in places}) == 1
    here = spec.site.path, spec.site.block
    return places if is_table and all((origin.path, origin.block) != here for origin in places) else []


def _alike(spec: Spec, name: Const) -> list[Const]:
    return [one for one in _flat(spec) if isinstance(one, Const) and one == name]


def _twice_in_spec(view: FileView, spec: Site, name: Const, related: tuple[Related, ...] = ()) -> Finding:
    site = name.origin if name.origin is not None and _inside(view, name.origin, spec) else spec
    message = f'axis "{name.value}" is named twice in this spec; an axis can split only one dimension'
    return Finding(view.span(site), message, (), related)


def _of_vmaps(view: FileView, constraints: list[ApiCall]) -> Iterator[tuple[Site, Finding]]:
    """Yields constraints whose spec names an axis that a vmap around them adds."""
    for call in constraints:
        sharding = argument_of(call.args, "shardings", 1)
        if sharding is None:
            continue
        added = {name.value: arg for name, arg in spmd_names(call)}
        _, spec = sharding_parts(sharding.value)
        spec = spec if spec is not None else sharding.value
        for name, site in spec_names(spec) if isinstance(spec, Spec) else ():
            place = blamed(view, name, site, sharding.site)
            vmap = added.get(name.value)
            if vmap is None or place is None:
                continue
            added_by = f'the spmd_axis_name of a vmap already adds axis "{name.value}" to this constraint'
            related: tuple[Related, ...] = ()
            if vmap.whole is not None:
                related = (Related(view.path_of(vmap.whole), view.span(vmap.whole), "the vmap adds it here"),)
            yield place, Finding(view.span(place), f"{added_by}; remove it from the spec", (), related)


def _of_tables(view: FileView, entries: list[ApiCall]) -> Iterator[tuple[Site, Finding]]:
    """Yields specs in literal collections if they name an axis of a project mesh twice, even if nothing uses them."""
    axes = view.solution.once_of_records("axes of all meshes", _axes_of_meshes)
    for call in entries:
        name = _first_repeated(_flat(call.result)) if isinstance(call.result, Spec) else None
        if name is not None and name.value in axes and _is_entry(view, call.call):
            yield call.call, _twice_in_spec(view, call.call, name)


def _is_entry(view: FileView, spec: Site) -> bool:
    """Returns whether a spec is an entry of a literal list, tuple or dictionary; a function may change other specs."""
    path = path_to(view, spec) if view.is_here(spec) else ()
    return len(path) > 1 and isinstance(path[-2], (TupleDisplay, ListDisplay, DictDisplay))


def _axes_of_meshes(solution: Solution) -> frozenset[str]:
    """Returns the axis names of the meshes that are made in the project."""
    calls = [call for records in solution.by_file.values() for call in records.calls if isinstance(call.result, Mesh)]
    names = [name for call in calls if isinstance(call.result, Mesh) for name in call.result.names]
    return frozenset([str(name.value) for name in names if isinstance(name, Const)])


def _flat(spec: Spec) -> tuple[Value, ...]:
    return tuple(item for entry in spec.entries for item in (entry.items if isinstance(entry, Seq) else (entry,)))


def _inside(view: FileView, inner: Site, outer: Site) -> bool:
    return inner.path == outer.path and view.span(outer).contains(view.span(inner))


def _meshes(view: FileView, makers: list[ApiCall]) -> Iterator[tuple[Site, Finding]]:
    for call in makers:
        name = _first_repeated(call.result.names) if isinstance(call.result, Mesh) else None
        if name is None:
            continue
        site = name.origin if name.origin is not None and _inside(view, name.origin, call.call) else call.call
        message = f'axis "{name.value}" is named twice in this mesh; give each axis its own name'
        yield call.call, Finding(view.span(site), message)
