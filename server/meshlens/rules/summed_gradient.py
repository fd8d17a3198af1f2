"""Gradients of a mean loss are summed over the devices instead of averaged.

If the loss is a mean, a `psum` of its gradients multiplies the step by the number of devices, which silently scales the
learning rate.

```python
import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.mean((x @ w) ** 2)


def step(w, x):
    grads = jax.grad(loss)(w, x)
    grads = jax.lax.psum(grads, "batch")
    #       ^^^^^^^^^^^^ AX402: this gradient of a mean is summed over "batch" but never divided
    return w - 0.1 * grads


step = jax.pmap(step, axis_name="batch")
```

becomes

```python
import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.mean((x @ w) ** 2)


def step(w, x):
    grads = jax.grad(loss)(w, x)
    grads = jax.lax.pmean(grads, "batch")
    return w - 0.1 * grads


step = jax.pmap(step, axis_name="batch")
```

Differentiating *through* an `all_gather` also sums the gradients, because its transpose is a `psum_scatter`.
So does differentiating through a `psum`: under `pmap` and unchecked `shard_map`, the transpose of a `psum` is a `psum`,
so the gradient comes out multiplied by the number of devices.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.axes.domain.labels import of_kinds
from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import AxisUse, literal_name
from meshlens.checking.callees import callee_span
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.registry import rule
from meshlens.facts.nodes import BinaryOperation, FunctionDef
from meshlens.project.trees import path_to, walk
from meshlens.project.view import FileView
from meshlens.rules.helpers.reductions import divided_later, unchecked_map
from meshlens.text import Edit, FileEdit, Span

_COLLECTIVES = {"mean-summed": "psum", "mean-scattered": "psum_scatter"}
"""The collective that sums gradients of means, by the kind of the record."""
_COUNT = re.compile(r"device_count\(|axis_size\(|psum\(1\b")


@rule("AX402", Severity.HINT, reads="tied")
def summed_gradient(view: FileView) -> Iterator[Finding]:
    """Reports gradients that a sum makes too large by a factor of the number of devices."""
    seen: set[Span] = set()
    for use in view.records.uses:
        if _is_sum_of_mean(use) and use.call not in divided_later(view) and not _counts_devices(view, use.call):
            span = callee_span(view, use.call, use.kind)
            if span not in seen:
                seen.add(span)
                yield _summed(view, use.call, use.kind, str(literal_name(use.name)))
    for again in view.records.gradient_uses:
        context = again.context
        is_gather = again.kind == "scattered"
        collective = _COLLECTIVES.get(again.kind, "")
        if not (is_gather or collective) or again.site in divided_later(view) or not view.is_here(again.site):
            continue
        if not context.sure or context.guarded or context.expected or _counts_devices(view, again.site):
            continue
        span = view.span(again.site) if is_gather else callee_span(view, again.site, collective)
        if span not in seen:
            seen.add(span)
            yield _gathered(span, again.axis) if is_gather else _summed(view, again.site, collective, again.axis)
    yield from _differentiated(view)


def _is_sum_of_mean(use: AxisUse) -> bool:
    if use.kind not in ("psum", "psum_scatter") or not use.labels >= {"gradient", "mean"}:
        return False
    context = use.context
    return literal_name(use.name) is not None and not context.guarded and not context.expected


def _counts_devices(view: FileView, call: Site) -> bool:
    """Returns whether the function with the sum divides any value, such as a learning rate, by the device count."""
    function = next((node for node in path_to(view, call)[::-1] if isinstance(node, FunctionDef)), None)
    return function is not None and any(
        isinstance(node, BinaryOperation)
        and node.operator == "/"
        and _COUNT.search(view.text(Site(call.path, call.block, node.right.site)))
        for node in walk(function)
    )


def _summed(view: FileView, call: Site, kind: str, name: str) -> Finding:
    span = callee_span(view, call, kind)
    message = f'this gradient of a mean is summed over "{name}" but never divided'
    text = view.source[span.start : span.end].decode()
    fixes: tuple[Fix, ...] = ()
    if text.endswith(".psum"):
        edit = FileEdit(view.path, Edit(span, f"{text[:-4]}pmean"))
        fixes = (Fix("change to pmean", (edit,), "unsafe", "the learning rate may be tuned for the sum"),)
    return Finding(span, message, fixes)


def _gathered(span: Span, axis: str) -> Finding:
    message = f'through this all_gather, the gradient of a mean is summed over "{axis}" but never divided'
    return Finding(span, message)


def _differentiated(view: FileView) -> Iterator[Finding]:
    uses = [use for use in view.records.gradient_uses if use.kind == "of-psum"]
    averaged = _averaged_sums(view) if uses else frozenset()
    seen: set[Span] = set()
    for use in uses:
        if use.other is None or use.other in averaged or use.context.guarded:
            continue
        if unchecked_map(use.context.env.maps) is None:
            continue
        site = use.other if view.is_here(use.other) else use.site
        span = view.span(site)
        if span in seen:
            continue
        seen.add(span)
        message = "differentiating this psum multiplies the gradient by the number of devices"
        place = Related(view.path_of(use.site), view.span(use.site), "it is differentiated here")
        yield Finding(span, message, (), (place,) if site == use.other else ())


def _averaged_sums(view: FileView) -> frozenset[Site]:
    """Returns the sums whose gradients a later `pmean` averages."""
    averages = (use for use in view.records.uses if use.kind == "pmean")
    return frozenset([label[1] for use in averages for label in of_kinds(use.labels, "of-psum")])
