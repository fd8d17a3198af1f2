"""Open notebooks: the code cells in order, as one source."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from meshlens.project.notebooks.notebook import join_cells


@dataclass(frozen=True, slots=True)
class OpenNotebook:
    """A notebook in the client.

    Attributes:
        uri, version: as given by the client.
        path: the file.
        cells: the URIs of all cells in order.
        code: the URIs of the cells that contain Python.
    """

    uri: str
    version: int | None
    path: Path
    cells: tuple[str, ...]
    code: frozenset[str]

    @property
    def code_cells(self) -> tuple[str, ...]:
        """Returns the URIs of the cells with Python, in order."""
        return tuple(cell for cell in self.cells if cell in self.code)


def written(texts: Iterable[str]) -> bytes:
    """Returns a notebook file with these code cells and nothing else."""
    return json.dumps({"cells": [{"cell_type": "code", "source": text} for text in texts]}).encode()


def bases(texts: Sequence[str]) -> list[int]:
    """Returns the start of each cell in the joined source, in bytes."""
    return [cell.span.start for cell in join_cells(list(enumerate(texts))).cells]
