"""Draws a mesh: as text, and as an SVG picture."""

from __future__ import annotations

from base64 import b64encode
from html import escape

from meshlens.axes.arrays import product
from meshlens.axes.values import Mesh
from meshlens.devices.picture import MOST, text_grid
from meshlens.ide.devices import mesh_sizes

_CELL, _GAP, _LEFT, _TOP = 34, 4, 86, 40


def mesh_grid(mesh: Mesh) -> str | None:
    """The mesh as columns of text, its last axis across; the numbers are positions in its array of devices.

    Args:
        mesh: the mesh.

    Returns:
        None while names or sizes are not known.
    """
    drawn = _drawn(mesh)
    if drawn is None:
        return None
    rows, columns, names = drawn
    return text_grid(rows, columns, lambda row, column: str(row * columns + column), names)


def mesh_svg(mesh: Mesh) -> str | None:
    """The mesh as an image in a `data:` URI; None while names or sizes are not known."""
    drawn = _drawn(mesh)
    if drawn is None:
        return None
    rows, columns, (row_name, column_name) = drawn
    across, down = min(columns, MOST), min(rows, MOST)
    left = _LEFT if row_name else 4
    width, height = left + across * (_CELL + _GAP) + 20, _TOP + down * (_CELL + _GAP) + (16 if rows > down else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="13" fill="#808080">',
        f'<text x="{left}" y="22">{escape(column_name)} →</text>',
    ]
    if row_name:
        parts.append(f'<text x="4" y="{_TOP + 22}">{escape(row_name[:9])} ↓</text>')
    for row in range(down):
        for column in range(across):
            x, y = left + column * (_CELL + _GAP), _TOP + row * (_CELL + _GAP)
            parts.append(f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" rx="5" fill="#3b82c4"/>')
            number = row * columns + column
            parts.append(f'<text x="{x + _CELL // 2}" y="{y + 22}" text-anchor="middle" fill="#ffffff">{number}</text>')
    if columns > across:
        parts.append(f'<text x="{width - 18}" y="{_TOP + 22}">…</text>')
    if rows > down:
        parts.append(f'<text x="{left}" y="{height - 4}">…</text>')
    return "data:image/svg+xml;base64," + b64encode("".join([*parts, "</svg>"]).encode()).decode()


def left_out(mesh: Mesh) -> tuple[tuple[str, int], ...]:
    """The axes of a mesh of more than two that the picture leaves out, with their sizes."""
    known = mesh_sizes(mesh)
    return tuple((name, size) for name, size in list(known.items())[:-2] if size is not None)


def _drawn(mesh: Mesh) -> tuple[int, int, tuple[str, str]] | None:
    """Rows, columns, and the names of the axes down and across: the last two of the mesh."""
    known = mesh_sizes(mesh)
    if mesh.open or not known or len(known) != len(mesh.names) or product(tuple(known.values())) in (None, 0):
        return None
    names, sizes = [*known], [size or 1 for size in known.values()]
    if len(names) == 1:
        return 1, sizes[0], ("", names[0])
    return sizes[-2], sizes[-1], (names[-2], names[-1])
