"""The norm of one device's part of a gradient is used as if it were the norm of the whole gradient.

After `psum_scatter`, each device holds a part of the gradient, as in sharded optimizers (ZeRO, FSDP).
The norm of a part differs between devices and is smaller than the norm of the whole gradient. Clipping by it scales
each part differently, so the step silently no longer points along the gradient.
Sum the squares over the devices before taking the root; `optax.clip_by_global_norm` cannot do that, so clip the
gradient yourself before the update.

The same holds for a check of a part: if each device checks only whether its own part is finite, some devices skip the
step while others take it.

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("fsdp",))


def loss(w, x):
    return jnp.mean((x @ w) ** 2)


def step(part, x):
    w = lax.all_gather(part, "fsdp", tiled=True)
    grads = lax.psum_scatter(jax.grad(loss)(w, x), "fsdp", tiled=True) / lax.axis_size("fsdp")
    norm = jnp.sqrt(jnp.sum(grads**2))
    #      ^^^^^^^^^^^^^^^^^^^^^^^^^^^ AX409: this is the norm of one device's part of the gradient; sum the squares \\
    #      over "fsdp" first
    return part - 0.1 * grads * jnp.minimum(1.0, 1.0 / norm)


mapped = jax.shard_map(step, mesh=mesh, in_specs=(P("fsdp"), P("fsdp")), out_specs=P("fsdp"), check_vma=False)
```

Reduce the sum of squares:

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("fsdp",))


def loss(w, x):
    return jnp.mean((x @ w) ** 2)


def step(part, x):
    w = lax.all_gather(part, "fsdp", tiled=True)
    grads = lax.psum_scatter(jax.grad(loss)(w, x), "fsdp", tiled=True) / lax.axis_size("fsdp")
    norm = jnp.sqrt(lax.psum(jnp.sum(grads**2), "fsdp"))
    return part - 0.1 * grads * jnp.minimum(1.0, 1.0 / norm)


mapped = jax.shard_map(step, mesh=mesh, in_specs=(P("fsdp"), P("fsdp")), out_specs=P("fsdp"), check_vma=False)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.values import Site
from meshlens.checking.model import Finding, Related, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_uses
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView

_MESSAGES = {
    "norm-of-slice": 'this is the norm of one device\'s part of the gradient; sum the squares over "{axis}" first',
    "verdict-on-slice": (
        'each device checks only its own part of the gradient; reduce the result over "{axis}" first with lax.pmin'
    ),
}
"""The messages, by the kind of the recorded use."""


@rule("AX409", Severity.WARNING, state="preview")
def norm_of_part(view: FileView) -> Iterator[Finding]:
    """Reports each norm or check of one device's part of a gradient, unless the result is reduced over the devices."""
    reduced = view.solution.once_of_records("norms that are reduced", _reduced)
    for use in certain_uses(view, _MESSAGES):
        if use.site in reduced or use.other is None:
            continue
        text = _MESSAGES[use.kind].format(axis=use.axis)
        place = Related(view.path_of(use.other), view.span(use.other), "each device receives its part here")
        yield Finding(view.span(use.site), text, (), (place,))


def _reduced(solution: Solution) -> frozenset[Site]:
    uses = (use for records in solution.by_file.values() for use in records.gradient_uses)
    return frozenset([use.site for use in uses if use.kind == "slice-norm-reduced"])
