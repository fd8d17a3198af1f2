"""The devices that take part in a collective, and the mesh axes along which they differ."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod

_NUMBERS = re.compile(r"\d+")
_LISTED = re.compile(r"\{([\d,\s]*)\}")
_IOTA = re.compile(r"\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?")
_MESH = re.compile(r"mesh\[([^\]]*)\]")
_MESH_AXIS = re.compile(r"'?([\w.\-]+)'?=(\d+)")
_USED = re.compile(r"'([\w.\-]+)'(?::\((\d+)\)(\d+))?")
_DEVICE_IDS = re.compile(r"device_ids=\(?\[([\d,]+)\]\)?(?:<=\[([\d,]+)\])?(?:T\(([\d,]+)\))?")
_MOST_DEVICES = 1 << 16

Groups = tuple[tuple[int, ...], ...]


@lru_cache(maxsize=256)
def groups_in(text: str, devices: int) -> Groups:
    """Returns the groups of devices in an attribute `replica_groups` or `source_target_pairs`.

    Args:
        text: the value of the attribute.
        devices: the number of devices; if the text names no group, all devices form one.
    """
    if found := _MESH.match(text):
        return _over_axes(found[1], text[found.end() :])
    if found := _IOTA.match(text):
        return _of_iota(found[1], found[2], found[3])
    listed = tuple(tuple(map(int, _NUMBERS.findall(one))) for one in _LISTED.findall(text))
    listed = tuple(one for one in listed if one)
    return listed or (tuple(range(min(devices, _MOST_DEVICES))),)


def iota(sizes: Sequence[int], order: Sequence[int] | None) -> list[int]:
    """Returns the numbers, from 0, that fill an array of these sizes, read after permuting its axes."""
    if order is None or prod(sizes) > _MOST_DEVICES or sorted(order) != list(range(len(sizes))):
        return list(range(min(prod(sizes), _MOST_DEVICES)))
    strides = [prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    ranges = [range(sizes[axis]) for axis in order]
    return [
        sum(place * strides[axis] for place, axis in zip(places, order, strict=True)) for places in product(*ranges)
    ]


def numbers(text: str) -> list[int]:
    """Returns the numbers in a string."""
    return list(map(int, _NUMBERS.findall(text)))


def _of_iota(shape: str, sizes: str, order: str | None) -> Groups:
    shaped = numbers(shape)
    width = shaped[-1] if shaped else 1
    flat = iota(numbers(sizes), numbers(order) if order else None)
    return tuple(tuple(flat[start : start + width]) for start in range(0, len(flat), max(width, 1)))


def _over_axes(mesh: str, used: str) -> Groups:
    """Returns the groups in `mesh['a'=4,'b'=2] {'a'}`, which may name a part of an axis: `'a':(2)2`."""
    sizes: list[tuple[str, int]] = [(name, int(size)) for name, size in _MESH_AXIS.findall(mesh)]
    split: dict[str, list[tuple[int, int]]] = {}
    for name, before, size in _USED.findall(used[used.find("{") :]):
        split.setdefault(name, []).append((int(before or 1), int(size or 0)))
    parts: list[tuple[int, bool]] = []
    for name, size in sizes:
        parts += _parts(size, sorted(split.get(name, [])))
    if prod(size for size, _ in parts) > _MOST_DEVICES:
        return ()
    strides = [prod(size for size, _ in parts[index + 1 :]) for index in range(len(parts))]
    inner = [range(size) if chosen else range(1) for size, chosen in parts]
    outer = [range(1) if chosen else range(size) for size, chosen in parts]

    def place(places: tuple[int, ...]) -> int:
        return sum(one * stride for one, stride in zip(places, strides, strict=True))

    devices = _device_ids(used, prod(size for size, _ in parts))
    return tuple(tuple(devices[place(one) + place(two)] for two in product(*inner)) for one in product(*outer))


def _device_ids(text: str, number: int) -> list[int]:
    """Returns the devices of a mesh in the order of its axes: consecutive unless `device_ids` says otherwise."""
    found = _DEVICE_IDS.search(text)
    if found is None:
        return list(range(number))
    if found[3]:
        flat = iota(numbers(found[2] or found[1]), numbers(found[3]))
    else:
        flat = list(range(number)) if found[2] else numbers(found[1])
    return flat if sorted(flat) == list(range(number)) else list(range(number))


def _parts(size: int, chosen: list[tuple[int, int]]) -> list[tuple[int, bool]]:
    parts: list[tuple[int, bool]] = []
    done = 1
    for before, width in chosen:
        width = width or size
        if before > done:
            parts.append((before // done, False))
        parts.append((width, True))
        done = before * width
    if done < size:
        parts.append((size // done, False))
    return parts


def axes_of(groups: Groups, mesh: Sequence[tuple[str, int]]) -> tuple[str, ...]:
    """Returns the mesh axes along which the devices of a group differ; none if the mesh lacks one of the devices."""
    sizes = [size for _, size in mesh]
    if not groups or prod(sizes) <= max(max(group, default=0) for group in groups):
        return ()
    found: set[int] = set()
    for group in groups[:64]:
        first = _coordinates(group[0], sizes) if group else []
        for device in group[1:]:
            found.update(
                axis for axis, (a, b) in enumerate(zip(first, _coordinates(device, sizes), strict=True)) if a != b
            )
    return tuple(name for axis, (name, _) in enumerate(mesh) if axis in found)


def _coordinates(number: int, sizes: Sequence[int]) -> list[int]:
    places = []
    for size in reversed(sizes):
        number, place = divmod(number, max(size, 1))
        places.append(place)
    return places[::-1]
