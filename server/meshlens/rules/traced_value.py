"""A traced argument is used where Python or JAX needs its value.

`jit` and `pmap` replace every argument that is not static with a tracer, which stands for all values of its shape and
type. So do `scan`, `fori_loop` and `vmap` with what they pass to the function, such as the loop's counter.
`range(n)` or `jnp.zeros(n)` needs the number itself and raises a `ConcretizationTypeError`, a
`TracerIntegerConversionError` or a `TypeError` that asks for concrete values; a Python `if`, `while` or `assert` on
such a value raises a `TracerBoolConversionError` (JAX 0.6.2 to 0.12).
Make the argument static if it takes few values, because JAX compiles again for each; choose with `jnp.where` or
`lax.cond`, loop with `lax.fori_loop` and slice with `lax.dynamic_slice` if it takes many.

```python
from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.pmap, in_axes=(0, None))
def decay(x, steps):
    for _ in range(steps):
        #          ^^^^^ AX218: "steps" is traced, but its value is needed here; an argument can be made static
        x = 0.9 * x
    return x


print(decay(jnp.ones((8, 4)), 3))
```

With a static argument, the number is known while JAX traces:

```python
from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.pmap, in_axes=(0, None), static_broadcasted_argnums=(1,))
def decay(x, steps):
    for _ in range(steps):
        x = 0.9 * x
    return x


print(decay(jnp.ones((8, 4)), 3))
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.values import Site
from meshlens.checking.model import Finding, Severity
from meshlens.checking.places import route_places
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_uses
from meshlens.facts.nodes import Call, With, last_name
from meshlens.project.trees import tree, walk
from meshlens.project.view import FileView

_MOST_WRITTEN = 40
_STAGE_NOTHING = frozenset({"ensure_compile_time_eval", "disable_jit"})
"""Context managers in which JAX computes at once what depends on no tracer."""


@rule("AX218", Severity.ERROR, reads="places", state="preview")
def traced_value(view: FileView) -> Iterator[Finding]:
    """Reports each place that certainly needs the value of a tracer."""
    tested = {use.site for use in certain_uses(view, ("index-tested",))}
    for use in certain_uses(view, ("value-needed", "truth-needed")):
        sites = (use.site, *(step.site for step in use.context.route))
        if use.site in tested or any(_runs_at_once(view, site) for site in sites):
            continue
        span = view.span(use.site)
        written = view.source[span.start : span.end].decode(errors="replace")
        what = f'"{written}"' if "\n" not in written and len(written) <= _MOST_WRITTEN else "this"
        if use.kind == "truth-needed":
            text = f"{what} is traced, so Python cannot decide by it; choose with jnp.where or lax.cond"
        else:
            text = f"{what} is traced, but its value is needed here; an argument can be made static"
        yield Finding(span, text, (), route_places(view, use.context))


def _runs_at_once(view: FileView, site: Site) -> bool:
    """Returns whether a place is in a `with` statement of its function in which JAX stages nothing out."""
    function = tree(view, site.path, site.block)
    return any(
        isinstance(node, With)
        and any(isinstance(item.value, Call) and last_name(item.value.callee) in _STAGE_NOTHING for item in node.items)
        and any(inner.site == site.index for inner in walk(node))
        for node in (walk(function) if function is not None else ())
    )
