"""A Python condition depends on the device index, which is unknown while JAX traces.

A mapped function is traced once for all devices, so `lax.axis_index` returns a tracer, and `if` cannot test its value:
`TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].`
Choose with `jnp.where`, or with `lax.cond` if one of the values is expensive to compute.

```python
import jax
import jax.numpy as jnp


def first_is_zero(x):
    return jnp.zeros_like(x) if jax.lax.axis_index("i") == 0 else x
    #                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ AX413: lax.axis_index("i") is unknown while JAX traces; \\
    #                           choose with jnp.where or lax.cond


print(jax.pmap(first_is_zero, axis_name="i")(jnp.ones((8, 4))))
```

Every device computes both values and picks one:

```python
import jax
import jax.numpy as jnp


def first_is_zero(x):
    return jnp.where(jax.lax.axis_index("i") == 0, 0, x)


print(jax.pmap(first_is_zero, axis_name="i")(jnp.ones((8, 4))))
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.checking.model import Finding, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_uses
from meshlens.project.view import FileView


@rule("AX413", Severity.ERROR, reads="places", state="preview")
def index_in_condition(view: FileView) -> Iterator[Finding]:
    """Reports each Python condition that certainly depends on the device index."""
    for use in certain_uses(view, ("index-tested",)):
        text = f'lax.axis_index("{use.axis}") is unknown while JAX traces; choose with jnp.where or lax.cond'
        yield Finding(view.span(use.site), text)
