"""The environment in which a program sees so many virtual devices of the CPU."""

from __future__ import annotations

import re
from collections.abc import Mapping

_FLAG = re.compile(r"\s*--xla_force_host_platform_device_count=\S*")


def virtual_environment(count: int, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables to set for a program that is to see virtual devices.

    `XLA_FLAGS` serves every version of JAX; since 0.5.0 `JAX_NUM_CPU_DEVICES` goes before it, and so before what the
    program itself sets in `XLA_FLAGS`.

    Args:
        count: how many devices.
        environ: the variables that there are; other flags in `XLA_FLAGS` stay.
    """
    flags = _FLAG.sub("", environ.get("XLA_FLAGS", "")).strip()
    return {
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": str(count),
        "XLA_FLAGS": f"{flags} --xla_force_host_platform_device_count={count}".strip(),
    }
