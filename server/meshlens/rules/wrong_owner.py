"""The steps of a ring are miscounted, so a device mistakes a block for that of another device, or adds its own twice.

In ring attention and similar algorithms, every step of a loop sends the blocks to a neighbor. If they move to the next
device, then after `step` steps, a device holds the block of the device that is `step` places before it. If the owner is
computed in the wrong direction, masks and positions belong to another block, and the result is silently wrong.

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P


def weighted(x, weights):
    n, me = lax.axis_size("ring"), lax.axis_index("ring")
    to_next = [(i, (i + 1) % n) for i in range(n)]

    def hop(carry, step):
        total, block = carry
        owner = (me + step) % n
        #        ^^^^^^^^^ AX415: each step brings blocks from before this device along "ring"; subtract the step \\
        #        instead
        return (total + weights[owner] * block, lax.ppermute(block, "ring", to_next)), None

    (total, _), _ = lax.scan(hop, (jnp.zeros_like(x), x), jnp.arange(n))
    return total


mesh = jax.make_mesh((8,), ("ring",))
mapped = jax.shard_map(weighted, mesh=mesh, in_specs=(P("ring"), P()), out_specs=P("ring"), check_vma=False)
```

becomes

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P


def weighted(x, weights):
    n, me = lax.axis_size("ring"), lax.axis_index("ring")
    to_next = [(i, (i + 1) % n) for i in range(n)]

    def hop(carry, step):
        total, block = carry
        owner = (me - step) % n
        return (total + weights[owner] * block, lax.ppermute(block, "ring", to_next)), None

    (total, _), _ = lax.scan(hop, (jnp.zeros_like(x), x), jnp.arange(n))
    return total


mesh = jax.make_mesh((8,), ("ring",))
mapped = jax.shard_map(weighted, mesh=mesh, in_specs=(P("ring"), P()), out_specs=P("ring"), check_vma=False)
```

The rule is silent if blocks move in both directions, or if owners are counted in both.

If a sum begins with the device's own block, and each step moves the blocks first and then adds what has arrived, n
devices need n - 1 steps. After n steps, the own block has come home and is added a second time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import GradientUse
from meshlens.checking.model import Finding, Fix, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_uses
from meshlens.facts.nodes import BinaryOperation
from meshlens.project.solving.solution import Solution
from meshlens.project.trees import path_to
from meshlens.project.view import FileView
from meshlens.rules.helpers.ring_loops import adds_own_again
from meshlens.text import Edit, FileEdit, Span

_WRONG = {
    "owner-ahead": ("moved-on", "before", "subtract"),
    "owner-before": ("moved-back", "after", "add"),
}
"""For each way to count: the moves that it contradicts, where their blocks come from, and the remedy."""
_COUNTS = frozenset({*_WRONG, "place-in-ring"})
_OTHER = {"+": "-", "-": "+"}
_FEWEST = 3
"""Minimum number of iterations that show in which direction a loop counts."""

Loop = tuple[Site | None, str]


@rule("AX415", Severity.WARNING, state="preview")
def wrong_owner(view: FileView) -> Iterator[Finding]:
    """Reports owners of blocks that are counted against the direction in which the blocks move."""
    for use in certain_uses(view, _COUNTS):
        is_known = use.kind == "place-in-ring"
        kind = _counted(view, use) if is_known else use.kind
        if kind not in _WRONG:
            continue
        move, where, remedy = _WRONG[kind]
        kinds = view.solution.once_of_records("rings", _kinds)
        expected = {move} if is_known else {kind, move}
        if any(kinds.get((loop, use.axis)) == expected for loop in (use.other, use.context.function)):
            message = f'each step brings blocks from {where} this device along "{use.axis}"; {remedy} the step instead'
            yield Finding(view.span(use.site), message, () if is_known else _turned(view, use.site, remedy))
    for use in certain_uses(view, frozenset({"ring-closed"})):
        if use.other is not None and adds_own_again(view, use.site, use.other):
            home = f'the last step along "{use.axis}" brings each device its own block, which the sum already contains'
            yield Finding(view.span(use.site), f"{home}; take one step less")


def _counted(view: FileView, use: GradientUse) -> str:
    """Returns the kind of use that fits the offsets from the device's index: rising or falling by 1; "" if neither."""
    offsets = view.solution.once_of_records("places in rings", _places)[use.site, use.axis]
    steps = {later - sooner for sooner, later in pairwise(offsets)}
    if len(offsets) < _FEWEST or len(steps) != 1:
        return ""
    return {1: "owner-ahead", -1: "owner-before"}.get(steps.pop(), "")


def _places(solution: Solution) -> Mapping[Loop, list[int]]:
    """Returns the numbers that are added to the device's index at each place, without repetitions."""
    found: defaultdict[Loop, dict[int, None]] = defaultdict(dict)
    for records in solution.by_file.values():
        for use in records.gradient_uses:
            if use.kind == "place-in-ring":
                found[use.site, use.axis][use.offset] = None
    return {place: list(offsets) for place, offsets in found.items()}


def _turned(view: FileView, site: Site, remedy: str) -> tuple[Fix, ...]:
    """Returns the fix that replaces the operator of a sum or difference."""
    node = next(reversed(path_to(view, site)), None)
    if not isinstance(node, BinaryOperation):
        return ()
    begin, end = (view.span(site._replace(index=side.site)) for side in (node.left, node.right))
    text = view.source[begin.end : end.start].decode()
    if text.count(node.operator) != 1 or node.operator not in _OTHER:
        return ()
    edit = Edit(Span(begin.end, end.start), text.replace(node.operator, _OTHER[node.operator]))
    why = "the results change"
    return (Fix(f"{remedy} the step", (FileEdit(view.path, edit),), "unsafe", why),)


def _kinds(solution: Solution) -> Mapping[Loop, set[str]]:
    """Returns the kinds of the records of each loop and axis: how owners are counted, and where blocks move.

    A loop is identified by the place that passes its body, or by the function that contains the loop.
    """
    found: defaultdict[Loop, set[str]] = defaultdict(set)
    for records in solution.by_file.values():
        for use in records.gradient_uses:
            if use.kind in _WRONG:
                for loop in (use.other, use.context.function if use.context.loop else None):
                    if loop is not None:
                        found[loop, use.axis].add(use.kind)
            elif use.kind in ("moved-on", "moved-back"):
                for step in use.context.route:
                    found[step.site, use.axis].add(use.kind)
                    if step.function is not None and use.context.loop:
                        found[step.function, use.axis].add(use.kind)
    return found
