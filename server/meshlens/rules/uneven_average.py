"""An average over the devices does not weight all rows equally.

If a total over all devices is divided by one device's count, or by one device's number of rows (`x.shape[0]`), the
result is too large by a factor of the number of devices.
If a mean of sums is divided by the total number of rows, the result is too small by the same factor.
Sum the count as well: `count = jax.lax.psum(jnp.sum(mask), "data")`.

The rule also reports these averages, as hints:

- A sum over the devices that is taken after a bias was added counts the bias once for each device.
- A sum of the devices' means is too large by a factor of the number of devices, unless something divides it.
- A mean of quotients, such as masked means, gives more weight to rows on devices with few of them.
- A mean of square roots, products or other nonlinear functions of each device's mean is not that function of the mean
  over all devices.
- A mean of a loss that compares the rows of a device with each other leaves out the pairs across devices.
- A mean of a value that is zero on all devices but one is too small by a factor of the number of devices.
- A batch is filled up so that it divides evenly over the devices, and the added rows count like the others, because
  their weights repeat a weight of 1, because the number of rows is taken afterwards, or because one sum or mean is not
  masked while others in the same function are.
- A value is weighted by ranks among one device's rows only, such as fitness ranks in a population, and is then reduced
  over the devices.
- A sum leaves out what a mask hides, but the size of the mask counts it.

```python
import jax
import jax.numpy as jnp
import numpy as np
from functools import partial
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))


@partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P("data")), out_specs=P("data"), check_vma=False)
def mean(x, mask):
    total = jax.lax.psum(jnp.sum(x * mask), "data")
    count = jnp.sum(mask)
    #       ^^^^^^^^^^^^^ AX407: the total over "data" is divided by this count, which covers only one device
    return x - total / count
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.axes.data import fillers
from meshlens.axes.data.parts import LOGARITHMS_REDUCED
from meshlens.axes.data.positions import RANKS_REDUCED
from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import GradientUse
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.reading_after import key_of
from meshlens.checking.registry import rule
from meshlens.facts.nodes import Attribute, BinaryOperation, Call, Constant, Name
from meshlens.project.solving.solution import Solution
from meshlens.project.trees import Node, sized_array, tree, walk
from meshlens.project.view import FileView
from meshlens.rules.helpers.reductions import divided_later, is_less_a_square, is_scaled_at_once
from meshlens.text import Span

_HINTS = {
    "ratio-averaged": "this averages quotients over {axis}, so all devices have the same weight, whatever their counts",
    "curved-averaged": (
        "this averages a nonlinear function over {axis}, but each device applies it to its own mean or sum"
    ),
    "pieces-averaged": "this averages a value over {axis}, but it is nonzero on only some devices; sum it instead",
    "pairs-averaged": "this averages a loss over {axis}, but each device compares only its own rows",
    "means-summed": "this sums the devices' means over {axis}, and nothing divides the sum by the number of devices",
    "own-means-summed": (
        "this sums gradients over {axis} that each device has divided by its own count; "
        "divide the sum by the count over all devices"
    ),
    "of-fewer-axes": "the total is summed over {axis}, but its divisor is not; sum the divisor over it too",
    "carried-sum": "this sum of one device becomes a carry that began with a value reduced over {axis}; reduce it too",
    "divided-by-all": (
        "this divides a sum over {axis} by the number of all devices of the mesh, which has other axes too; divide by "
        "the size of {axis}"
    ),
    "divided-again": "this gradient is divided by a number by which the loss was divided already",
    "reduced-over-fewer": "rows are also split over {axis}, over which what is subtracted from them is not reduced",
    "fillers-counted": "these weights are 1 and are filled up with 1, so the rows that fill up the batch count too",
    "length-of-filled": "the number of rows is taken after the batch was filled up, so the added rows count too",
    RANKS_REDUCED: (
        "each device ranks only its own rows, but what is computed from the ranks is reduced over {axis}; "
        "gather the rows before ranking them"
    ),
    fillers.COUNTED_ALL: "this counts the padding rows, which the masked sum leaves out; sum the mask",
    fillers.SUMMED_ALL: ("this includes the padding rows, which the masked sum leaves out; multiply by the mask"),
    "shifted-summed": "a value all devices share is added before this sum over {axis}, which counts it once per device",
}
_WARNINGS = {
    "of-one-device": "the total over {axis} is divided by this count, which covers only one device",
    "of-size-here": "the total over {axis} is divided by the number of rows on one device",
    "divided-twice": "this mean over {axis} is divided by the number of devices again",
    "share-averaged": "each device already divides by a total over {axis}; sum the results instead of averaging them",
}
_COUNTS = frozenset({"float32", "asarray", "array", "float", "int32"})
"""Functions that turn the number of an array's rows into a count."""
_MASK = re.compile(r"mask|valid|keep|is_real", re.I)
_MAY_GO_ON = frozenset({"of-size-here", "means-summed"})
"""Kinds of uses that are correct if the result is immediately scaled by the number of devices."""


@rule("AX407", Severity.WARNING, reads="tied")
def uneven_average(view: FileView) -> Iterator[Finding]:
    """Reports averages that combine values from different sets of devices."""
    yield from _sizes_of_masks(view)
    seen: set[Span] = set()
    for span in _sizes_beside_masks(view):
        seen.add(span)
        yield Finding(span, _HINTS[fillers.COUNTED_ALL], (), (), Severity.HINT)
    uses = view.records.gradient_uses
    masking = {(use.site.path, use.site.block) for use in uses if use.kind == fillers.MASKED_SUM}
    # The logarithm of a sum over a part is a separate fault.
    logarithms = {use.site for use in uses if use.kind == LOGARITHMS_REDUCED}
    for use in uses:
        context = use.context
        if use.kind not in _HINTS and use.kind not in _WARNINGS:
            continue
        if not context.sure or context.guarded or context.expected or context.skip:
            continue
        site = use.other if use.other is not None and _is_to_blame(view, use, use.other) else use.site
        if not view.is_here(site) or (use.kind in _MAY_GO_ON and is_scaled_at_once(view, use.site)):
            continue
        if use.kind in ("means-summed", "own-means-summed") and use.site in divided_later(view):
            continue
        if use.kind == "curved-averaged" and (use.site in logarithms or is_less_a_square(view, use.site)):
            continue
        if use.kind == "fillers-counted" and use.site in _cleared(view):
            continue
        if use.kind in (fillers.COUNTED_ALL, fillers.SUMMED_ALL) and (use.site.path, use.site.block) not in masking:
            continue
        span = view.span(site)
        if span not in seen:
            seen.add(span)
            yield _finding(view, use, span)


def _sizes_of_masks(view: FileView) -> Iterator[Finding]:
    """Yields the sizes of masks that are counted where sums leave out what the masks hide, beside a reduction."""
    blocks = {use.call.block: None for use in view.records.uses if view.is_here(use.call) and use.context.env.maps}
    for block in blocks:
        function = tree(view, str(view.path), block)
        nodes = list(walk(function)) if function is not None else []
        weights = {name for node in nodes for name in _weights_in(node)}
        counted = {name for node in nodes if (name := _summed_name(node)) is not None}
        for node in nodes:
            name = _sized_name(node)
            if name in weights - counted and name is not None and _MASK.search(name):
                text = f'this counts all entries of "{name}", but the sum only those that it keeps; sum it instead'
                yield Finding(view.span(Site(str(view.path), block, node.site)), text, severity=Severity.HINT)


def _sizes_beside_masks(view: FileView) -> Iterator[Span]:
    """Yields counts of all rows of an array if a masked sum in the same function leaves out its padding rows."""
    for use in view.records.gradient_uses:
        context = use.context
        if use.kind != fillers.MASKED_SUM or not view.is_here(use.site) or not context.sure or context.guarded:
            continue
        function = tree(view, use.site.path, use.site.block)
        nodes = list(walk(function)) if function is not None else []
        masked = next((_summed(node) for node in nodes if isinstance(node, Call) and node.site == use.site.index), None)
        if not isinstance(masked, BinaryOperation):
            continue
        keys = {key_of(masked.left), key_of(masked.right)} - {None}
        summed = {key_of(one) for node in nodes if (one := _summed(node)) is not None}
        for node in nodes if keys.isdisjoint(summed) else ():
            if (counted := _counted(node)) is not None and key_of(counted) in keys:
                yield view.span(Site(use.site.path, use.site.block, node.site))


def _counted(node: Node) -> Node | None:
    """Returns the array whose rows a call such as `jnp.float32(x.shape[0])` counts; None for any other node."""
    if not isinstance(node, Call) or not isinstance(node.callee, (Attribute, Name)) or not node.arguments:
        return None
    return sized_array(node.arguments[0].value) if node.callee.name in _COUNTS else None


def _weights_in(node: Node) -> Iterator[str]:
    """Yields the variables that are factors of what a call sums: `m` in `jnp.sum(x * m)` and `(x * m).sum()`."""
    summed = _summed(node)
    if isinstance(summed, BinaryOperation) and summed.operator == "*":
        yield from [side.name for side in (summed.left, summed.right) if isinstance(side, Name)]


def _summed_name(node: Node) -> str | None:
    summed = _summed(node)
    return summed.name if isinstance(summed, Name) else None


def _summed(node: Node) -> Node | None:
    """Returns what a call of `sum`, a function or a method, adds up; None for any other node."""
    if not isinstance(node, Call) or not isinstance(node.callee, Attribute) or node.callee.name != "sum":
        return None
    first = next(iter(node.arguments), None)
    is_function = first is not None and first.label is None and not isinstance(first.value, Constant)
    return first.value if is_function and first is not None else node.callee.object


def _sized_name(node: Node) -> str | None:
    """Returns the variable whose size an expression is: `m.size`, `m.shape[0]` or `len(m)`."""
    sized = sized_array(node)
    return sized.name if isinstance(sized, Name) else None


def _cleared(view: FileView) -> frozenset[Site]:
    """Returns the places where weights are filled up that code sets afterwards, perhaps in another file."""
    return view.solution.once_of_records("weights that are set after they are filled up", _set_later)


def _set_later(solution: Solution) -> frozenset[Site]:
    uses = (use for records in solution.by_file.values() for use in records.gradient_uses)
    return frozenset([use.site for use in uses if use.kind == "fillers-cleared"])


def _is_to_blame(view: FileView, use: GradientUse, other: Site) -> bool:
    """Returns whether the fault is where a value was counted or reduced, not where it is divided.

    A helper that counts a device's rows is not to blame, because other code may use its count correctly.
    """
    if use.kind in ("carried-sum", "divided-by-all", fillers.SUMMED_ALL):
        return False
    counts = use.kind in ("of-one-device", "of-size-here")
    is_elsewhere = (other.path, other.block) != (use.site.path, use.site.block)
    return view.is_here(other) and not (counts and is_elsewhere)


def _finding(view: FileView, use: GradientUse, span: Span) -> Finding:
    axis = f'"{use.axis}"'
    if use.kind in _HINTS:
        return Finding(span, _HINTS[use.kind].format(axis=axis), (), (), Severity.HINT)
    places: tuple[Related, ...] = ()
    if use.other is not None and span != view.span(use.site):
        places = (Related(view.path_of(use.site), view.span(use.site), "divided here"),)
    return Finding(span, _WARNINGS[use.kind].format(axis=axis), (), places)
