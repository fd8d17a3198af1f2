"""Helper functions for new code: to split data over devices, copy state to each device, and take one copy back."""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.project.view import FileView
from meshlens.project.writing.import_statements import name_of_module
from meshlens.project.writing.new_imports import late_import, spelled
from meshlens.refactoring.writing.helpers import with_helper
from meshlens.refactoring.writing.placing import behind_imports
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.text import FileEdit

Helper = tuple[str, tuple[FileEdit, ...]]

_SHARD = '''\
def {name}(tree):
    """Splits the rows of every array into one block for each device."""
    count = {count}

    def split(x):
        if x.shape[0] % count:
            raise ValueError(f"cannot split {{x.shape[0]}} rows over {{count}} devices; use a multiple of {{count}}")
        return x.reshape(count, -1, *x.shape[1:])

    return {tree_map}(split, tree)'''

_REPLICATE = '''\
def {name}(tree):
    """Puts a copy of every array on each device, with a leading axis for the devices."""
    devices = {devices}
    sharding = {named_sharding}({mesh}({array}(devices), ("devices",)), {spec}("devices"))
    return {tree_map}(lambda x: {device_put}({stack}([x] * len(devices)), sharding), tree)'''

_FIRST_REPLICA = '''\
def {name}(tree):
    """Returns the first device's copy of every array."""
    return {tree_map}(lambda x: x[0], tree)'''


_SPLIT = '''\
def {name}(tree):
    """Gives each device a block of every array's rows{otherwise}."""
    count = {count}
    rows = {{x.shape[0] for x in {leaves}(tree)}}
    if len(rows) > 1:
        raise ValueError(f"the arrays of one batch have different numbers of rows: {{sorted(rows)}}")

    def split(x):
        traced = isinstance(x, {tracer})
        if not traced and getattr(x, "is_fully_replicated", True):
            x = {device_get}(x)
        if x.shape[0] % count:
            {undivided}
        return x.reshape(count, -1, *x.shape[1:])

    return {tree_map}(split, tree)'''
_TOO_MANY = 'raise ValueError(f"cannot split {x.shape[0]} rows over {count} devices; use a multiple of {count}")'

_MERGE = '''\
def {name}(tree, batch):
    """Merges the rows of all devices; if the rows of the batch did not divide evenly, every device has all of them."""
    rows = {leaves}(batch)[0].shape[0]
    return {tree_map}(lambda x: x[0] if rows % x.shape[0] else x.reshape(-1, *x.shape[2:]), tree)'''


def split_helper(view: FileView, spelling: Spelling, count: str, *, sums: bool, alone: bool) -> Helper:
    """Returns the helper that splits a batch, all of whose arrays must have the same number of rows.

    If the rows do not divide evenly, each device gets a copy of the batch. A function that sums over the devices would
    count each copy, so for such a function one device gets the whole batch, or an error is raised.

    Args:
        view: the file.
        spelling: spells the names.
        count: the number of devices as code.
        sums: whether the function sums over the devices.
        alone: whether the map may run on one device.
    """
    otherwise, undivided = "", _TOO_MANY
    if not sums:
        broadcast_to = spelling.jax_numpy("broadcast_to")
        otherwise, undivided = (
            ", or all rows if they do not divide evenly",
            f"return {broadcast_to}(x, (count, *x.shape))",
        )
    elif alone:
        otherwise, undivided = "; if they do not divide evenly, one device gets all rows", "return x[None]"
    # pmap rejects arrays that are whole on one or all devices.
    device_get, tracer = spelling.of("jax", "device_get"), spelling.of("jax", "core.Tracer")
    names = {"leaves": tree_leaves(spelling), "tree_map": spelling.tree_map(), "tracer": tracer}
    names |= {"device_get": device_get, "otherwise": otherwise, "undivided": undivided}
    return with_helper(view, "shard", _SPLIT, spelling.at, count=count, **names)


def merge_helper(view: FileView, spelling: Spelling) -> Helper:
    """Returns the helper that merges the rows of all devices."""
    tree_map = spelling.tree_map()
    return with_helper(view, "merge", _MERGE, spelling.at, leaves=tree_leaves(spelling), tree_map=tree_map)


def shard_helper(view: FileView, spelling: Spelling, count: str) -> Helper:
    """Returns the helper that splits a batch, and the edit that adds the helper if the file lacks it.

    Args:
        view: the file.
        spelling: spells the names.
        count: the number of devices as code.
    """
    return with_helper(view, "shard", _SHARD, spelling.at, count=count, tree_map=spelling.tree_map())


def replicate_helper(view: FileView, spelling: Spelling, devices: str) -> Helper:
    """Returns the helper that copies state to every device.

    `jax.device_put_replicated` was deprecated in JAX 0.8.1 and removed in 0.10.0; this helper works in every version.

    Args:
        view: the file.
        spelling: spells the names.
        devices: the devices as code.
    """
    flax = name_of_module(view, "flax.jax_utils")
    if flax is not None and devices.endswith("devices()"):
        return f"{flax}.replicate", ()
    return with_helper(
        view,
        "replicate",
        _REPLICATE,
        spelling.at,
        devices=devices,
        mesh=spelling.mesh(),
        named_sharding=spelling.named_sharding(),
        spec=spelling.spec(),
        array=spelling.numpy("array"),
        tree_map=spelling.tree_map(),
        device_put=spelling.of("jax", "device_put"),
        stack=spelling.jax_numpy("stack"),
    )


def first_replica_helper(view: FileView, spelling: Spelling) -> Helper:
    """Returns the helper that takes the first device's copy of every array."""
    flax = name_of_module(view, "flax.jax_utils")
    if flax is not None:
        return f"{flax}.unreplicate", ()
    return with_helper(view, "unreplicate", _FIRST_REPLICA, spelling.at, tree_map=spelling.tree_map())


_DEVICE_MESH = '''\
@{cache}
def {name}():
    """Returns the mesh of all devices, created on first use."""
    return {made}'''

_SHARD_BATCH = '''\
def {name}(tree):
    """Splits the rows of every array over the devices; an array that does not divide evenly is copied to all."""
    mesh = {mesh}()

    def place(x):
        if isinstance(x, {ndarray}):
            x = x.copy()  # device_put may keep reading the array
        elif not isinstance(x, {array}):
            return x
        divides = x.ndim > 0 and x.shape[0] % mesh.shape[{axis}] == 0
        return {device_put}(x, {named_sharding}(mesh, {spec}({axis}) if divides else {spec}()))

    return {tree_map}(place, tree)'''

_SHARD_TRACED = '''\
def {name}(tree):
    """Lets the compiler split the rows of every array over the devices if they divide evenly."""
    mesh = {mesh}()

    def place(x):
        divides = x.ndim > 0 and x.shape[0] % mesh.shape[{axis}] == 0
        return {constraint}(x, {named_sharding}(mesh, {spec}({axis}))) if divides else x

    return {tree_map}(lambda x: place(x) if isinstance(x, {array}) else x, tree)'''

_COPY_TO_ALL = '''\
def {name}(tree):
    """Copies every array to all devices."""
    sharding = {named_sharding}({mesh}(), {spec}())

    def place(x):
        if isinstance(x, {ndarray}):
            x = x.copy()  # device_put may keep reading the array
        elif not isinstance(x, {array}):
            return x
        return {device_put}(x, sharding)

    return {tree_map}(place, tree)'''


_SHARD_AXIS = '''\
def {name}(tree, axis):
    """Splits an axis of every array over the devices; an array that does not divide evenly is copied to all."""
    mesh = {mesh}()

    def place(x):
        if isinstance(x, {ndarray}):
            x = x.copy()  # device_put may keep reading the array
        elif not isinstance(x, {array}):
            return x
        divides = x.ndim > axis and x.shape[axis] % mesh.shape[{axis}] == 0
        spec = {spec}(*[None] * axis, {axis}) if divides else {spec}()
        return {device_put}(x, {named_sharding}(mesh, spec))

    return {tree_map}(place, tree)'''

_SHARD_STATE = '''\
def {name}(tree):
    """Splits each array over the devices along its largest dimension that divides evenly; copies the others to all."""
    mesh = {mesh}()

    def place(x):
        if isinstance(x, {ndarray}):
            x = x.copy()  # device_put may keep reading the array
        elif not isinstance(x, {array}):
            return x
        divides = [axis for axis, size in enumerate(x.shape) if size and size % mesh.shape[{axis}] == 0]
        largest = max(divides, key=lambda axis: x.shape[axis], default=None)
        spec = {spec}() if largest is None else {spec}(*[None] * largest, {axis})
        return {device_put}(x, {named_sharding}(mesh, spec))

    return {tree_map}(place, tree)'''


@dataclass(frozen=True, slots=True)
class OnMesh:
    """The mesh that data is placed on.

    Attributes:
        made: its expression.
        axis: the name of the axis that splits the batch, in quotes.
    """

    made: str
    axis: str


def mesh_helper(view: FileView, spelling: Spelling, mesh: OnMesh) -> Helper:
    """Returns the helper that creates the mesh once, on first use, so that no import starts the backend."""
    # A helper's decorator is needed at its definition, before imports that only its calls need.
    above = late_import(view, behind_imports(view, spelling.at or 0)[0])
    cache, needed = spelled(view, "functools", "cache", above)
    spelling.needed += needed
    return with_helper(view, "device_mesh", _DEVICE_MESH, spelling.at, cache=cache, made=mesh.made)


def batch_helper(view: FileView, spelling: Spelling, mesh: OnMesh, called: str) -> Helper:
    """Returns the helper that splits a batch over the mesh returned by the function named in `called`."""
    return with_helper(view, "shard_batch", _SHARD_BATCH, spelling.at, axis=mesh.axis, **_names(spelling, called))


def axis_helper(view: FileView, spelling: Spelling, mesh: OnMesh, called: str) -> Helper:
    """Returns the helper that splits a batch whose rows are not along the first axis."""
    return with_helper(view, "shard_axis", _SHARD_AXIS, spelling.at, axis=mesh.axis, **_names(spelling, called))


def tree_leaves(spelling: Spelling) -> str:
    """Returns the file's spelling of `jax.tree.leaves`."""
    is_old = "tree_util" in spelling.tree_map()
    return spelling.of("jax", "tree_util.tree_leaves" if is_old else "tree.leaves")


def traced_batch_helper(view: FileView, spelling: Spelling, mesh: OnMesh, called: str) -> Helper:
    """Returns the helper that splits a batch inside a compiled function."""
    names = _names(spelling, called)
    constraint = spelling.of("jax", "lax.with_sharding_constraint")
    return with_helper(view, "split_batch", _SHARD_TRACED, spelling.at, axis=mesh.axis, constraint=constraint, **names)


def state_helper(view: FileView, spelling: Spelling, mesh: OnMesh, called: str) -> Helper:
    """Returns the helper that splits state over devices, as fully sharded data parallelism does."""
    return with_helper(view, "shard_state", _SHARD_STATE, spelling.at, axis=mesh.axis, **_names(spelling, called))


def copy_helper(view: FileView, spelling: Spelling, called: str) -> Helper:
    """Returns the helper that copies state to every device of the mesh returned by the function named in `called`."""
    return with_helper(view, "replicate", _COPY_TO_ALL, spelling.at, **_names(spelling, called))


def _names(spelling: Spelling, called: str) -> dict[str, str]:
    return {
        "mesh": called,
        "named_sharding": spelling.named_sharding(),
        "spec": spelling.spec(),
        "array": spelling.of("jax", "Array"),
        "ndarray": spelling.numpy("ndarray"),
        "tree_map": spelling.tree_map(),
        "device_put": spelling.of("jax", "device_put"),
    }
