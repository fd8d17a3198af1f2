"""The devices that a user chose for a new map, as code."""

from __future__ import annotations

from math import prod

from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.model import Wishes
from meshlens.refactoring.writing.spelling import Spelling

_SECOND = "model"


def pmap_devices(wishes: Wishes, spelling: Spelling) -> str | None:
    """Returns code such as `jax.devices()[:4]`; None if the user did not choose.

    Raises:
        Obstacle: the user chose several axes of devices.
    """
    if len(wishes.devices) > 1:
        shape, count = "x".join(map(str, wishes.devices)), prod(wishes.devices)
        message = f"a pmap has only one device axis; choose {count} devices, or use shard_map on {shape}"
        raise Obstacle("one-axis", message)
    return _first(wishes, spelling) if wishes.devices else None


def count_of_devices(wishes: Wishes, spelling: Spelling) -> str:
    """Returns `jax.local_device_count()`, or the number that the user chose."""
    return str(prod(wishes.devices)) if wishes.devices else f"{spelling.of('jax', 'local_device_count')}()"


def device_mesh(wishes: Wishes, axis: str, spelling: Spelling) -> str:
    """Returns `Mesh(np.array(jax.devices()), ("batch",))`, or a mesh with an unused second axis "model".

    Args:
        wishes: the user's wishes, with the devices.
        axis: the source of the first axis name.
        spelling: spells the names.

    Raises:
        Obstacle: the user chose more axes than there are names for.
    """
    devices = f"{spelling.numpy('array')}({_first(wishes, spelling)})"
    if len(wishes.devices) < 2:
        return f"{spelling.mesh()}({devices}, ({axis},))"
    if len(wishes.devices) > 2:
        raise Obstacle("mesh-axes", 'a mesh can have at most two axes here, as in "2x4"')
    if axis[1:-1] == _SECOND:
        raise Obstacle("axis-name", f'the second mesh axis is already named "{_SECOND}"; choose another axis name')
    sizes = ", ".join(map(str, wishes.devices))
    return f"{spelling.mesh()}({devices}.reshape({sizes}), ({axis}, {axis[0]}{_SECOND}{axis[0]}))"


def _first(wishes: Wishes, spelling: Spelling) -> str:
    devices = f"{spelling.of('jax', 'devices')}()"
    return f"{devices}[:{prod(wishes.devices)}]" if wishes.devices else devices
