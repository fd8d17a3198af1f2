"""The devices that a user asked a new map to run on, as code."""

from __future__ import annotations

from math import prod

from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.model import Wishes
from meshlens.refactoring.writing.spelling import Spelling

_SECOND = "model"


def pmap_devices(wishes: Wishes, spelling: Spelling) -> str | None:
    """`jax.devices()[:4]`; None where nobody asked.

    Raises:
        Obstacle: several axes of devices are asked for.
    """
    if len(wishes.devices) > 1:
        shape, count = "x".join(map(str, wishes.devices)), prod(wishes.devices)
        message = f"a pmap has one axis of devices; ask for {count} of them, or for a shard_map on {shape}"
        raise Obstacle("one-axis", message)
    return _first(wishes, spelling) if wishes.devices else None


def count_of_devices(wishes: Wishes, spelling: Spelling) -> str:
    """`jax.local_device_count()`, or the number that somebody asked for."""
    return str(prod(wishes.devices)) if wishes.devices else f"{spelling.of('jax', 'local_device_count')}()"


def device_mesh(wishes: Wishes, axis: str, spelling: Spelling) -> str:
    """`Mesh(np.array(jax.devices()), ("batch",))`, or one with a second axis "model" that splits nothing yet.

    Args:
        wishes: how many devices the user asks for.
        axis: the name of the first axis as it is written.
        spelling: spells the names.

    Raises:
        Obstacle: more axes are asked for than have a name here.
    """
    devices = f"{spelling.numpy('array')}({_first(wishes, spelling)})"
    if len(wishes.devices) < 2:
        return f"{spelling.mesh()}({devices}, ({axis},))"
    if len(wishes.devices) > 2:
        raise Obstacle("mesh-axes", 'a mesh can have at most two axes here, as in "2x4"')
    if axis[1:-1] == _SECOND:
        raise Obstacle("axis-name", f'"{_SECOND}" is the name of the second axis of the mesh')
    sizes = ", ".join(map(str, wishes.devices))
    return f"{spelling.mesh()}({devices}.reshape({sizes}), ({axis}, {axis[0]}{_SECOND}{axis[0]}))"


def _first(wishes: Wishes, spelling: Spelling) -> str:
    devices = f"{spelling.of('jax', 'devices')}()"
    return f"{devices}[:{prod(wishes.devices)}]" if wishes.devices else devices
