"""The functions that new code calls to split data over devices, to copy state to each, and to take one copy back."""

from __future__ import annotations

from meshlens.assists._helpers import with_helper
from meshlens.assists._spelling import Spelling
from meshlens.project.import_statements import name_of_module
from meshlens.project.view import FileView
from meshlens.text import FileEdit

Helper = tuple[str, tuple[FileEdit, ...]]

_SHARD = '''\
def {name}(tree):
    """Splits the rows of every array into one block for each device."""
    count = {count}

    def split(x):
        if x.shape[0] % count:
            raise ValueError(f"{{x.shape[0]}} rows do not split over {{count}} devices: take a multiple of {{count}}")
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
    """Takes the first of the copies that the devices hold of every array."""
    return {tree_map}(lambda x: x[0], tree)'''


def shard_helper(view: FileView, spelling: Spelling, count: str) -> Helper:
    """The function that splits a batch, and the edit that adds it where the file lacks it.

    Args:
        view: the file.
        spelling: spells the names.
        count: the number of devices as code.
    """
    return with_helper(view, "shard", _SHARD, spelling.at, count=count, tree_map=spelling.tree_map())


def replicate_helper(view: FileView, spelling: Spelling, devices: str) -> Helper:
    """The function that copies state to every device.

    `jax.device_put_replicated` is deprecated since JAX 0.8.1 and gone since 0.10.0; this way works in every version.

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
    """The function that takes one of the copies back."""
    flax = name_of_module(view, "flax.jax_utils")
    if flax is not None:
        return f"{flax}.unreplicate", ()
    return with_helper(view, "unreplicate", _FIRST_REPLICA, spelling.at, tree_map=spelling.tree_map())
