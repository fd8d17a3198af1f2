"""The environment variables that make a program see virtual CPU devices."""

from __future__ import annotations

import re
from collections.abc import Mapping

_FLAG = re.compile(r"\s*--xla_force_host_platform_device_count=\S*")


def virtual_environment(count: int, environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables to set for a program that should see virtual devices.

    `XLA_FLAGS` works in every version of JAX; since 0.5.0, `JAX_NUM_CPU_DEVICES` takes precedence, even over
    `XLA_FLAGS` set by the program itself.

    Args:
        count: the number of devices.
        environ: the current variables; other flags in `XLA_FLAGS` are kept.
    """
    flags = _FLAG.sub("", environ.get("XLA_FLAGS", "")).strip()
    return {
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": str(count),
        "XLA_FLAGS": f"{flags} --xla_force_host_platform_device_count={count}".strip(),
    }
