"""Converts XLA's shardings back to specs over the axes of a mesh."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import prod

from meshlens.tracing.groups import iota, numbers

_TILES = re.compile(r"devices=\[([\d,]+)\](?:<=\[([\d,]+)\](?:T\(([\d,]+)\))?|([\d,]+))")
_MESH = re.compile(r"mesh\[([^\]]*)\][^\[]*\[(.*)\]")
_AXIS = re.compile(r"'([\w.\-]+)'=(\d+)")
_LAST = re.compile(r"last_tile_dims=\{([^}]*)\}")


@lru_cache(4096)
def spec_of(sharding: str, rank: int, mesh: tuple[tuple[str, int], ...]) -> str | None:
    """Returns the spec for one of XLA's shardings of an array with this rank.

    Args:
        sharding: in XLA's form, such as "{devices=[4,1,4]<=[16] last_tile_dim_replicate}".
        rank: the number of the array's axes.
        mesh: the axes of the mesh with their sizes.

    Returns:
        None if it does not consist of whole mesh axes.
    """
    if sharding.startswith("{replicated"):
        return "P()"
    if found := _TILES.search(sharding):
        flat = numbers(found[4]) if found[4] else iota(numbers(found[2]), numbers(found[3]) if found[3] else None)
        return _of_tiles(numbers(found[1]), flat, rank, mesh)
    return None


def _of_tiles(tiles: list[int], flat: list[int], rank: int, mesh: Sequence[tuple[str, int]]) -> str | None:
    sizes = [size for _, size in mesh]
    if len(flat) != prod(sizes) or prod(tiles) != len(flat) or len(tiles) < rank:
        return None
    place = {device: index for index, device in enumerate(flat)}
    strides = [prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    parts: list[tuple[str, ...]] = []
    for dimension in range(rank):
        after = prod(tiles[dimension + 1 :])
        steps = []
        for (name, size), stride in zip(mesh, strides, strict=True):
            if size > 1 and (step := place.get(stride, 0) // after % tiles[dimension]):
                steps.append((step, name, size))
        steps.sort(reverse=True)
        if prod(size for _, _, size in steps) != tiles[dimension]:
            return None
        parts.append(tuple(name for _, name, _ in steps))
    while parts and not parts[-1]:
        parts.pop()
    return f"P({', '.join(map(_written, parts))})"


def _written(names: tuple[str, ...]) -> str:
    if not names:
        return "None"
    return repr(names[0]) if len(names) == 1 else repr(names)
