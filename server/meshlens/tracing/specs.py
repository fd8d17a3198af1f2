"""Converts XLA's shardings back to specs over the axes of a mesh."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import prod

from meshlens.tracing.groups import iota, numbers

_TILES = re.compile(r"devices=\[([\d,]+)\](?:<=\[([\d,]+)\](?:T\(([\d,]+)\))?|([\d,]+))")
_NAMED = re.compile(r"\{mesh\[([^\]]*)\], (?:replicated\}|\[(.*?)\])")
_AXIS = re.compile(r"'([^']+)'=(\d+)")
_DIMENSION = re.compile(r"\{([^}]*)\}")
_NAME = re.compile(r"'([^']+)'(:\()?")


@lru_cache(4096)
def spec_of(sharding: str, rank: int, mesh: tuple[tuple[str, int], ...]) -> str | None:
    """Returns the spec for one of XLA's shardings of an array with this rank.

    Args:
        sharding: in XLA's form, such as "{devices=[4,1,4]<=[16] last_tile_dim_replicate}".
        rank: the number of the array's axes.
        mesh: the axes of the mesh with their sizes.

    Returns:
        The spec; None if the sharding does not consist of whole mesh axes.
    """
    if sharding.startswith("{replicated"):
        return "P()"
    if found := _TILES.search(sharding):
        flat = numbers(found[4]) if found[4] else iota(numbers(found[2]), numbers(found[3]) if found[3] else None)
        return _of_tiles(numbers(found[1]), flat, rank, mesh)
    if (found := _NAMED.match(sharding)) and "device_ids" not in sharding:
        return _of_names({name: int(size) for name, size in _AXIS.findall(found[1])}, found[2] or "", rank, mesh)
    return None


def _of_names(sizes: dict[str, int], dimensions: str, rank: int, mesh: tuple[tuple[str, int], ...]) -> str | None:
    """Returns the spec for the form of newer releases, with axes named by XLA: `{mesh['x'=4,'y'=2], [{'y'}, {}]}`."""
    listed = [_NAME.findall(one) for one in _DIMENSION.findall(dimensions)]
    used = [name for names in listed for name, _ in names]
    if any(part for names in listed for _, part in names) or not set(used) <= set(sizes):
        # A part of an axis is not an axis of the mesh.
        return None
    if not used:
        return "P()"
    left = [name for name in sizes if name not in used]
    places = list(sizes)
    flat = iota(list(sizes.values()), [places.index(name) for name in (*used, *left)])
    tiles = [prod(sizes[name] for name, _ in names) for names in listed]
    return _of_tiles([*tiles, prod(sizes[name] for name in left)], flat, rank, mesh)


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
