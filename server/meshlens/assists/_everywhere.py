"""Applies an assist wherever it applies in a file, one place after the other, and says what became of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from meshlens.assists._model import Proposal, Refused, Wishes
from meshlens.assists._registry import Assist
from meshlens.project.view import FileView
from meshlens.project.workspace import Workspace
from meshlens.text import Edit, Span, applied

Places = Callable[[FileView], tuple[Span, ...]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one place.

    Attributes:
        line: its line in the file as it was at first, from 1.
        text: the first line of what stands there.
        refused: the reason; None where it was converted.
    """

    line: int
    text: str
    refused: Refused | None


@dataclass(frozen=True, slots=True)
class Converted:
    """A workspace after an assist was applied everywhere in a file.

    Attributes:
        workspace: the result.
        sources: the text of every file that changed.
        outcomes: what became of each place, in the order of the file.
    """

    workspace: Workspace
    sources: Mapping[Path, bytes]
    outcomes: tuple[Outcome, ...]


def convert_everywhere(workspace: Workspace, path: Path, assist: Assist, places: Places, wishes: Wishes) -> Converted:
    """Applies an assist at every place of a file where it is offered.

    Args:
        workspace: holds the file.
        path: the file.
        assist: the assist.
        places: where it may be offered, in order; those that were converted are gone from it.
        wishes: what the user said.
    """
    sources: dict[Path, bytes] = {}
    outcomes: list[Outcome] = []
    first = workspace.view(path)
    lines = [first.lines.line_of(span.start) + 1 for span in places(first)]
    kept = turn = 0
    while True:
        view = workspace.view(path)
        spans = places(view)
        if kept >= len(spans):
            return Converted(workspace, sources, tuple(outcomes))
        answer = assist.propose(view, spans[kept], wishes)
        line = lines[turn] if turn < len(lines) else view.lines.line_of(spans[kept].start) + 1
        turn += 1
        if isinstance(answer, Proposal):
            before = len(spans)
            workspace, changed = with_proposal(workspace, view, answer)
            sources |= changed
            outcomes.append(_outcome(view, spans[kept], line, None))
            if len(places(workspace.view(path))) >= before:
                # What is still there after it was converted would come up for ever.
                kept += 1
            continue
        if isinstance(answer, Refused):
            outcomes.append(_outcome(view, spans[kept], line, answer))
        kept += 1


def with_proposal(workspace: Workspace, view: FileView, proposal: Proposal) -> tuple[Workspace, dict[Path, bytes]]:
    """The workspace after a proposal, and the texts of the files that it changes."""
    edits: dict[Path, list[Edit]] = {}
    for edit in proposal.edits():
        edits.setdefault(edit.path, []).append(edit.edit)
    sources = {path: applied(view.texts[str(path)], found) for path, found in edits.items()}
    for path, source in sources.items():
        workspace = workspace.with_file(path, source)
    return workspace, sources


def _outcome(view: FileView, span: Span, line: int, refused: Refused | None) -> Outcome:
    first = view.source[span.start : span.end].decode("utf-8", "replace").split("\n")[0]
    return Outcome(line, first, refused)
