"""The norm of one device's part of a gradient is used as if it were the norm of the whole gradient.

After `psum_scatter`, each device holds a part of the gradient, as in sharded optimizers (ZeRO, FSDP).
The norm of a part differs between devices and is smaller than the norm of the whole gradient. Clipping by it scales
each part differently, so the step silently no longer points along the gradient.
Sum the squares over the devices before taking the root; `optax.clip_by_global_norm` cannot do that, so clip the
gradient yourself before the update.

The same holds for a check of a part: if each device checks only whether its own part is finite, some devices skip the
step while others take it. So do devices that check their own gradients before they average them.

If each device clips its own gradient before the gradients are averaged, the rule gives a hint: the step then depends on
how many devices there are. Gradients of single examples, which a `vmap` clips, are not meant.

The rule gives a hint about a state that is split over devices whose parts exchange halos, such as a wave function, if
each device divides its part by the norm of the part: neighbors then scale the state differently. The same holds for a
factor that divides the sum of one device's part by a total of all devices, as in a step of conjugate gradients.

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

from meshlens.axes.data.slices import CLIPPED, STATE_NORM, STATE_SHARE, VERDICT_APART
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import of_kinds
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
_OF_STATES = {
    "state-scaled": (
        "this is the norm of one device's part, by which the part is divided, but the parts exchange halos along "
        '"{axis}"; sum the squares over "{axis}" first'
    ),
    "state-shared-out": (
        "this divides the sum of one device's part by a total, and the part is multiplied by the result, but the parts "
        'exchange halos along "{axis}"; sum over "{axis}" first'
    ),
}
"""The messages about a state whose parts exchange halos."""
_BEFORE_AVERAGING = (
    'each device scales its gradient by a number of its own, such as its norm, before it reduces over "{axis}", '
    "so the step depends on the number of devices; reduce the gradients first"
)


_SKIPPED = (
    "each device decides by its own gradients, before they are reduced, so some devices may skip the step while others "
    'take it; reduce the verdict over "{axis}" first with lax.pmin'
)


@rule("AX409", Severity.WARNING, state="preview")
def norm_of_part(view: FileView) -> Iterator[Finding]:
    """Reports each norm or check of one device's part of a gradient or state, unless the result is reduced later."""
    reduced = view.solution.once_of_records("norms that are reduced", _reduced)
    for use in certain_uses(view, _MESSAGES):
        if use.site in reduced or use.other is None:
            continue
        text = _MESSAGES[use.kind].format(axis=use.axis)
        place = Related(view.path_of(use.other), view.span(use.other), "each device receives its part here")
        yield Finding(view.span(use.site), text, (), (place,))
    apart = sorted(certain_uses(view, {VERDICT_APART}), key=lambda use: use.site, reverse=True)
    for use in {(use.other, use.axis): use for use in apart}.values():
        said = "the gradients are reduced here"
        places = (Related(view.path_of(use.other), view.span(use.other), said),) if use.other else ()
        yield Finding(view.span(use.site), _SKIPPED.format(axis=use.axis), (), places)
    for use in certain_uses(view, {CLIPPED}):
        places = (Related(view.path_of(use.other), view.span(use.other), "reduced here"),) if use.other else ()
        yield Finding(view.span(use.site), _BEFORE_AVERAGING.format(axis=use.axis), (), places, Severity.HINT)
    for use in certain_uses(view, _OF_STATES):
        if use.site not in reduced:
            text = _OF_STATES[use.kind].format(axis=use.axis)
            yield Finding(view.span(use.site), text, severity=Severity.HINT)


def _reduced(solution: Solution) -> frozenset[Site]:
    """Returns the norms that are reduced, sent to other devices or returned by a map, so that code may undo them."""
    every = tuple(solution.by_file.values())
    uses = (use for records in every for use in records.gradient_uses)
    returned = (labels_of(call.returned) for records in every for call in records.mapped_calls)
    known = [use.site for use in uses if use.kind in ("slice-norm-reduced", "state-norm-shared")]
    return frozenset(
        [*known, *(norm for labels in returned for _, _, norm in of_kinds(labels, STATE_NORM, STATE_SHARE))]
    )
