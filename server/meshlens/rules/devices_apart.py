"""An argument of a compiled function is on one device, while others are on a mesh.

`device_put` with a device or a sharding commits an array to those devices, and all committed arguments of a computation
must be on the same devices; otherwise, JAX raises `ValueError: Received incompatible devices for jitted computation.
Got argument params['w'] of loss with shape float32[4] and with device ids [0] on platform CPU and argument x of loss
with shape float32[8,4] and with device ids [0, 1, 2, 3, 4, 5, 6, 7]`.
JAX moves uncommitted arrays to the devices of the committed ones.

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))


@jax.jit
def loss(w, x):
    return jnp.mean((x @ w) ** 2)


w = jax.device_put(jnp.ones(4), jax.devices()[0])
x = jax.device_put(jnp.ones((8, 4)), NamedSharding(mesh, P("data")))
print(loss(w, x))
#          ^ AX216: this is on one device, but other arguments of the call are on a mesh; put it on the mesh as well
```

Put the parameters on the mesh too:

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()), ("data",))


@jax.jit
def loss(w, x):
    return jnp.mean((x @ w) ** 2)


w = jax.device_put(jnp.ones(4), NamedSharding(mesh, P()))
x = jax.device_put(jnp.ones((8, 4)), NamedSharding(mesh, P("data")))
print(loss(w, x))
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.values import Site
from meshlens.axes.jax.compiled_calls import APART
from meshlens.axes.runs.context import Context
from meshlens.checking.model import Finding, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.project.view import FileView

_MESSAGE = "this is on one device, but other arguments of the call are on a mesh; put it on the mesh as well"


@rule("AX216", Severity.WARNING, reads="places", state="preview")
def devices_apart(view: FileView) -> Iterator[Finding]:
    """Reports the arguments of compiled functions that are committed to one device while others are on a mesh."""
    places: dict[Site, list[Context]] = defaultdict(list)
    for call in view.records.calls:
        if call.dotted == APART and not call.guarded:
            for arg in call.args:
                places[arg.site or call.call].append(call.context)
    for site, contexts in places.items():
        if view.is_here(site) and certain((site, context, True) for context in contexts) is not None:
            yield Finding(view.span(site), _MESSAGE)
