"""A `pmap` runs inside a `jit`.

`pmap` already compiles, so a `jit` around it adds nothing.
Before JAX 0.8, it is slow: the outer `jit` gathers the inputs and outputs on one device, and JAX warns
`The function jit(f) includes a pmap. Using jit-of-pmap can lead to inefficient data movement`.
Since JAX 0.8, JAX compiles both as one, and the finding is only a hint.

```python
import jax


def step(x):
    return x - jax.lax.pmean(x, "batch")


step = jax.jit(jax.pmap(step, axis_name="batch"))
#      ^^^^^^^ AX602: jit around pmap is redundant: pmap already compiles
```

becomes

```python
import jax


def step(x):
    return x - jax.lax.pmean(x, "batch")


step = jax.pmap(step, axis_name="batch")
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.values import Mapped, Site
from meshlens.axes.runs.context import Step
from meshlens.axes.runs.records import ApiCall, MappedCall
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.registry import rule
from meshlens.jaxapi.transparent import COMPILES
from meshlens.project.trees import callee_of
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span

_MERGED = (0, 8, 0)


@rule("AX602", Severity.HINT, reads="tied")
def jit_of_pmap(view: FileView) -> Iterator[Finding]:
    """Reports each `jit` applied to a pmap, and each call of a pmap in a jitted function."""
    severity = Severity.HINT if view.jax_version >= _MERGED else Severity.WARNING
    seen: set[Site] = set()
    for call in view.records.calls:
        if call.dotted not in COMPILES or call.call in seen or not _applies(call):
            continue
        seen.add(call.call)
        span = view.span(call.call if call.decorator else call.callee)
        yield Finding(span, "jit around pmap is redundant: pmap already compiles", _fixes(view, call), (), severity)
    inside: set[tuple[Site, Site | None]] = set()
    for mapped in view.records.mapped_calls:
        step = _jit_around(mapped)
        if step is None or (mapped.binder.site, step.function) in inside:
            continue
        inside.add((mapped.binder.site, step.function))
        place = Related(view.path_of(step.site), view.span(step.site), f"{step.callee} is jitted here")
        message = f"pmap is called inside {step.callee}, which is jitted; drop one of the two"
        yield Finding(view.span(callee_of(view, mapped.call)), message, (), (place,), severity)


def _applies(call: ApiCall) -> bool:
    operand = call.args[0].value if call.args else None
    return isinstance(operand, Mapped) and operand.binder.kind == "pmap" and not call.context.expected


def _jit_around(call: MappedCall) -> Step | None:
    context = call.context
    certain = context.sure and not context.guarded and not context.conditional and not context.remote
    if call.binder.kind != "pmap" or not call.visible or not certain:
        return None
    return next((step for step in context.route if step.how == "jit"), None)


def _fixes(view: FileView, call: ApiCall) -> tuple[Fix, ...]:
    site = call.args[0].site
    if len(call.args) != 1 or call.args[0].label is not None or site is None:
        return ()
    path = view.path_of(call.call)
    span = view.span(call.call)
    if not call.decorator:
        return (Fix("remove the jit", (FileEdit(path, Edit(span, view.text(site))),)),)
    source = view.texts[call.call.path]
    start = source.rfind(b"\n", 0, span.start) + 1
    end = source.find(b"\n", span.end) + 1
    if source[start : span.start].strip() != b"@" or source[span.end : end].strip() or not end:
        return ()
    return (Fix("remove the jit", (FileEdit(path, Edit(Span(start, end), "")),)),)
