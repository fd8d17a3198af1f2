"""`meshlens check --add-noqa`: adds a comment to each line with a finding, so that new findings stand out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from meshlens.checking.silence import silencing
from meshlens.cli.printing.report import Reported
from meshlens.cli.request import shown
from meshlens.project.disk.python_text import read_source
from meshlens.project.workspace import open_workspace
from meshlens.text import Span, apply


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a file or of a notebook cell; cells and rows are counted from 1."""

    cell: int | None
    row: int

    def __str__(self) -> str:
        return f"{self.row}" if self.cell is None else f"cell {self.cell}:{self.row}"


@dataclass(frozen=True, slots=True)
class Silenced:
    """Texts with comments that silence findings.

    Attributes:
        before, after: the texts of the files that change.
        comments: the number of lines with a new comment.
        left: one message for each file that cannot be read and each line that no comment can be added to.
    """

    before: Mapping[Path, bytes]
    after: Mapping[Path, bytes]
    comments: int
    left: tuple[str, ...]


def silenced(findings: Iterable[Reported]) -> Silenced:
    """Returns the texts of the files with a comment on each line that has findings; writes no file."""
    by_path: dict[Path, dict[_Line, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    left: list[str] = []
    for finding in findings:
        place = finding.place
        by_path[Path(place.path)][_Line(place.cell, place.start[0])][finding.name] = None
    before: dict[Path, bytes] = {}
    after: dict[Path, bytes] = {}
    comments = 0
    for path, lines in by_path.items():
        source = read_source(path)
        if not isinstance(source, bytes):
            left.append(f"{shown(path)}: {source.message}")
            continue
        text = source
        for line, names in lines.items():
            now = text
            for name in names:
                now = _with_comment(path, now, line, name) or now
            comments += now != text
            if now == text:
                where = f"{shown(path)}:{line}"
                left.append(
                    f'{where}: cannot add a comment here; add "# meshlens: ignore-file[{", ".join(names)}]" to the file'
                )
            text = now
        if text != source:
            before[path], after[path] = source, text
    return Silenced(before, after, comments, tuple(left))


def _with_comment(path: Path, text: bytes, line: _Line, name: str) -> bytes | None:
    workspace = open_workspace([path.parent], files=[path], overlay={path: text})
    view, notebook = workspace.view(path), workspace.files[str(path)].notebook
    cells = notebook.cells if notebook is not None else ()
    first = next((view.lines.line_of(cell.span.start) for cell in cells if cell.index + 1 == line.cell), 0)
    start = view.lines.starts[first + line.row - 1]
    edit = silencing(view, Span(start, start), name)
    if edit is None:
        return None
    return notebook.with_edits([edit]) if notebook is not None else apply(text, [edit])
