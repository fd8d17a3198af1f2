"""The files of a workspace, and how they are read from bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from meshlens.facts.editing.reading import Reading
from meshlens.facts.extract import extract
from meshlens.facts.model import FileFacts
from meshlens.project.disk.cache import FactsCache
from meshlens.project.disk.pool import extract_all
from meshlens.project.notebooks.notebook import Notebook, read_notebook


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a workspace.

    Attributes:
        path: its absolute path.
        raw: its bytes on disk or in the editor.
        source: the Python text: the bytes themselves, or a notebook's cells joined.
        facts: its facts.
        notebook: the cells, for a notebook.
        reading: data that speeds up reading the next edit, for a file that is being edited.
    """

    path: Path
    raw: bytes
    source: bytes
    facts: FileFacts
    notebook: Notebook | None = None
    reading: Reading | None = None


def read_file(path: Path, raw: bytes, facts: FileFacts | None = None) -> SourceFile:
    """Returns a file from its bytes.

    Raises:
        ValueError: the notebook is invalid.
    """
    if path.suffix == ".ipynb":
        notebook = read_notebook(raw)
        return SourceFile(path, raw, notebook.source, facts or extract(notebook.source), notebook)
    return SourceFile(path, raw, raw, facts or extract(raw))


def read_all(
    raws: Mapping[Path, bytes], cache: FactsCache | None
) -> tuple[dict[str, SourceFile], list[tuple[Path, str]]]:
    """Parses source files from their raw bytes, using cached facts where available.

    Returns:
        The files by path, and the notebooks that cannot be parsed, each with an error message.
    """
    read: dict[str, SourceFile] = {}
    problems: list[tuple[Path, str]] = []
    new: list[tuple[Path, bytes, Notebook | None]] = []
    for path, raw in raws.items():
        try:
            notebook = read_notebook(raw) if path.suffix == ".ipynb" else None
        except ValueError as error:
            problems.append((path, str(error)))
            continue
        facts = cache.get(raw, len(notebook.source if notebook else raw)) if cache is not None else None
        if facts is not None:
            read[str(path)] = SourceFile(path, raw, notebook.source if notebook else raw, facts, notebook)
        else:
            new.append((path, raw, notebook))
    sources = [notebook.source if notebook else raw for _, raw, notebook in new]
    for (path, raw, notebook), source, one in zip(
        new, sources, extract_all(sources, is_stored=cache is not None), strict=True
    ):
        read[str(path)] = SourceFile(path, raw, source, one.facts, notebook)
        if cache is not None and one.stored:
            cache.put_stored(raw, one.stored)
    return read, problems
