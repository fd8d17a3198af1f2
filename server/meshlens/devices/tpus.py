"""The available TPU slices: the number of devices that JAX sees in each, and the layout of its chips.

Sources: the pages of each TPU version in Google Cloud's documentation ("TPU v4", "TPU v5e", "TPU v5p", "TPU v6e",
"System architecture"), and `jax.experimental.pallas.tpu.ChipVersion` for cores and megacore.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, slots=True)
class TpuVersion:
    """A TPU version.

    Attributes:
        name: its name in slices, such as "v5e".
        per_chip: the number of devices that JAX sees per chip: 2 if each of two TensorCores is a device; 1 if there is
            only one TensorCore, or if two work as one (megacore).
        per_number: how much each chip adds to the number in a slice's name: 2 for "v4-8", which counts TensorCores; 1
            for "v5e-8", which counts chips.
        shapes: the default layouts, by the number of chips.
        host: the layout of one host's chips in a multi-host slice.
    """

    name: str
    per_chip: int
    per_number: int
    shapes: Mapping[int, tuple[int, ...]]
    host: tuple[int, ...] = (2, 2)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Returns the numbers that the name of a slice may have."""
        return tuple(chips * self.per_number for chips in self.shapes)

    @property
    def dimensions(self) -> int:
        """Returns the number of dimensions of the chip network."""
        return len(next(iter(self.shapes.values())))


def _shapes(text: str) -> dict[int, tuple[int, ...]]:
    shapes = (tuple(map(int, shape.split("x"))) for shape in text.split())
    return {prod(shape): shape for shape in shapes}


_TORUS = "2x2x1 2x2x2 2x2x4 2x4x4 4x4x4 4x4x8 4x8x8 8x8x8 8x8x16 8x16x16"
_LITE = "1x1 2x2 2x4 4x4 4x8 8x8 8x16 16x16"

VERSIONS: dict[str, TpuVersion] = {
    version.name: version
    for version in (
        TpuVersion("v2", 2, 2, _shapes("2x2 4x4 8x8 8x16 16x16")),
        TpuVersion("v3", 2, 2, _shapes("2x2 4x4 4x8 8x8 8x16 16x16 16x32 32x32")),
        TpuVersion("v4", 1, 2, _shapes(_TORUS), (2, 2, 1)),
        TpuVersion("v5e", 1, 1, _shapes(_LITE)),
        TpuVersion("v5p", 1, 2, _shapes(f"{_TORUS} 16x16x16 16x16x24"), (2, 2, 1)),
        TpuVersion("v6e", 1, 1, _shapes(_LITE)),
    )
}

ALIASES = {"v5litepod": "v5e", "v5lite": "v5e", "v6lite": "v6e", "trillium": "v6e"}
"""Version names by alias."""

ONE_HOST = 8
"""The maximum number of chips in a lite slice on a single host."""


def hosts_of(version: TpuVersion, shape: tuple[int, ...]) -> int:
    """Returns the number of hosts of a slice; each host is a JAX process."""
    chips = prod(shape)
    if chips <= prod(version.host) or (version.dimensions == 2 and version.per_chip == 1 and chips <= ONE_HOST):
        return 1
    return -(-chips // prod(version.host))
