"""A value that is already reduced over the devices is reduced again.

In a checked `shard_map` (JAX 0.6.1 and later), JAX already sums the gradient of an argument that all devices share.
A `pmean` of that gradient has no effect: the result is still the sum.
A `psum` multiplies the sum by the number of devices.
The same program is correct with `pmap`, with `check_vma=False` and before JAX 0.6.1, so migrating to `shard_map`
or upgrading JAX silently breaks it.

```python
import jax
import jax.numpy as jnp
import numpy as np
from functools import partial
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("batch",))


@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("batch")), out_specs=P())
def gradient(w, x):
    grads = jax.grad(lambda w, x: jnp.mean(w * x))(w, x)
    return jax.lax.pmean(grads, "batch")
    #      ^^^^^^^^^^^^^ AX404: shard_map already sums this gradient over "batch"; this pmean does not average it
```

becomes

```python
import jax
import jax.numpy as jnp
import numpy as np
from functools import partial
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("batch",))


@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("batch")), out_specs=P(), check_vma=False)
def gradient(w, x):
    grads = jax.grad(lambda w, x: jnp.mean(w * x))(w, x)
    return jax.lax.pmean(grads, "batch")
```

A `psum` of a `psum` over the same axis counts everything once per device, and so does a sum on the host of a metric
that the map has already reduced.
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.values import Binder, Site, Spec, Value
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.checking.callees import callee_span
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.registry import rule
from meshlens.facts.nodes import Call, last_name
from meshlens.project.trees import tree, walk
from meshlens.project.view import FileView
from meshlens.rules.helpers.keywords import with_keyword
from meshlens.rules.helpers.reductions import divided_later, is_scaled_at_once
from meshlens.text import Span

_WHAT = {
    "summed-again": "already reduced over the same axis",
    "same-summed": "computed from a value that is already reduced over the same axis",
    "gathered-summed": "computed from the gathered rows of all devices",
}
_COUNT_DEVICES = frozenset({"axis_size", "device_count"})
_AGAIN = frozenset({"summed-again", "same-summed", "gathered-summed", "host-reduced", "copies-summed"})


@rule("AX404", Severity.WARNING, reads="places")
def double_reduction(view: FileView) -> Iterator[Finding]:
    """Reports values that are reduced again, in maps and after them."""
    seen: set[Span] = set()
    for use in view.records.uses:
        binder = _summing_map(use)
        if binder is None or not view.is_here(use.call):
            continue
        span = callee_span(view, use.call, use.kind)
        if span not in seen:
            seen.add(span)
            yield _of_gradient(view, use, binder, span)
    for again in view.records.gradient_uses:
        if again.kind not in _AGAIN or again.context.guarded or again.context.expected:
            continue
        span = view.span(again.site)
        if span in seen or again.site in divided_later(view):
            continue
        if again.kind in ("same-summed", "gathered-summed") and not _is_on_every_route(view, again.site):
            continue
        if again.kind == "gathered-summed" and _may_cancel(view, again.site):
            continue
        seen.add(span)
        if again.kind == "host-reduced":
            yield Finding(span, "every device holds the same reduced value; this sum counts it once per device")
        elif again.other is not None and again.kind == "copies-summed":
            if again.context.sure:
                place = Related(view.path_of(again.other), view.span(again.other), "copied here")
                text = "every device has a copy of this value; this psum multiplies it by the number of devices"
                yield Finding(span, text, (), (place,))
        elif again.other is not None:
            done = "gathered" if again.kind == "gathered-summed" else "reduced"
            place = Related(view.path_of(again.other), view.span(again.other), f"first {done} here")
            yield Finding(span, f"{_WHAT[again.kind]}; this psum multiplies it by the number of devices", (), (place,))


def _may_cancel(view: FileView, total: Site) -> bool:
    """Returns whether a sum over devices is scaled at once, or its function knows the number of devices.

    That number may then cancel out.
    """
    function = tree(view, total.path, total.block)
    nodes = walk(function) if function is not None else ()
    counts = (node for node in nodes if isinstance(node, Call) and last_name(node.callee) in _COUNT_DEVICES)
    return is_scaled_at_once(view, total) or any(counts)


def _summing_map(use: AxisUse) -> Binder | None:
    """Returns the checked shard_map that has already summed the reduced value over the same axis."""
    context = use.context
    if use.kind not in ("psum", "pmean") or context.guarded or context.expected or not context.sure:
        return None
    if "auto-summed" not in use.labels or "gradient" in use.labels:
        return None
    binder = context.env.maps[-1] if context.env.maps else None
    name = literal_name(use.name)
    if binder is None or not binder.checked or name is None:
        return None
    specs = binder.argument("in_specs")
    return binder if specs is not None and _names(specs.value, name) else None


def _names(specs: Value, name: str) -> bool:
    """Returns whether some argument is split over an axis."""
    if isinstance(specs, Spec):
        return any(_names(entry, name) for entry in specs.entries)
    items = getattr(specs, "items", None)
    if isinstance(items, tuple):
        return any(_names(item[1] if isinstance(item, tuple) else item, name) for item in items)
    return getattr(specs, "value", None) == name


def _of_gradient(view: FileView, use: AxisUse, binder: Binder, span: Span) -> Finding:
    name = literal_name(use.name)
    effects = {"pmean": "does not average it", "psum": "multiplies it by the number of devices"}
    message = f'shard_map already sums this gradient over "{name}"; this {use.kind} {effects[use.kind]}'
    keyword = "check_rep" if binder.dotted == "jax.experimental.shard_map.shard_map" else "check_vma"
    place = Related(view.path_of(binder.site), view.span(binder.site), f"{keyword} is on here")
    fixes: tuple[Fix, ...] = ()
    edit = with_keyword(view, binder.site, f"{keyword}=False")
    if edit is not None and use.kind == "pmean" and binder.argument(keyword) is None:
        why = "JAX then no longer checks that outputs are equal on all devices"
        fixes = (Fix("turn off the check, and with it the sum", (edit,), "unsafe", why),)
    return Finding(span, message, fixes, (place,))


def _is_on_every_route(view: FileView, site: Site) -> bool:
    """Returns whether a sum repeats a reduction on every route; one helper may sum both numerators and counts."""
    routes = {use.context.route for use in view.records.uses if use.call == site}
    return routes <= {use.context.route for use in view.records.gradient_uses if use.site == site}
