"""A `PartitionSpec`, or a `shard_map` without a mesh, is used where no mesh is set.

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
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.specs import possible_specs
from meshlens.axes.domain.values import Site, Value
from meshlens.axes.jax.compiled_calls import CALLED, RETURNED
from meshlens.axes.jax.meshes import NO_MESH, takes_mesh_in_force
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import Records
from meshlens.checking.model import Finding, Severity
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain
from meshlens.jaxapi.meshes import TAKE_SPECS
from meshlens.project.view import FileView
from meshlens.rules.helpers.specs import argument_of

_SPEC = "the spec needs a mesh, but none is set here; {}, or pass a `NamedSharding`"
_MAP = "this `shard_map` has no mesh, and none is set here; {}, or pass `mesh=`"
_HAS_SET_MESH = (0, 7, 1)


@rule("AX214", Severity.ERROR, reads="places", state="preview")
def no_mesh_in_force(view: FileView) -> Iterator[Finding]:
    """Looks for specs, and maps without a mesh, that are certainly used where no mesh is current."""
    places: dict[tuple[Site, str], list[tuple[Context, bool]]] = defaultdict(list)
    for site, message, context, lacks in (*_specs(view.records), *_maps(view.records)):
        if view.is_here(site):
            places[(site, message)].append((context, lacks))
    enter = "with jax.set_mesh(mesh):" if view.jax_version >= _HAS_SET_MESH else "with mesh:"
    for (site, message), routes in places.items():
        if certain((site, context, lacks and _is_program(context)) for context, lacks in routes) is not None:
            yield Finding(view.span(site), message.format(f"call this inside `{enter}`"))


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
