"""A `ppermute`, or the number of a device, is computed with the size of the wrong axis of the mesh.

In a halo exchange or a ring, each device along the axis must take part. If the permutation is computed from the size of
another, shorter axis, JAX accepts it: the devices that are left out receive zeros, and the others close their ring too
early, so the results are silently wrong. If the other axis is longer, JAX raises an error (AX304).

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("rows", "columns"))


def to_next(size):
    return [(i, (i + 1) % size) for i in range(size)]


def padded(tile):
    left = lax.ppermute(tile[:, -1:], "columns", to_next(mesh.shape["rows"]))
    #                                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^ AX420: only devices 0 to 1 take part, \\
    #                                            as many as "rows" has, but "columns" has 4 devices
    return jnp.concatenate([left, tile], axis=1)


mapped = jax.shard_map(padded, mesh=mesh, in_specs=P("rows", "columns"), out_specs=P("rows", "columns"))
```

Use the size of the axis that is permuted:

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("rows", "columns"))


def to_next(size):
    return [(i, (i + 1) % size) for i in range(size)]


def padded(tile):
    left = lax.ppermute(tile[:, -1:], "columns", to_next(mesh.shape["columns"]))
    return jnp.concatenate([left, tile], axis=1)


mapped = jax.shard_map(padded, mesh=mesh, in_specs=P("rows", "columns"), out_specs=P("rows", "columns"))
```

The rule reads pairs that are computed from a range, if the range ends at the size of an axis or at a number that also
shapes a mesh or its devices. It is silent about pairs that are written out, and about a ring of other devices, such as
the first half of them.

It gives a hint about an offset such as `axis_index("model") * (classes // n)` if `n` is the size of another axis.
It also gives a hint about numbers of devices that are not unique. On a mesh of 2 × 4 devices,
`axis_index("rows") * axis_size("rows") + axis_index("columns")` is 2 for two devices; the first index has to be
multiplied by the size of the other axis. `axis_index(("rows", "columns"))` is the same number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.axis_sizes import pair_of, size_along
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.values import Const, Seq, Site, Value
from meshlens.axes.runs.context import AxisEnv
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.checking.model import Finding, Severity
from meshlens.checking.places import route_places
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain, certain_uses
from meshlens.jaxapi.meshes import DEVICE_GRIDS, MESHES
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView

_RESHAPES = frozenset({"numpy.ndarray.reshape", "numpy.reshape", "jax.numpy.reshape"})
_MAKERS = frozenset({*DEVICE_GRIDS, *MESHES})


@rule("AX420", Severity.WARNING, state="preview")
def size_of_another_axis(view: FileView) -> Iterator[Finding]:
    """Reports permutations and numbers of devices that are computed with the size of the wrong axis."""
    yield from _short_permutations(view)
    yield from _parts_of_another(view)
    for use in certain_uses(view, ("number-shared",)):
        if use.other is None or use.other in view.solution.once_of_records("sources of axis sizes", _sources):
            message = (
                f'several devices get the same number, because lax.axis_index("{use.axis}") does not stop at '
                f'{use.offset - 1}; multiply by the size of "{use.axis}" instead of {use.offset}'
            )
            yield Finding(view.span(use.site), message, severity=Severity.HINT)


def _parts_of_another(view: FileView) -> Iterator[Finding]:
    """Yields a finding for each offset that is computed from the size of a part over another axis."""
    for use in certain_uses(view, ("part-of-another",)):
        size, other = size_along(use.context.env, use.axis), _axis_of_size(use.context.env, use.offset)
        if size is not None and other is not None:
            message = (
                f'this is the size of a part over "{other}", but it is multiplied by lax.axis_index("{use.axis}"); '
                f'divide by the size of "{use.axis}"'
            )
            yield Finding(view.span(use.site), message, severity=Severity.HINT)


def _short_permutations(view: FileView) -> Iterator[Finding]:
    """Yields a finding for each permutation that is computed from the size of another, shorter axis."""
    by_place: dict[Site, list[AxisUse]] = defaultdict(list)
    for use in view.records.uses:
        perm = dict(use.arguments).get("perm") if use.kind == "ppermute" and use.whole == use.name else None
        if perm is not None and perm.site is not None and view.is_here(perm.site):
            by_place[perm.site].append(use)
    for place, uses in by_place.items():
        judged = list(_judged(view, uses))
        found = certain([((use, complaint), use.context, bool(complaint)) for use, complaint in judged])
        if found is not None:
            use, complaint = found
            blamed = _blamed(view, use, [one for one, said in judged if not said]) or place
            yield Finding(view.span(blamed), complaint, related=route_places(view, use.context))


def _blamed(view: FileView, wrong: AxisUse, right: list[AxisUse]) -> Site | None:
    """Returns the last call in this file that leads to the wrong use only; None if all uses are wrong."""
    shared = {step.site for use in right for step in use.context.route}
    calls = [step.site for step in wrong.context.route if step.how == "call" and step.site not in shared]
    return next((site for site in reversed(calls) if view.is_here(site)), None) if right else None


def _judged(view: FileView, uses: list[AxisUse]) -> Iterator[tuple[AxisUse, str]]:
    """Yields each use whose permutation is known, with what is wrong with it, in words; empty if nothing is."""
    for use in uses:
        perm = dict(use.arguments)["perm"].value
        if isinstance(perm, Seq) and not perm.open:
            yield use, _complaint(view, use, perm)


def _complaint(view: FileView, use: AxisUse, perm: Seq) -> str:
    axis = literal_name(use.name)
    size = size_along(use.context.env, axis) if axis is not None else None
    count = _count(perm)
    if axis is None or size is None or count is None or count >= size or not _is_of_axis(view, perm):
        return ""
    other = _axis_of_size(use.context.env, count)
    if other is None:
        return ""
    return f'only devices 0 to {count - 1} take part, as many as "{other}" has, but "{axis}" has {size} devices'


def _count(perm: Seq) -> int | None:
    """Returns the number of devices in a ring, or in a row in which each sends to its neighbor; None for others."""
    pairs = [pair_of(item) for item in perm.items]
    known = [pair for pair in pairs if pair is not None]
    if not known or len(known) != len(pairs):
        return None
    sources, destinations = {source for source, _ in known}, {destination for _, destination in known}
    count = max(sources | destinations) + 1
    is_whole = sources | destinations == {*range(count)} and count > 1
    is_row = {destination - source for source, destination in known} in ({1}, {-1}) and len(known) == count - 1
    return count if is_whole and (sources == destinations or is_row) else None


def _is_of_axis(view: FileView, perm: Seq) -> bool:
    """Returns whether each pair comes from a range that ends at an axis size, or at a number that shapes devices."""
    sources = view.solution.once_of_records("sources of axis sizes", _sources)
    return all(any(number.origin in sources for number in _constants(pair)) for pair in perm.items)


def _constants(value: Value) -> Iterator[Const]:
    for item in value.items if isinstance(value, Seq) else (value,):
        if isinstance(item, Const):
            yield item


def _sources(solution: Solution) -> frozenset[Site]:
    """Returns the origins of numbers that shape meshes or devices, and the ends of ranges that are axis sizes."""
    found: set[Site | None] = set()
    for records in solution.by_file.values():
        found |= {use.site for use in records.gradient_uses if use.kind == "range-of-size"}
        for call in records.calls:
            if call.dotted in _MAKERS or (call.dotted in _RESHAPES and "devices" in labels_of(call.result)):
                found |= {size.origin for arg in call.args for size in _constants(arg.value)}
    return frozenset([site for site in found if site is not None])


def _axis_of_size(env: AxisEnv, size: int) -> str | None:
    return next((name for name in env.names if size_along(env, name) == size), None)
