"""Notes where flax's nnx creates variables with sharding annotations, which it shards over the current mesh at once.

A variable is annotated by its own metadata (`nnx.Param(value, out_sharding=…)`), by the initializer that made its value
(`nnx.with_partitioning`), or by the initializer or metadata that a layer is given for it.
Measured with flax 0.10.7 to 0.12.12: releases before 0.12 shard nothing at this point. Since then, an annotation that
is not empty needs a mesh wherever the variable is created, also in `nnx.jit`, `nnx.eval_shape` and `jax.eval_shape`;
it is not needed if `mesh=` or `eager_sharding=False` is given. flax 0.12.0 also takes the mesh of `with mesh:`.
"""

from __future__ import annotations

from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Data, Dict, Ext, Made, Mesh, Seq, Site, Spec, Value
from meshlens.axes.jax.meshes import NO_MESH
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.records import ApiCall
from meshlens.axes.runs.run import Run
from meshlens.jaxapi.changes import Version
from meshlens.jaxapi.meshes import (
    ANNOTATE_VARIABLES,
    ANNOTATED_PARAMETERS,
    NAME_MESH_AXES,
    SHARDS_FLAG,
    SHARDS_NEW_VARIABLES,
    SHARDS_NEW_VARIABLES_SINCE,
    STOPS_SHARDING,
    TAKES_ENTERED_MESH_UNTIL,
    USED_WITH_SHARDING_FLAX,
    VARIABLES,
)

NEW_VARIABLE = "flax.nnx.Variable()"
"""The name of the records of annotated variables, at the place where the model or variable is created."""

ENTERED_MESH = Ext("meshlens.entered_mesh")
"""Stands for the current mesh if there certainly is only that of `with mesh:`."""

_LIBRARY = "flax.nnx."
_CONSTRUCTORS = ("__init__", "__post_init__")
_DECIDES = frozenset({"*", "**", "mesh", "eager_sharding"})


def note_new_variables(run: Run, name: str, call: Invocation) -> None:
    """Notes a call to a class of nnx if it creates a variable that is sharded at once."""
    version = run.world.version_of("flax", call.site.path)
    if version < SHARDS_NEW_VARIABLES_SINCE or not _makes_annotated(name, call.args, version):
        return
    mesh = _mesh_for_variables(run, call.ctx, version)
    if mesh is None:
        return
    site = _creation(call.site, call.ctx)
    guarded = run.api_guard > 0 or call.ctx.expected
    run.records.calls.append(ApiCall(NEW_VARIABLE, site, site, (), UNKNOWN, call.ctx, False, guarded, mesh))


def shards_new_variables(run: Run, path: str) -> bool:
    """Returns whether the flax of a file shards new variables; if its version is unknown, JAX's stands in for it."""
    version = run.world.version_of("flax", path)
    if version:
        return version >= SHARDS_NEW_VARIABLES_SINCE
    return run.world.jax_version_of(path) >= USED_WITH_SHARDING_FLAX


def stops_sharding(name: str, args: tuple[Arg, ...]) -> bool:
    """Returns whether a call may make flax create variables without sharding them at once."""
    return name == STOPS_SHARDING or (bool(args) and sets_sharding(args[0].value))


def sets_sharding(key: Value) -> bool:
    """Returns whether a key is that of the flag, or of the environment variable, by which new variables are sharded."""
    return isinstance(key, Const) and isinstance(key.value, str) and key.value.lower() == SHARDS_FLAG


def may_stop_sharding(run: Run) -> None:
    """Notes that from here on, new variables may not be sharded, whatever mesh is current."""
    run.ambient.append(UNKNOWN)


def is_class_of_nnx(name: str) -> bool:
    """Returns whether a canonical name is that of a layer or variable of nnx."""
    return name.startswith(_LIBRARY) and name[len(_LIBRARY) : len(_LIBRARY) + 1].isupper()


def annotates(initializer: Made) -> bool:
    """Returns whether an initializer certainly annotates its variables, so that they need a mesh."""
    if initializer.dotted != SHARDS_NEW_VARIABLES:
        return False
    given = dict(initializer.arguments)
    sharding = given.get(NAME_MESH_AXES[SHARDS_NEW_VARIABLES], given.get(1))
    return sharding is not None and _is_annotation(sharding) and 2 not in given and _DECIDES.isdisjoint(given)


def _makes_annotated(name: str, args: tuple[Arg, ...], version: Version) -> bool:
    labels = {arg.label for arg in args}
    if name in VARIABLES:
        if not _DECIDES.isdisjoint(labels):
            return False
        return any(_annotates_variable(arg, version) for arg in args)
    return "*" not in labels and "**" not in labels and any(_annotates_parameter(arg, labels, version) for arg in args)


def _annotates_variable(arg: Arg, version: Version) -> bool:
    """Returns whether an argument of a variable is its annotation, or a value that an annotating initializer made."""
    if arg.label is None or arg.label == "value":
        return isinstance(arg.value, Data) and arg.value.made_by == SHARDS_NEW_VARIABLES
    since = ANNOTATE_VARIABLES.get(arg.label)
    return since is not None and version >= since and _is_annotation(arg.value)


def _annotates_parameter(arg: Arg, labels: set[str | None], version: Version) -> bool:
    """Returns whether an argument of a layer annotates a parameter that the layer certainly has."""
    parameter, _, kind = (arg.label or "").rpartition("_")
    if parameter not in ANNOTATED_PARAMETERS or f"use_{parameter}" in labels:
        return False
    if kind == "init":
        return isinstance(arg.value, Made) and annotates(arg.value)
    if kind != "metadata" or not isinstance(arg.value, Dict) or arg.value.open:
        return False
    metadata = [Arg(key, value, None, None) for key, value in arg.value.items if isinstance(key, str)]
    decided = any(one.label in _DECIDES for one in metadata)
    return not decided and any(_annotates_variable(one, version) for one in metadata)


def _is_annotation(value: Value) -> bool:
    if isinstance(value, Seq):
        return value.kind == "tuple" and bool(value.items)
    return isinstance(value, Spec) and bool(value.entries)


def _mesh_for_variables(run: Run, ctx: Context, version: Version) -> Value | None:
    """Returns the mesh that new variables are sharded over, `NO_MESH` or `ENTERED_MESH`; None if it is unknown."""
    if run.ambient:
        return run.ambient[-1] if isinstance(run.ambient[-1], Mesh) else None
    if ctx.env.open or ctx.env.maps or run.unclear_contexts:
        return None
    if not run.entered_meshes:
        return NO_MESH
    return ENTERED_MESH if version >= TAKES_ENTERED_MESH_UNTIL else run.entered_meshes[-1]


def _creation(site: Site, ctx: Context) -> Site:
    """Returns the call that creates the object whose constructor creates a variable at a site; or else that site."""
    for step in reversed(ctx.route):
        if not step.callee.endswith(_CONSTRUCTORS):
            break
        site = step.site
    return site
