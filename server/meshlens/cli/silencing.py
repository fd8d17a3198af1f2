"""`meshlens check --add-noqa`: adds a comment to each line with a finding, so that new findings stand out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from meshlens.checking.silence import silencing
from meshlens.cli.printing.report import Reported
from meshlens.project.disk.python_text import read_source
from meshlens.project.workspace import open_workspace
from meshlens.text import Span, apply


@dataclass(frozen=True, slots=True)
class Silenced:
    """Texts with comments that silence findings.

    Attributes:
        before, after: the texts of the files that change.
        comments: the number of lines with a new comment.
        left: one line for each finding that no comment can silence.
    """

    before: Mapping[Path, bytes]
    after: Mapping[Path, bytes]
    comments: int
    left: tuple[str, ...]


def silenced(findings: Iterable[Reported]) -> Silenced:
    """Returns texts with a comment on the line of each finding, one per line; writes no file."""
    by_path: dict[Path, dict[int, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    left: list[str] = []
    for finding in findings:
        if finding.place.cell is not None:
            left.append(f"{finding.place.path}: a notebook; ignore {finding.name} in its cell")
            continue
        by_path[Path(finding.place.path)][finding.place.start[0] - 1][finding.name] = None
    before: dict[Path, bytes] = {}
    after: dict[Path, bytes] = {}
    comments = 0
    for path, lines in by_path.items():
        source = read_source(path)
        if not isinstance(source, bytes):
            left.append(f"{path}: {source.message}")
            continue
        text = source
        for line, names in lines.items():
            now = text
            for name in names:
                now = _with_comment(path, now, line, name) or now
            comments += now != text
            if now == text:
                left.append(f"{path}:{line + 1}: cannot add a comment here; ignore {', '.join(names)} in the file")
            text = now
        if text != source:
            before[path], after[path] = source, text
    return Silenced(before, after, comments, tuple(left))


def _with_comment(path: Path, text: bytes, line: int, name: str) -> bytes | None:
    view = open_workspace([path.parent], files=[path], overlay={path: text}).view(path)
    start = view.lines.starts[line]
    edit = silencing(view, Span(start, start), name)
    return apply(text, [edit]) if edit is not None else None
