"""Draws a mesh as text or SVG, with the ids of its devices and the shards of an array on it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import product as combinations

from meshlens.axes.data.arrays import product
from meshlens.axes.domain.values import Mesh
from meshlens.ide.hovering.prose import NO_COLORS
from meshlens.ide.shown.devices import mesh_sizes

MOST = 8
MOST_PANELS = 4
_LARGEST = 100_000
_COLORS = ("#3b82c4", "#c2613b", "#3a9560", "#8a5fb5", "#a87b22", "#2a8f96", "#b34a7d", "#6b7280")
AXIS_COLORS = ("#3b82c4", "#b34a7d", "#3a9560", "#8a5fb5", "#a87b22", "#2a8f96")
"""Colors of axes that work on any background, similar to those in VS Code's themes."""

_GAP, _HEAD, _LETTER, _WIDE, _LONGEST = 4, 26, 7.6, 560, 14


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing: one panel per position along the outer axes, with rows and columns for the last two.

    Attributes:
        outer: the outer axes with their sizes.
        down, across: the names of the last two axes; `down` is empty if there is only one.
        rows, columns: their sizes.
        cells: the text of the cells, panel by panel and row by row.
        groups: for each cell, a number; equal numbers share a color, and all are equal if nothing is split.
    """

    outer: tuple[tuple[str, int], ...]
    down: str
    across: str
    rows: int
    columns: int
    cells: tuple[tuple[str, ...], ...]
    groups: tuple[int, ...]

    @property
    def panels(self) -> tuple[str, ...]:
        """Returns the titles of the panels: "a = 0, b = 1"."""
        positions = combinations(*(range(size) for _, size in self.outer))
        names = [name for name, _ in self.outer]
        return tuple(", ".join(f"{name} = {at}" for name, at in zip(names, one, strict=True)) for one in positions)


def drawing_of(
    mesh: Mesh, ids: Sequence[int] | None = None, shards: Sequence[tuple[str, int]] | None = None
) -> Drawing | None:
    """Returns the drawing of a mesh; None if names or sizes are unknown.

    Args:
        mesh: the mesh.
        ids: the ids of its devices, row by row; positions are used if they are unknown.
        shards: for each device, row by row, the name and number of its shard.
    """
    known = mesh_sizes(mesh)
    total = product(tuple(known.values()))
    if mesh.open or not known or len(known) != len(mesh.names) or not total or total > _LARGEST:
        return None
    axes = [(name, size or 1) for name, size in known.items()]
    if len(axes) > 2:
        # An axis of size 1 takes up space and shows nothing.
        axes = [axis for axis in axes if axis[1] > 1] or axes[-1:]
    down, rows = axes[-2] if len(axes) > 1 else ("", 1)
    across, columns = axes[-1]
    numbers = [str(number) for number in (ids if ids is not None else range(total))]
    cells: tuple[tuple[str, ...], ...] = tuple((number,) for number in numbers)
    groups = (0,) * total
    if shards is not None:
        cells = tuple((number, name) for number, (name, _) in zip(numbers, shards, strict=True))
        groups = tuple(group for _, group in shards)
    return Drawing(tuple(axes[:-2]), down, across, rows, columns, cells, groups)


def as_text(drawing: Drawing) -> str:
    """Returns the drawing as columns of text, the last axis across; long axes are cut off."""
    cells = [": ".join(cell) for cell in drawing.cells]
    width = max(map(len, cells))
    head = f"{drawing.down} ↓  " if drawing.down else ""
    lines = []
    for panel, title in enumerate(drawing.panels[:MOST_PANELS]):
        lines += [title] if title else []
        lines.append(f"{head}{drawing.across} →")
        indent = " " * len(head)
        for row in range(min(drawing.rows, MOST)):
            start = (panel * drawing.rows + row) * drawing.columns
            shown = [cell.rjust(width) for cell in cells[start : start + min(drawing.columns, MOST)]]
            lines.append(indent + "  ".join([*shown, "…"] if drawing.columns > MOST else shown))
        lines += [f"{indent}…"] if drawing.rows > MOST else []
    return "\n".join([*lines, "…"] if len(drawing.panels) > MOST_PANELS else lines)


def as_svg(drawing: Drawing, colors: Mapping[str, int] = NO_COLORS) -> str:
    """Returns the drawing as an image in a `data:` URI.

    Args:
        drawing: the drawing.
        colors: the color numbers of the axes that have a color.
    """
    lines = len(drawing.cells[0])
    widest = max(len(text) for cell in drawing.cells for text in cell)
    width, height = max(34, round(widest * _LETTER) + 12), 34 if lines == 1 else 44
    left = round(len(_short(drawing.down)) * _LETTER) + 26 if drawing.down else 4
    across, down = min(drawing.columns, MOST), min(drawing.rows, MOST)
    right = max(across * (width + _GAP) + (18 if drawing.columns > MOST else 0), _wide(f"{_short(drawing.across)} →"))
    titled = 20 if drawing.outer else 0
    panel = (left + right + 4, titled + _HEAD + down * (height + _GAP) + (14 if drawing.rows > MOST else 0))
    count = min(len(drawing.panels), MOST_PANELS)
    per_row = max(1, min(count, _WIDE // (panel[0] + 16)))
    size = per_row * (panel[0] + 16) - 16, -(-count // per_row) * (panel[1] + 12) - 12
    more = 18 if len(drawing.panels) > MOST_PANELS else 0
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0] + more}" height="{size[1]}" '
        f'font-family="sans-serif" font-size="13" fill="#808080">'
    ]
    for number in range(count):
        x, y = (number % per_row) * (panel[0] + 16), (number // per_row) * (panel[1] + 12)
        parts += _panel(drawing, number, (x, y), (width, height), left)
    if more:
        parts.append(f'<text x="{size[0] + 2}" y="{size[1] - 8}">…</text>')
    drawn = "".join([*parts, "</svg>"])
    for name in (drawing.across, drawing.down):
        if name in colors:
            title = f">{escape(_short(name))} "
            drawn = drawn.replace(title, f' fill="{AXIS_COLORS[colors[name] % len(AXIS_COLORS)]}"{title}')
    return "data:image/svg+xml;base64," + b64encode(drawn.encode()).decode()


def _panel(drawing: Drawing, number: int, at: tuple[int, int], cell: tuple[int, int], left: int) -> Iterator[str]:
    (x, y), (width, height) = at, cell
    if drawing.outer:
        yield f'<text x="{x + 4}" y="{y + 14}">{escape(drawing.panels[number])}</text>'
        y += 20
    yield f'<text x="{x + left}" y="{y + 16}">{escape(_short(drawing.across))} →</text>'
    y += _HEAD
    if drawing.down:
        yield f'<text x="{x + 4}" y="{y + height // 2 + 5}">{escape(_short(drawing.down))} ↓</text>'
    for row in range(min(drawing.rows, MOST)):
        top = y + row * (height + _GAP)
        start = (number * drawing.rows + row) * drawing.columns
        for column in range(min(drawing.columns, MOST)):
            yield from _cell(drawing, start + column, (x + left + column * (width + _GAP), top), cell)
        if drawing.columns > MOST:
            yield f'<text x="{x + left + MOST * (width + _GAP)}" y="{top + height // 2 + 5}">…</text>'
    if drawing.rows > MOST:
        yield f'<text x="{x + left}" y="{y + MOST * (height + _GAP) + 8}">…</text>'


def _cell(drawing: Drawing, place: int, at: tuple[int, int], size: tuple[int, int]) -> Iterator[str]:
    (x, y), (width, height) = at, size
    color = _COLORS[drawing.groups[place] % len(_COLORS)]
    middle = x + width // 2
    yield f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" fill="{color}"/>'
    first, *rest = drawing.cells[place]
    first_line = y + height // 2 + 5 if not rest else y + 18
    yield f'<text x="{middle}" y="{first_line}" text-anchor="middle" fill="#ffffff">{escape(first)}</text>'
    for text in rest:
        yield (
            f'<text x="{middle}" y="{y + 35}" text-anchor="middle" fill="#ffffff" font-size="12">{escape(text)}</text>'
        )


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _wide(text: str) -> int:
    return round(len(text) * _LETTER) + 8
