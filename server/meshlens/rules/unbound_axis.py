"""A collective names an axis that nothing binds.

An axis name exists only while a map (`pmap`, `vmap` or `shard_map`) that binds it runs the mapped function.
Elsewhere, tracing fails with `NameError: unbound axis name`.
Inside a checked `shard_map`, it fails with an `AssertionError` without a message (JAX 0.9.2 and later) or with a
`KeyError` (JAX 0.6.2 to 0.8.1).
`jit`, `with mesh:`, `set_mesh` and `spmd_axis_name` do not bind axis names.

```python
import jax
from functools import partial


@partial(jax.pmap, axis_name="batch")
def step(x):
    return jax.lax.pmean(x, "bacth")
    #                       ^^^^^^^ AX101: axis "bacth" is not bound here (bound: "batch"); did you mean "batch"?
```

becomes

```python
import jax
from functools import partial


@partial(jax.pmap, axis_name="batch")
def step(x):
    return jax.lax.pmean(x, "batch")
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.values import Binder, Const, Site
from meshlens.axes.runs.context import Step
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.places import axis_site, quoted, route_places
from meshlens.checking.registry import rule
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView
from meshlens.project.writing.did_you_mean import closest
from meshlens.rules.helpers.binding_fixes import fixes_for
from meshlens.rules.helpers.unbound import Unbound, unbound_uses

_MOST_REPEATED = 4


@rule("AX101", Severity.ERROR, reads="places")
def unbound_axis(view: FileView) -> Iterator[Finding]:
    """Reports each collective whose axis is certainly unbound on some route."""
    seen: set[tuple[Site, str]] = set()
    for fault in unbound_uses(view.solution):
        name = fault.name
        for use in fault.failing:
            site = _where_routes_part(use, fault.binding) if fault.binding else axis_site(view, use)
            if view.is_here(site) and (site, name) not in seen:
                seen.add((site, name))
                yield _finding(view, use, site, fault, _common(use, view.solution))


def _where_routes_part(use: AxisUse, binding: list[AxisUse]) -> Site:
    """Returns the first step of a failing route into a function that other routes enter with the axis bound."""
    good = {step.function for other in binding for step in _bound_steps(other)} - {None}
    for place, step in enumerate(use.context.route):
        if step.function in good:
            before = use.context.route[place - 1] if place else None
            if before is not None and before.how == "map":
                return before.env.maps[-1].site
            return step.site
    return use.axis or use.call


def _bound_steps(use: AxisUse) -> list[Step]:
    name = literal_name(use.name)
    return [step for step in use.context.route if name in step.env.names]


def _common(use: AxisUse, solution: Solution) -> tuple[str, ...]:
    """Returns the names that are bound on every route that reads the same literal as a use."""
    literal = use.name.origin if isinstance(use.name, Const) else None
    readers = solution.once("readers-of-literals", _by_literal).get(literal, [])
    names = [other.context.env.names for other in readers if other.context.env.names]
    return tuple(name for name in use.context.env.names if all(name in bound for bound in names))


def _by_literal(solution: Solution) -> dict[Site | None, list[AxisUse]]:
    found: dict[Site | None, list[AxisUse]] = defaultdict(list)
    for records in solution.by_file.values():
        for use in records.uses:
            if isinstance(use.name, Const):
                found[use.name.origin].append(use)
    return found


def _finding(view: FileView, use: AxisUse, site: Site, fault: Unbound, common: tuple[str, ...]) -> Finding:
    name, elsewhere = fault.name, bool(fault.binding)
    env = use.context.env
    bound = env.names
    hint = ""
    suggestion = closest(name, bound) if bound else None
    if bound:
        state = f"(bound: {quoted(bound)})"
    elif use.context.host:
        state = "(a callback runs on the host, outside every map)"
    elif env.maps:
        state = f"({_unnamed(env.maps[-1])})"
    else:
        state = "(no enclosing map)"
    if suggestion is not None:
        hint = f'; did you mean "{suggestion}"?'
    if elsewhere:
        message = f'axis "{name}", which {use.kind} uses, is not bound on this call path {state}'
    else:
        message = f'axis "{name}" is not bound here {state}{hint}'
    related = list(route_places(view, use.context))
    place = axis_site(view, use)
    if place != site:
        related.append(Related(view.path_of(use.call), view.span(use.call), f'{use.kind} uses axis "{name}" here'))
    again = f'axis "{name}" is also used here'
    related += [Related(view.path_of(one), view.span(one), again) for one in fault.repeated[:_MOST_REPEATED]]
    fixes = () if elsewhere and not env.maps else fixes_for(view, use, site, name, suggestion, common)
    return Finding(view.span(site), message, fixes, tuple(related))


def _unnamed(binder: Binder) -> str:
    kind = binder.dotted.rsplit(".", 1)[-1] if binder.kind == "pallas" else binder.kind
    return f"the enclosing {kind} binds no axis name"
