"""A sharding does not fit its array: it has too many entries or splits an axis unevenly.

`device_put` and `jit` give each device an equal part, so the size of an axis must be a multiple of the product of the
sizes of the mesh axes that split it; otherwise, JAX raises `IndivisibleError: Sharding NamedSharding(…) implies that
array axis 0 is partitioned 4 times, but the dimension size is 6`.
A spec with more entries than the array has axes raises `ValueError: One of device_put args is incompatible with its
sharding annotation NamedSharding(…): … is only valid for values of rank at least 2`.
If `in_shardings` is a tuple, it needs one entry for each argument; otherwise, the call raises `ValueError: pjit
in_shardings specification must be a tree prefix of the positional arguments tuple`.
If `out_shardings` is a tuple, it needs one entry for each value that the function returns.
If rules choose a spec for each parameter by its path (`tree_map_with_path`), the finding is at the spec of the rule: it
must fit every parameter that it is chosen for, the bias of a layer as well as its kernel. MeshLens reads the paths and
shapes of the parameters of flax and equinox models.
If the array shapes are known, the rule checks sizes and ranks for `jax.device_put` and for calls of
`jit(in_shardings=…)`, but only ranks for `with_sharding_constraint` and `out_sharding`.

`devices: 8`

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
columns = NamedSharding(mesh, P(None, "model"))
bias = jax.device_put(jnp.zeros(16), columns)
#                                    ^^^^^^^ AX211: the spec has 2 entries, but the array has 1 axis
```

With one entry, it fits:

`devices: 8`

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
bias = jax.device_put(jnp.zeros(16), NamedSharding(mesh, P("model")))
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.data.sharded_shapes import parts_along
from meshlens.axes.domain.specs import leaf_of, sharding_parts
from meshlens.axes.domain.values import Arg, Dict, Made, Seq, Site, Spec, Value
from meshlens.axes.jax.compiled_calls import CALLED, RETURNED
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import ApiCall
from meshlens.checking.chosen_specs import ChosenSpec, chosen_specs
from meshlens.checking.counting import counted
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.jaxapi.meshes import CONSTRAINT, OUT_SHARDING, TAKE_SPECS
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView
from meshlens.rules.helpers.entries import place_of
from meshlens.rules.helpers.prefixes import Mismatch, mismatch
from meshlens.rules.helpers.specs import argument_of, mesh_place, written_elsewhere


class _Fit(NamedTuple):
    """Arrays that a call places or constrains, with their sharding.

    Attributes:
        value: the arrays.
        sharding: one sharding, or a tree of them.
        site: the place to mark.
        divides: whether the parts must be equal.
        mesh: the current mesh, for bare specs.
        context: the context.
        called: whether this is a call of a jitted function, whose arguments are the arrays.
    """

    value: Value
    sharding: Value
    site: Site
    divides: bool
    mesh: Value | None
    context: Context
    called: bool = False


@rule("AX211", Severity.ERROR)
def sharding_does_not_fit(view: FileView) -> Iterator[Finding]:
    """Compares the shardings of placed and constrained arrays with their shapes."""
    places: dict[Site, list[_Fit]] = defaultdict(list)
    for call in view.records.calls:
        for fit in _fits(call):
            if view.is_here(fit.site):
                places[fit.site].append(fit)
    for site, fits in places.items():
        found = certain((fit, fit.context, _judged(fit)) for fit in fits)
        said = _complaint(found.value, found.sharding, found) if found is not None else None
        if said is not None:
            spec = said.spec.site if said.spec is not None else None
            written = written_elsewhere(view, site, spec, "the spec is written here")
            yield Finding(view.span(site), said.message, (), (*written, *mesh_place(view, said.mesh)))
    yield from _unlike_results(view)
    yield from _chosen_by_path(view)


class _Complaint(NamedTuple):
    """Why an array does not fit its sharding, with the mesh and the spec of the sharding, if they are to blame."""

    message: str
    mesh: Value | None = None
    spec: Spec | None = None


class _Chosen(NamedTuple):
    """A spec that was chosen by path, and why it does not fit its leaf."""

    chosen: ChosenSpec
    message: str


def _chosen_by_path(view: FileView) -> Iterator[Finding]:
    """Compares specs that were chosen for the leaves of a tree by their paths with the leaves' shapes."""
    found = view.solution.once_of_records("specs that do not fit their leaf", _chosen)
    for (spec, _, mesh, call), message in found.get(str(view.path), ()):
        related = Related(view.path_of(call.call), view.span(call.call), "the tree gets its shardings here")
        yield Finding(view.span(spec.site), message, (), (related, *mesh_place(view, mesh)))


def _chosen(solution: Solution) -> dict[str, tuple[_Chosen, ...]]:
    """Returns the specs that do not fit a leaf for which they were chosen, one for each place, by file."""
    found: dict[Site, _Chosen] = {}
    for one in chosen_specs(solution):
        context = one.call.context
        if one.call.guarded or not context.sure or context.guarded or context.expected:
            continue
        said = _unfit_for_leaf(one)
        if said is not None:
            found.setdefault(one.spec.site, _Chosen(one, said))
    by_file: dict[str, list[_Chosen]] = defaultdict(list)
    for site, unfit in found.items():
        by_file[site.path].append(unfit)
    return {path: tuple(some) for path, some in by_file.items()}


def _unfit_for_leaf(chosen: ChosenSpec) -> str | None:
    """Returns why a spec does not fit the leaf for which it was chosen; None if it fits or that is unknown."""
    spec, (path, shape), mesh, call = chosen
    if shape is None or spec.open:
        return None
    if len(spec.entries) > len(shape):
        entries, axes = counted(len(spec.entries), "entry", "entries"), counted(len(shape), "axis", "axes")
        return f'the spec has {entries}, but "{path}", for which it is chosen, has {axes}'
    for place, (size, entry) in enumerate(zip(shape, spec.entries, strict=False)):
        parts = parts_along(mesh, entry)
        if call.dotted != CONSTRAINT and size is not None and parts is not None and parts > 1 and size % parts:
            text = f'axis {place} of "{path}", for which this spec is chosen'
            return f"{text}, has size {size}, which cannot be split into {parts} equal parts"
    return None


def _unlike_results(view: FileView) -> Iterator[Finding]:
    """Compares `out_shardings` with the results of each jitted function."""
    places: dict[Site, list[ApiCall]] = defaultdict(list)
    for call in view.records.calls:
        shardings = call.args[1].site if call.dotted == RETURNED and not call.guarded else None
        if shardings is not None and view.is_here(shardings):
            places[shardings].append(call)
    for shardings, calls in places.items():
        found = certain((call, call.context, _differs(call) is not None) for call in calls)
        differs = _differs(found) if found is not None else None
        site = place_of(view, shardings, differs.path) if differs is not None else None
        if differs is not None and site is not None and view.is_here(site):
            message = f"out_shardings has {differs.given}, but the function returns {differs.wanted}"
            yield Finding(view.span(site), message)


def _differs(call: ApiCall) -> Mismatch | None:
    returned, shardings = call.args
    return mismatch(shardings.value, returned.value)


def _fits(call: ApiCall) -> Iterator[_Fit]:
    if call.dotted == CALLED and not call.guarded:
        values, shardings = call.args
        yield _Fit(values.value, shardings.value, call.call, True, call.mesh, call.context, True)
        return
    out = next((arg for arg in call.args if arg.label == OUT_SHARDING), None)
    if out is not None and not call.guarded:
        yield _Fit(call.result, out.value, out.site or call.call, False, call.mesh, call.context)
        return
    if call.guarded or call.dotted not in TAKE_SPECS or any(arg.label in ("*", "**") for arg in call.args):
        return
    value: Arg | None = argument_of(call.args, "x", 0)
    sharding = argument_of(call.args, TAKE_SPECS[call.dotted], 1)
    if value is not None and sharding is not None:
        site = sharding.site or call.call
        # For `device_put` with a single sharding, AX301 reports unequal parts.
        is_put = call.dotted == "jax.device_put" and isinstance(sharding.value, Made)
        divides = call.dotted != CONSTRAINT and not is_put
        yield _Fit(value.value, sharding.value, site, divides, call.mesh, call.context)


def _judged(fit: _Fit) -> bool | None:
    if _complaint(fit.value, fit.sharding, fit) is not None:
        return True
    return None if shape_of(fit.value) is None else False


def _complaint(value: Value, sharding: Value, fit: _Fit) -> _Complaint | None:
    """Returns the fault in the first array that its sharding does not fit; None if nothing is certain."""
    return _complaint_of(value, sharding, fit, set())


def _complaint_of(value: Value, sharding: Value, fit: _Fit, met: set[tuple[int, int]]) -> _Complaint | None:
    # A tree may contain the same part a thousand times.
    if (id(value), id(sharding)) in met:
        return None
    met.add((id(value), id(sharding)))
    if isinstance(value, Seq) and not value.open:
        if fit.called and value is fit.value and isinstance(sharding, Seq) and not sharding.open:
            wanted, passed = len(sharding.items), len(value.items)
            if sharding.kind in ("tuple", "list") and wanted != passed:
                entries, passes = counted(wanted, "entry", "entries"), counted(passed, "argument")
                return _Complaint(f"in_shardings has {entries}, but the call passes {passes}")
        alike = isinstance(sharding, Seq) and not sharding.open and len(sharding.items) == len(value.items)
        own = sharding.items if alike and isinstance(sharding, Seq) else (sharding,) * len(value.items)
        if isinstance(sharding, (Seq, Dict)) and not alike:
            return None
        found = (_complaint_of(item, one, fit, met) for item, one in zip(value.items, own, strict=True))
        return next((said for said in found if said is not None), None)
    if isinstance(value, Dict):
        given = {(type(key), key): one for key, one in sharding.items} if isinstance(sharding, Dict) else {}
        for key, item in value.items:
            one = given.get((type(key), key)) if isinstance(sharding, Dict) else sharding
            said = _complaint_of(item, one, fit, met) if one is not None else None
            if said is not None:
                return said
        return None
    mesh, spec = sharding_parts(sharding)
    mesh, spec = (fit.mesh, sharding) if isinstance(sharding, Spec) else (mesh, spec)
    shape = shape_of(value)
    if not isinstance(spec, Spec) or spec.open or leaf_of(spec) is not None or shape is None:
        return None
    if len(spec.entries) > len(shape):
        entries, axes = counted(len(spec.entries), "entry", "entries"), counted(len(shape), "axis", "axes")
        return _Complaint(f"the spec has {entries}, but the array has {axes}", mesh, spec)
    for place, (size, entry) in enumerate(zip(shape, spec.entries, strict=False)):
        parts = parts_along(mesh, entry)
        if fit.divides and size is not None and parts is not None and parts > 1 and size % parts:
            message = f"axis {place} has size {size}, which cannot be split into {parts} equal parts"
            return _Complaint(message, mesh, spec)
    return None
