"""The compiler of NVIDIA's plugin, which partitions for GPUs that the machine does not have.

It needs the plugin for the JAX release, but neither a driver nor the CUDA wheels; before JAX 0.10, it is incomplete.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

_PLUGINS = ("jax_cuda13_plugin", "jax_cuda12_plugin")
_OLDEST = (0, 10)


def is_there(version: tuple[int, ...]) -> bool:
    """Returns whether the plugin is installed, for a release that can use it without a GPU."""
    return version >= _OLDEST and any(importlib.util.find_spec(name) for name in _PLUGINS)


def devices(count: int, per_host: int) -> list[Any]:
    """Returns H100 devices as the plugin describes them; the partitioner treats every GPU alike.

    Args:
        count: the number of devices.
        per_host: the number of devices per host.
    """
    from jax.experimental import topologies

    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "h100.txtpb"), encoding="ascii") as file:
        config = file.read()
    per_host = per_host if per_host and count % per_host == 0 else count
    topology = topologies.get_topology_desc(
        platform="cuda",
        topology_name=f"h100x{count}",
        topology=f"1x{count // per_host}x{per_host}",
        target_config=config,
    )
    return list(topology.devices)


def present(found: list[Any]) -> None:
    """Makes programs see these devices; their computations still run on the CPU."""
    import jax
    from jax._src import xla_bridge

    on_cpu = jax.local_devices(backend="cpu")[0]

    def listed(backend: Any = None) -> list[Any]:
        return [on_cpu] if backend == "cpu" else list(found)

    jax.config.update("jax_default_device", on_cpu)
    jax.devices = xla_bridge.devices = listed
    jax.local_devices = lambda process_index=None, backend=None, host_id=None: listed(backend)
    jax.device_count = jax.local_device_count = lambda backend=None: len(listed(backend))
