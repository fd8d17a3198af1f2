"""A `ppermute` repeats a source or a destination, or uses an index that the axis does not have.

The pairs of `perm` are `(source, destination)`, and each index may appear at most once as a source and at most once as
a destination.
Otherwise, JAX raises `ValueError: ppermute sources and destinations must be unique`, or, under `vmap`, an
`AssertionError` (`Permutation doesn't match the axis size!`).
An index beyond the end of the axis raises `IndexError: list index out of range` when the program is lowered.
To send one value to every device, use `all_gather`, or a `psum` of a masked value.

```python
import jax
from functools import partial


@partial(jax.pmap, axis_name="ring")
def shift(x):
    return jax.lax.ppermute(x, "ring", perm=[(0, 1), (1, 2), (2, 1)])
    #                                       ^^^^^^^^^^^^^^^^^^^^^^^^ AX304: destination 1 appears twice (from 0 and \\
    #                                       from 2)
```

Use each index only once as a destination:

```python
import jax
from functools import partial


@partial(jax.pmap, axis_name="ring")
def shift(x):
    return jax.lax.ppermute(x, "ring", perm=[(0, 1), (1, 2), (2, 0)])
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.axis_sizes import FOR_EXAMPLE, PAIRS_FOR_EXAMPLE, pair_of, size_along
from meshlens.axes.domain.values import Arg, Const, Seq, Site
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.checking.model import Finding, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.project.view import FileView

_PERMUTES = frozenset({"ppermute", "psend", "precv"})


@rule("AX304", Severity.ERROR, reads="places")
def one_sided_permute(view: FileView) -> Iterator[Finding]:
    """Reports each permutation that is known and invalid, on every route or on one that certainly runs."""
    by_call: dict[Site, list[AxisUse]] = defaultdict(list)
    for use in view.records.uses:
        if use.kind in _PERMUTES or use.kind == "pshuffle":
            by_call[use.call].append(use)
    for uses in by_call.values():
        perm = _perm(uses[0])
        if perm is None or perm.site is None or not view.is_here(perm.site):
            continue
        found = certain((use, use.context, _complaint(use) is not None) for use in uses)
        complaint = _complaint(found) if found is not None else None
        if complaint is not None:
            yield Finding(view.span(perm.site), complaint)


def _perm(use: AxisUse) -> Arg | None:
    return dict(use.arguments).get("perm")


def _complaint(use: AxisUse) -> str | None:
    perm = _perm(use)
    context = use.context
    if perm is None or not context.sure or context.guarded or context.expected:
        return None
    if not isinstance(perm.value, Seq):
        return None
    if perm.value.kind == PAIRS_FOR_EXAMPLE:
        said = _of_pairs(use, perm.value, FOR_EXAMPLE)
        return f"with {FOR_EXAMPLE} devices, {said}" if said is not None else None
    if perm.value.open or perm.value.kind not in ("tuple", "list"):
        return None
    if use.kind == "pshuffle":
        return _shuffle(perm.value)
    name = use.name.value if isinstance(use.name, Const) and use.whole == use.name else None
    return _of_pairs(use, perm.value, size_along(context.env, name) if isinstance(name, str) else None)


def _of_pairs(use: AxisUse, perm: Seq, size: int | None) -> str | None:
    """Returns what is wrong with a permutation of devices along an axis of the given size, in words."""
    pairs = [pair_of(item) for item in perm.items]
    known = [pair for pair in pairs if pair is not None]
    if len(known) != len(pairs):
        return None
    for source, destination in _clashes([(to, start) for start, to in known]):
        return f"destination {source} appears twice (from {destination[0]} and from {destination[1]})"
    for source, destination in _clashes(known):
        return f"source {source} appears twice (to {destination[0]} and to {destination[1]})"
    strange = next((one for pair in known for one in pair if size is not None and not 0 <= one < size), None)
    if size is None or strange is None:
        return None
    return f'index {strange} is out of range for axis "{literal_name(use.name)}", which has indices 0 to {size - 1}'


def _clashes(pairs: list[tuple[int, int]]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yields each first number that two pairs share, with their two second numbers."""
    seen: dict[int, int] = {}
    for first, second in pairs:
        if first in seen:
            yield first, (seen[first], second)
        seen[first] = second


def _shuffle(perm: Seq) -> str | None:
    numbers = [item.value for item in perm.items if isinstance(item, Const) and type(item.value) is int]
    if len(numbers) != len(perm.items) or len(set(numbers)) == len(numbers):
        return None
    twice = next(number for place, number in enumerate(numbers) if number in numbers[:place])
    return f"source {twice} appears twice, so this is not a permutation"
