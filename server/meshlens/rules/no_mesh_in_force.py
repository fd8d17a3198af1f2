"""A `PartitionSpec`, a `shard_map` without a mesh, or a new variable of flax is used where no mesh is set.

A bare spec refers to the axes of the current mesh, set by `with jax.set_mesh(mesh):` or a call to `jax.set_mesh`.
Without one, `with_sharding_constraint` and `jit` with shardings raise `RuntimeError: with_sharding_constraint requires
a non-empty mesh in context`, `device_put` raises `ValueError: Please set a mesh via jax.set_mesh`, and a `shard_map`
without `mesh=` raises `ValueError: The context mesh cannot be empty`.
The rule checks only programs and the code they call, because the callers of a library may have set a mesh.

```python
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"))


@jax.jit
def scaled(x):
    return jax.lax.with_sharding_constraint(2 * x, P("data"))
    #                                              ^^^^^^^^^ AX214: the spec needs a mesh, but none is set here; call \\
    #                                              this inside `with jax.set_mesh(mesh):`, or pass a `NamedSharding`


scaled(jnp.ones((8, 4)))
```

Set a mesh, or pass a sharding that has its own:

```python
import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)


@jax.jit
def scaled(x):
    return jax.lax.with_sharding_constraint(2 * x, NamedSharding(mesh, P("data")))


scaled(jnp.ones((8, 4)))
```

Since flax 0.12, nnx shards a variable as soon as it is created if the variable has sharding annotations, such as those
of `nnx.with_partitioning` or `nnx.Param(value, sharding=…)`. It then raises `ValueError: An auto mesh context or
metadata is required` if no mesh is set, also in `nnx.jit` and `nnx.eval_shape`, and since flax 0.12.1 also inside the
older `with mesh:`.
The annotations `mesh=…` and `eager_sharding=False`, and `nnx.use_eager_sharding(False)`, make the variable independent
of the current mesh.
The rule reads the version of flax where it reads that of JAX, and reports nothing about variables if it finds none.

`requirements.txt`:

```text
flax==0.12.6
```

`train.py`:

```python
import jax
from flax import nnx

mesh = jax.make_mesh((4, 2), ("data", "model"))


class Mlp(nnx.Module):
    def __init__(self, rngs):
        init = nnx.with_partitioning(nnx.initializers.lecun_normal(), (None, "model"))
        self.up = nnx.Linear(8, 32, kernel_init=init, rngs=rngs)


model = Mlp(nnx.Rngs(0))
#       ^^^^^^^^^^^^^^^^ AX214: flax shards new variables that have sharding annotations, which needs a mesh, but \\
#       none is set here; create them inside `with jax.set_mesh(mesh):`
```

Create the model while the mesh is set:

`fixed.py`:

```python
import jax
from flax import nnx

mesh = jax.make_mesh((4, 2), ("data", "model"))


class Mlp(nnx.Module):
    def __init__(self, rngs):
        init = nnx.with_partitioning(nnx.initializers.lecun_normal(), (None, "model"))
        self.up = nnx.Linear(8, 32, kernel_init=init, rngs=rngs)


with jax.set_mesh(mesh):
    model = Mlp(nnx.Rngs(0))
```
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.specs import possible_specs
from meshlens.axes.domain.values import Site, Value
from meshlens.axes.jax.compiled_calls import CALLED, RETURNED
from meshlens.axes.jax.meshes import NO_MESH, takes_mesh_in_force
from meshlens.axes.jax.new_variables import ENTERED_MESH, NEW_VARIABLE
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import ApiCall, Records
from meshlens.checking.model import Finding, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.jaxapi.meshes import TAKE_SPECS
from meshlens.project.view import FileView
from meshlens.rules.helpers.specs import argument_of

_SPEC = "the spec needs a mesh, but none is set here; {}, or pass a `NamedSharding`"
_MAP = "this `shard_map` has no mesh, and none is set here; {}, or pass `mesh=`"
_VARIABLES = (
    "flax shards new variables that have sharding annotations, which needs a mesh, but none is set here{}; "
    "create them inside `with jax.set_mesh(mesh):`"
)
_HAS_SET_MESH = (0, 7, 1)


@rule("AX214", Severity.ERROR, reads="places", state="preview")
def no_mesh_in_force(view: FileView) -> Iterator[Finding]:
    """Looks for specs, maps without a mesh, and new variables that are certainly used where no mesh is current."""
    places: dict[tuple[Site, str], list[tuple[Context, bool]]] = defaultdict(list)
    for site, message, context, lacks in (*_specs(view.records), *_maps(view.records)):
        if view.is_here(site):
            places[(site, message)].append((context, lacks))
    enter = "with jax.set_mesh(mesh):" if view.jax_version >= _HAS_SET_MESH else "with mesh:"
    for (site, message), routes in places.items():
        if certain((site, context, lacks and _is_program(context)) for context, lacks in routes) is not None:
            yield Finding(view.span(site), message.format(f"call this inside `{enter}`"))
    yield from _variables(view)


def _variables(view: FileView) -> Iterator[Finding]:
    """Yields a finding for each model or variable that is certainly created without the mesh that it needs."""
    places: dict[Site, list[ApiCall]] = defaultdict(list)
    for call in view.records.calls:
        if call.dotted == NEW_VARIABLE and not call.guarded and view.is_here(call.call):
            places[call.call].append(call)
    for site, calls in places.items():
        found = certain((call, call.context, _lacks_mesh(call) and _is_program(call.context)) for call in calls)
        if found is not None:
            entered = " (`with mesh:` does not set it)" if found.mesh == ENTERED_MESH else ""
            yield Finding(view.span(site), _VARIABLES.format(entered))


def _lacks_mesh(call: ApiCall) -> bool:
    return call.mesh in (NO_MESH, ENTERED_MESH)


def _is_program(context: Context) -> bool | None:
    """Returns whether a route begins in a program; None for a test, whose fixtures may set a mesh."""
    starts = bool(context.route) and context.route[0].how == "start" and context.route[0].callee.startswith("test")
    return None if starts else True


def _specs(records: Records) -> Iterator[tuple[Site, str, Context, bool]]:
    for call in records.calls:
        if call.guarded or call.mesh is None:
            continue
        if call.dotted in (CALLED, RETURNED):
            # Mark the call itself, because the function may have been compiled elsewhere.
            yield call.call, _SPEC, call.context, call.mesh == NO_MESH and _has_spec(call.args[1].value)
        elif call.dotted in TAKE_SPECS:
            spec = argument_of(call.args, TAKE_SPECS[call.dotted], 1)
            if spec is not None:
                yield spec.site or call.call, _SPEC, call.context, call.mesh == NO_MESH and _has_spec(spec.value)


def _maps(records: Records) -> Iterator[tuple[Site, str, Context, bool]]:
    for one in records.calls_of_maps:
        # Arguments that do not bind to parameters may hold the mesh.
        if one.visible and takes_mesh_in_force(one.binder) and one.binder.argument("out_specs") is not None:
            yield one.binder.site, _MAP, one.context, one.binder.mesh == NO_MESH


def _has_spec(value: Value) -> bool:
    """Returns whether a value certainly contains a spec without a mesh."""
    return any(is_certain for _, is_certain in possible_specs(value))
