"""The TPU slices that can be had: how many devices JAX sees in each, and how its chips are laid out.

Sources: the pages of each TPU version in Google Cloud's documentation ("TPU v4", "TPU v5e", "TPU v5p", "TPU v6e",
"System architecture"), and `jax.experimental.pallas.tpu.ChipVersion` for cores and megacore.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, slots=True)
class TpuVersion:
    """One version of TPUs.

    Attributes:
        name: as slices are called: "v5e".
        per_chip: how many devices JAX sees on a chip: 2 where each TensorCore is one, 1 where there is one TensorCore
            or two work as one (megacore).
        per_number: how many the number in the name of a slice counts for each chip: "v4-8" counts TensorCores, two on
            a chip, "v5e-8" chips.
        shapes: the layouts of chips that a number alone means, by the number of chips.
        host: how the chips of one host of several lie.
    """

    name: str
    per_chip: int
    per_number: int
    shapes: Mapping[int, tuple[int, ...]]
    host: tuple[int, ...] = (2, 2)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers that a slice may have."""
        return tuple(chips * self.per_number for chips in self.shapes)

    @property
    def dimensions(self) -> int:
        """How many dimensions its network has."""
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
"""Other names of versions."""

ONE_HOST = 8
"""Chips of a lite slice that still are on one host."""


def hosts_of(version: TpuVersion, shape: tuple[int, ...]) -> int:
    """Returns how many hosts a slice has, each a process of JAX."""
    chips = prod(shape)
    if chips <= prod(version.host) or (version.dimensions == 2 and version.per_chip == 1 and chips <= ONE_HOST):
        return 1
    return -(-chips // prod(version.host))
