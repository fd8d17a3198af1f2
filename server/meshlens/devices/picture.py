"""Draws devices as columns of text, in the layout of a mesh or of a TPU's network."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from meshlens.devices.report import Device

MOST = 8
"""Maximum number of rows and columns drawn."""


def text_grid(rows: int, columns: int, cell: Callable[[int, int], str], names: tuple[str, str]) -> str:
    """Returns a grid with the names of its axes.

    Args:
        rows: the number of rows.
        columns: the number of columns.
        cell: returns the text at a row and column.
        names: the names of the vertical and the horizontal axis; the first is empty if there is only one axis.
    """
    across, down = min(columns, MOST), min(rows, MOST)
    cells = [[cell(row, column) for column in range(across)] for row in range(down)]
    width = max(len(cell(rows - 1, columns - 1)), *(len(text) for line in cells for text in line))
    lines = []
    for line in cells:
        shown = [text.rjust(width) for text in line]
        lines.append("  ".join([*shown, "…"] if columns > across else shown))
    if rows > down:
        lines.append("…")
    row_name, column_name = names
    if not row_name:
        return "\n".join([f"{column_name} →", *lines])
    head = f"{row_name} ↓"
    return "\n".join([f"{head}  {column_name} →", *(" " * (len(head) + 2) + line for line in lines)])


def picture(devices: tuple[Device, ...]) -> str:
    """Returns the ids of devices as text: TPUs by coordinates, one picture per plane; others by process."""
    if len({device.coordinates for device in devices}) > 1 and all(device.coordinates for device in devices):
        planes = sorted(devices, key=_plane)
        return "\n\n".join(_plane_picture(plane, tuple(group)) for plane, group in groupby(planes, key=_plane))
    ordered = sorted(devices, key=lambda device: (device.process_index, device.id))
    rows = [tuple(group) for _, group in groupby(ordered, key=lambda device: device.process_index)]
    names = ("process" if len(rows) > 1 else "", "device")
    return text_grid(len(rows), max(map(len, rows)), lambda row, column: _id(rows[row][column : column + 1]), names)


def _plane(device: Device) -> tuple[int, ...]:
    return (device.coordinates or ())[2:]


def _plane_picture(plane: tuple[int, ...], devices: tuple[Device, ...]) -> str:
    places: dict[tuple[int, int], list[Device]] = {}
    for device in sorted(devices, key=lambda device: device.id):
        x, y = (*(device.coordinates or ()), 0, 0)[:2]
        places.setdefault((y, x), []).append(device)
    rows, columns = (max(place[axis] for place in places) + 1 for axis in (0, 1))
    grid = text_grid(rows, columns, lambda row, column: _id(tuple(places.get((row, column), ()))), ("y", "x"))
    return grid if not any(plane) else f"z = {', '.join(map(str, plane))}\n{grid}"


def _id(devices: tuple[Device, ...]) -> str:
    """Returns the ids of the devices at one place: several if the chip there has several cores."""
    return ",".join(str(device.id) for device in devices) or "·"
