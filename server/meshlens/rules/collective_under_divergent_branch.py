"""A collective is in a branch that only some devices or processes take, or in a loop that some leave early.

A collective waits for every device along its axis.
If the condition depends on `axis_index`, on `process_index` or on data that is split over the devices, some devices may
never reach the collective, and the program then hangs without an error message; JAX cannot detect this.
Under `vmap`, both branches run, and nothing hangs.

```python
import jax
from functools import partial


@partial(jax.pmap, axis_name="data")
def step(x):
    first = jax.lax.axis_index("data") == 0
    return jax.lax.cond(first, lambda v: jax.lax.psum(v, "data"), lambda v: v, x)
    #                                    ^^^^^^^^^^^^^^^^^^^^^^^ AX303: only some devices reach this psum over \\
    #                                    "data"; move it out of the branch
```

Let every device take part, and choose afterwards:

```python
import jax
from functools import partial


@partial(jax.pmap, axis_name="data")
def step(x):
    first = jax.lax.axis_index("data") == 0
    total = jax.lax.psum(x, "data")
    return jax.lax.cond(first, lambda v: total, lambda v: v, x)
```

The same happens in a `while_loop` that has a collective, if its condition differs between devices: JAX 0.10.2 traces
and runs such a loop even in a checked `shard_map`, and it hangs once a device has left the loop. Whether one leaves
before the others depends on the data, so this finding is a warning.

```python
import jax
import jax.numpy as jnp
from functools import partial


@partial(jax.pmap, axis_name="data")
def settle(x):
    def step(state):
        moved = 0.5 * (state[0] + jax.lax.pmean(state[0], "data"))
        return moved, jnp.max(jnp.abs(moved - state[0]))

    return jax.lax.while_loop(lambda state: state[1] > 1e-3, step, (x, jnp.inf))[0]
    #                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ AX303: devices may leave this loop at different steps, \\
    #                         and the others then wait for ever in its collective over "data"; reduce what the \\
    #                         condition compares


settle(jnp.arange(64.0).reshape(8, 8))
```

Let all devices leave at the same step, for example with `jax.lax.pmax`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.domain.joining import variation_of
from meshlens.axes.domain.values import Bound, Class, Const, Ext, Function, Mapped, Partial, Seq, Site, Value, Wrapped
from meshlens.axes.domain.variation import is_same
from meshlens.axes.runs.context import AxisEnv, Context
from meshlens.axes.runs.records import ApiCall, AxisUse
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_uses
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.jaxapi.collectives import PROCESS_COLLECTIVES, WAITING
from meshlens.project.view import FileView

_CONDITIONALS = frozenset({"jax.lax.cond", "jax.lax.switch"})
_LEFT = {
    "left-apart": "devices may leave this loop at different steps, and the others then wait for ever in its collective "
    'over "{axis}"; reduce what the condition compares',
}
_ASKS_WHICH = re.compile(r"process_index|host_id|axis_index|rank|main|primary|chief|master|lead|is_host|first", re.I)


@dataclass(frozen=True, slots=True)
class _Meeting:
    """An operation, in one arm of a branch, that waits for other devices or processes."""

    what: str
    axis: str
    site: Site
    context: Context


@rule("AX303", Severity.ERROR, reads="places")
def collective_under_divergent_branch(view: FileView) -> Iterator[Finding]:
    """Reports each collective in one arm of a device-dependent branch that another arm lacks, and loops left apart."""
    arms: dict[Site, dict[int, list[_Meeting]]] = defaultdict(lambda: defaultdict(list))
    for meeting in _meetings(view):
        if meeting.context.branch is not None:
            branch, arm = meeting.context.branch
            arms[branch][arm].append(meeting)
    for branch, found in arms.items():
        calls = [call for call in view.records.calls if _is_branch_of(call, branch)]
        count = _arms_of(view, branch, calls)
        if count is None:
            continue
        made = {arm: {(meeting.what, meeting.axis) for meeting in meetings} for arm, meetings in found.items()}
        everywhere = set.intersection(*(made.get(arm, set()) for arm in range(count)))
        seen: set[Site] = set()
        for meeting in (meeting for meetings in found.values() for meeting in meetings):
            agree = _all_agree(calls, branch, meeting.axis)
            if (meeting.what, meeting.axis) not in everywhere and meeting.site not in seen and not agree:
                seen.add(meeting.site)
                yield _finding(view, branch, meeting)
    for use in certain_uses(view, _LEFT):
        if use.other is not None and _is_of_devices(use.context.env, use.axis):
            place = Related(view.path_of(use.other), view.span(use.other), "the other devices wait here")
            message = _LEFT[use.kind].format(axis=use.axis)
            yield Finding(view.span(use.site), message, (), (place,), Severity.WARNING)


def _meetings(view: FileView) -> Iterator[_Meeting]:
    for use in view.records.uses:
        name = use.name.value if isinstance(use.name, Const) else None
        if use.kind in WAITING and isinstance(name, str) and _may_hang(use, name):
            yield _Meeting(use.kind, name, use.call, use.context)
    for call in view.records.calls:
        if call.dotted in PROCESS_COLLECTIVES and call.context.sure and not call.context.guarded:
            yield _Meeting(call.dotted.rsplit(".", 1)[-1], "", call.call, call.context)


def _may_hang(use: AxisUse, name: str) -> bool:
    context = use.context
    if not context.sure or context.guarded or context.expected or "axis_index_groups" in dict(use.arguments):
        return False
    return _is_of_devices(context.env, name)


def _is_of_devices(env: AxisEnv, name: str) -> bool:
    binder = env.binder_of(name)
    return binder is not None and binder.kind in MAPS_ON_DEVICES and not _under_vmap(env)


def _under_vmap(env: AxisEnv) -> bool:
    """Returns whether a `vmap` runs this code and so executes both arms of a branch."""
    return any(binder.kind not in MAPS_ON_DEVICES for binder in env.maps)


def _is_branch_of(call: ApiCall, branch: Site) -> bool:
    return call.dotted in _CONDITIONALS and any(arg.site == branch for arg in call.args)


def _all_agree(calls: list[ApiCall], branch: Site, axis: str) -> bool:
    """Returns whether the value that selects an arm of a branch is certainly the same on all devices along an axis."""
    tests = [arg.value for call in calls for arg in call.args if arg.site == branch]
    return bool(tests) and all(is_same(variation_of(test).over(axis).truth) for test in tests)


def _arms_of(view: FileView, branch: Site, calls: list[ApiCall]) -> int | None:
    """Returns how many arms a branch has; None if an arm is unknown or the branch may not depend on the device."""
    if not calls:
        return 2 if view.is_here(branch) and _ASKS_WHICH.search(view.text(branch)) else None
    counts: set[int | None] = set()
    for call in calls:
        arms = [arg.value for arg in call.args if arg.site != branch]
        if call.dotted.endswith(".cond"):
            named = [arg.value for arg in call.args if arg.label in ("true_fun", "false_fun")]
            arms = named if len(named) == 2 else arms[:2]
        else:
            branches = arms[0] if arms else None
            arms = list(branches.items) if isinstance(branches, Seq) and not branches.open else []
        counts.add(len(arms) if len(arms) > 1 and all(_is_known(arm) for arm in arms) else None)
    return counts.pop() if len(counts) == 1 else None


def _is_known(arm: Value) -> bool:
    if isinstance(arm, (Partial, Wrapped)):
        return _is_known(arm.callee if isinstance(arm, Partial) else arm.operand)
    if isinstance(arm, Bound):
        return _is_known(arm.function)
    if isinstance(arm, Ext):
        return arm.dotted.startswith("jax.")
    return isinstance(arm, (Function, Class, Mapped))


def _finding(view: FileView, branch: Site, meeting: _Meeting) -> Finding:
    who = f'devices reach this {meeting.what} over "{meeting.axis}"'
    if not meeting.axis:
        who = f"processes reach this {meeting.what}"
    place = Related(view.path_of(branch), view.span(branch), "this selects the branch")
    return Finding(view.span(meeting.site), f"only some {who}; move it out of the branch", (), (place,))
