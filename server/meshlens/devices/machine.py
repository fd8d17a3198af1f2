"""This machine's accelerators, detected through NVIDIA's driver and device files, without starting a backend.

AMD, Intel and Apple GPUs are not detected; JAX reports them at level "devices".
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from meshlens.devices.processes import Ended, run_bounded
from meshlens.devices.report import Device
from meshlens.foreign_files import NOTE, read_text

_SECONDS = 15
_QUERY = ("--query-gpu=index,name,memory.total,memory.used", "--format=csv,noheader,nounits")
_NVIDIA_FILES = ("dev/nvidia0", "dev/nvidiactl", "dev/dxg")
_NVIDIA_PLACES = ("/usr/bin", "/usr/lib/wsl/lib", "/usr/local/nvidia/bin", "C:\\Windows\\System32")
_GOOGLE = "0x1ae0"
# By PCI id of a chip: JAX's name for its kind, and its number of devices (jax/_src/hardware_utils.py of JAX 0.10.2;
# TPU v2 has the same id as v3).
_TPU_CHIPS = {
    "0x0027": ("TPU v3", 2),
    "0x005e": ("TPU v4", 1),
    "0x0062": ("TPU v5", 1),
    "0x0063": ("TPU v5 lite", 1),
    "0x006f": ("TPU v6 lite", 1),
    "0x0076": ("TPU7x", 2),
}


@dataclass(frozen=True, slots=True)
class Machine:
    """The accelerators of a machine.

    Attributes:
        accelerators: its GPUs and TPUs.
        trouble: a message about a driver that does not work, if any.
    """

    accelerators: tuple[Device, ...] = ()
    trouble: str | None = None


def look_at_machine(environment: Mapping[str, str], is_stopped: Callable[[], bool], root: Path = Path("/")) -> Machine:
    """Returns the accelerators of this machine.

    Args:
        environment: the environment of a probe; `nvidia-smi` is found on its PATH.
        is_stopped: returns whether the caller no longer wants the answer.
        root: the root of the system's files.
    """
    tpus = _tpus(environment, root)
    if tpus:
        return Machine(tpus)
    if os.name == "posix" and not any((root / file).exists() for file in _NVIDIA_FILES):
        return Machine()
    program = _nvidia_smi(environment)
    if program is None:
        return Machine()
    try:
        ended = run_bounded((program, *_QUERY), environment, seconds=_SECONDS, is_stopped=is_stopped)
    except OSError:
        return Machine()
    gpus = tuple(gpu for line in ended.output.decode("utf-8", errors="replace").splitlines() if (gpu := _gpu(line)))
    return Machine(gpus, None if gpus else _trouble(ended))


def device_files(root: Path = Path("/")) -> tuple[str, ...]:
    """Returns the accelerators' device files in `/dev`; a container has only those that are passed to it."""
    patterns = ("nvidia*", "dxg", "kfd", "accel*", "vfio/*", "dri/render*")
    return tuple(sorted(str(path) for pattern in patterns for path in (root / "dev").glob(pattern)))


def _nvidia_smi(environment: Mapping[str, str]) -> str | None:
    name = "nvidia-smi.exe" if os.name == "nt" else "nvidia-smi"
    for folder in (*environment.get("PATH", "").split(os.pathsep), *_NVIDIA_PLACES):
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.access(path, os.X_OK):
            return path
    return None


def _gpu(line: str) -> Device | None:
    parts = [part.strip() for part in line.split(",")]
    if len(parts) != 4 or not parts[0].isdigit():
        return None
    limit, used = (int(part) << 20 if part.isdigit() else None for part in parts[2:])
    return Device("gpu", parts[1], int(parts[0]), memory_limit=limit, memory_in_use=used)


def _trouble(ended: Ended) -> str | None:
    said = f"{ended.output.decode('utf-8', errors='replace')}\n{ended.errors}"
    if re.search("driver/library version mismatch", said, re.IGNORECASE):
        return "NVIDIA's driver and its library have different versions; restart the machine to load the new driver"
    if re.search("couldn't communicate with the NVIDIA driver", said):
        return "NVIDIA's driver does not respond; run `nvidia-smi` to check that it is installed and loaded"
    return None


def _tpus(environment: Mapping[str, str], root: Path) -> tuple[Device, ...]:
    kinds: list[str] = []
    for vendor in sorted(root.glob("sys/bus/pci/devices/*/vendor")):
        if read_text(vendor, NOTE).strip() == _GOOGLE:
            kind, count = _TPU_CHIPS.get(read_text(vendor.with_name("device"), NOTE).strip(), ("", 0))
            kinds += [kind] * count
    if not kinds:
        # A container may not see the PCI bus, but it has the device files.
        kinds = ["TPU"] * len([*root.glob("dev/accel[0-9]*")])
    if not kinds and any(name.startswith(("TPU_", "CLOUD_TPU_")) for name in environment):
        kinds = ["TPU"] * len([*root.glob("dev/vfio/[0-9]*")])
    return tuple(Device("tpu", kind, number) for number, kind in enumerate(kinds))
