"""Values that each device computes from its own part alone are summed as if they came from the whole array.

A softmax subtracts the maximum before `exp`. If the dimension that it normalizes is split over devices and each device
subtracts the maximum of its own part, the exponentials have different scales and their sum is silently wrong; `pmax`
gives all devices the same maximum.
A lookup in a split table has a similar problem: for an index in another device's part, a device gets a wrong row, or
NaN; it must contribute zeros instead.
A variance or covariance needs the mean of all rows: if each device subtracts the mean of its own rows, the result
leaves out the differences between the devices' means. Likewise, rows minus the mean of all rows must not be scaled by
the variance of one device's rows. Means and variances are followed from one map to another, and through the code
between them.
The same holds for the logarithm of a sum of exponentials, as in a cross entropy whose classes are split: the sum must
be over all devices before the logarithm is taken.
A softmax, or a division by a mean or variance, along a dimension that is split normalizes each part by itself. It is
reported if the result is summed over the devices, or, as a hint, if the map returns it.
In a pipeline, each device sends its result on to the next stage. If all devices also write their results into an array
or stack them with `scan`, and add up these arrays to share the result of the last stage, the other devices must add
zeros. This finding is a hint.

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("seq",))


def attend(query, keys, values):
    scores = query @ keys.T
    weights = jnp.exp(scores - scores.max(-1, keepdims=True))
    #         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ AX411: each device subtracts the maximum of its own \\
    #         part along "seq" before the sum over all devices; subtract the maximum over all devices (lax.pmax)
    total = lax.psum(weights.sum(-1, keepdims=True), "seq")
    return lax.psum(weights @ values, "seq") / total


mapped = jax.shard_map(attend, mesh=mesh, in_specs=(P(), P("seq"), P("seq")), out_specs=P())
```

All devices subtract the same maximum:

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("seq",))


def attend(query, keys, values):
    scores = query @ keys.T
    weights = jnp.exp(scores - lax.pmax(scores.max(-1, keepdims=True), "seq"))
    total = lax.psum(weights.sum(-1, keepdims=True), "seq")
    return lax.psum(weights @ values, "seq") / total


mapped = jax.shard_map(attend, mesh=mesh, in_specs=(P(), P("seq"), P("seq")), out_specs=P())
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import literal_name
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.registry import rule
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView
from meshlens.rules.helpers.reductions import REDUCTIONS

_ELSEWHERE = "picked-elsewhere-summed"
_MESSAGES = {
    "own-maxima-summed": (
        'each device subtracts the maximum of its own part along "{axis}" before the sum over all devices; '
        "subtract the maximum over all devices (lax.pmax)"
    ),
    "picked-summed": (
        'each device adds an entry from its part along "{axis}" to the sum, even if the index is outside that part; '
        "use jnp.where to add 0 instead"
    ),
    _ELSEWHERE: (
        'each device picks an entry of its part along "{axis}", but the index depends on the device\'s place along '
        'another axis; use lax.axis_index("{axis}")'
    ),
    "centred-summed": (
        'each device subtracts the mean of its own rows along "{axis}" before the sum over all devices; '
        "subtract the mean over all devices (lax.pmean)"
    ),
    "scaled-by-own": (
        "this is the variance of one device's rows, but the subtracted mean is that of all devices along "
        '"{axis}"; average the squares over all devices too (lax.pmean)'
    ),
    "scaled-by-own-part": (
        "this is the variance of one device's part, but the subtracted mean is that of all devices along "
        '"{axis}"; average the squares over all devices too (lax.pmean)'
    ),
    "scaled-by-averaged": (
        "this is the variance around the mean of one device's rows, but the subtracted mean is that of all devices "
        'along "{axis}"; average the squares of the differences from that mean'
    ),
    "normalized-summed": (
        'each device divides by a mean or variance of its own part along "{axis}" before the sum over all devices; '
        "average over all devices first (lax.pmean)"
    ),
    "softened-summed": (
        'each device takes the softmax of its own part along "{axis}", so its weights add up to 1; '
        "normalize by a sum over all devices instead"
    ),
    "softened-by-mean-summed": (
        'the weights are divided by the mean of the devices\' sums along "{axis}", so they add up to the number of '
        "devices; divide by the sum (lax.psum)"
    ),
    "logarithms-reduced": (
        'each device takes the logarithm of a sum over its own part along "{axis}" only; '
        "sum over all devices first (lax.psum)"
    ),
    "normalized-returned": (
        'each device normalizes along a dimension of which it has only a part along "{axis}"; '
        "reduce over all devices first"
    ),
    "stages-summed": (
        'each device along "{axis}" writes here what it sends on, and the sum adds the values of all stages; '
        "use jnp.where to add 0 on all devices but the last"
    ),
    "stacked-stages-summed": (
        'each device along "{axis}" also sends these results on, so the sum adds those of all stages; '
        "use jnp.where to add 0 on all devices but the last"
    ),
}
"""The messages, by the kind of the recorded use."""

_SAID = {
    "scaled": "scales the rows here",
    "stacked": "stacked here",
    "returned": "returned here",
    "reduced": "reduced here",
}
"""The text at the other place, by the first or last word of the kind."""

_HINTS = frozenset(
    "centred-summed normalized-returned normalized-summed scaled-by-own-part stages-summed "
    "stacked-stages-summed".split()
)


@rule("AX411", Severity.WARNING, state="preview")
def sum_of_parts(view: FileView) -> Iterator[Finding]:
    """Reports values that each device computes from its own part alone and that are then summed over all devices."""
    for (place, kind, axis), site in view.solution.once_of_records("sums of parts", _summed).items():
        if view.is_here(place):
            words = kind.split("-")
            said = _SAID.get(words[0]) or _SAID.get(words[-1], "summed here")
            related = (Related(view.path_of(site), view.span(site), said),)
            severity = Severity.HINT if kind in _HINTS else None
            yield Finding(view.span(place), _MESSAGES[kind].format(axis=axis), (), related, severity)


def _summed(solution: Solution) -> dict[tuple[Site, str, str], Site]:
    """Returns the place, kind and axis of each value computed from one part, with the place of the sum over devices."""
    found: dict[tuple[Site, str, str], Site] = {}
    every = [use for records in solution.by_file.values() for use in records.uses]
    reduced = {literal_name(use.name) for use in every if use.kind in REDUCTIONS}
    for records in solution.by_file.values():
        for use in records.gradient_uses:
            if use.kind == "normalized-returned" and use.axis not in reduced:
                # Groups may lie on one device each.
                continue
            context = use.context
            is_certain = context.sure and not context.guarded and not context.expected
            if use.kind in _MESSAGES and use.other is not None and is_certain:
                place = _index_beside(solution, use.other, use.axis) if use.kind == _ELSEWHERE else use.other
                found.setdefault((place, use.kind, use.axis), use.site)
    # That the subtracted mean is another one says more.
    return {
        (place, kind, axis): site
        for (place, kind, axis), site in found.items()
        if not kind.startswith("normalized") or (place, "scaled-by-own-part", axis) not in found
    }


def _index_beside(solution: Solution, place: Site, axis: str) -> Site:
    """Returns the only `axis_index` along another axis that leads to a lookup; the lookup itself if there is none.

    It is in the same function, or in a helper that this function calls.

    Args:
        solution: the solution.
        place: the lookup.
        axis: the axis over which the table is split.
    """
    indices = solution.once_of_records("indices of devices", _indices)[place.path, place.block]
    others = [site for site, names in indices.items() if axis not in names and None not in names]
    return others[0] if len(others) == 1 else place


def _indices(solution: Solution) -> Mapping[tuple[str, str], Mapping[Site, set[str | None]]]:
    """Returns the calls of `axis_index` in each block or its helpers, with the names of their axes; None if unknown."""
    found: defaultdict[tuple[str, str], defaultdict[Site, set[str | None]]] = defaultdict(lambda: defaultdict(set))
    for records in solution.by_file.values():
        for use in records.uses:
            if use.kind == "axis_index":
                calls = [step.site for step in use.context.route[-1:] if step.how == "call"]
                for block in {(site.path, site.block) for site in (use.call, *calls)}:
                    found[block][use.call].add(literal_name(use.name))
    return found
