"""`pmap` is in maintenance mode; new code should use `shard_map`.

Since JAX 0.8, a `pmap` is a `jit` of a `shard_map`; JAX 0.10 removed the old implementation.
`pmap` still works, so this rule is off unless you select it.

`select: ["AX503"]`

```python
import jax
from functools import partial


@partial(jax.pmap, axis_name="batch")
#        ^^^^^^^^ AX503: pmap is in maintenance mode; use "jax.shard_map"
def mean(x):
    return jax.lax.pmean(x, "batch")
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.checking.callees import callee_span
from meshlens.checking.model import Finding, Severity
from meshlens.checking.registry import rule
from meshlens.jaxapi.history import holds
from meshlens.project.view import FileView
from meshlens.text import Span


@rule("AX503", Severity.HINT, reads="tied", default=False)
def legacy_pmap(view: FileView) -> Iterator[Finding]:
    """Reports every application of `jax.pmap`."""
    if not holds("pmap-is-shard-map", view.jax_version):
        return
    seen: set[Span] = set()
    for binding in view.records.bindings:
        if binding.binder.dotted != "jax.pmap":
            continue
        span = callee_span(view, binding.binder.site, "pmap")
        if span not in seen:
            seen.add(span)
            yield Finding(span, 'pmap is in maintenance mode; use "jax.shard_map"')
