"""Applies an assist everywhere in some files, and reports the outcome at each place.

Each round computes as many compatible offers as possible for one state of the workspace, because analyzing the
workspace takes longer than everything else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from meshlens.project.view import FileView
from meshlens.project.workspace import Workspace
from meshlens.refactoring.model import Proposal, Refused, Wishes
from meshlens.refactoring.registry import Assist
from meshlens.refactoring.together import Round, moved
from meshlens.text import Edit, Span, applied, with_line_ends

Places = Callable[[FileView], tuple[Span, ...]]


@dataclass(frozen=True, slots=True)
class Job:
    """The file and places to convert.

    Attributes:
        path: the file.
        places: the places where the assist may be offered, in order, without those already converted.
    """

    path: Path
    places: Places


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome at one place.

    Attributes:
        line: its line in the original file, from 1.
        text: the first line of its code.
        refused: the reason; None if it was converted.
    """

    line: int
    text: str
    refused: Refused | None


@dataclass(frozen=True, slots=True)
class Converted:
    """A workspace after an assist was applied everywhere in some files.

    Attributes:
        workspace: the result.
        sources: the text of every file that changed.
        outcomes: for each job, the outcome at each place, in file order.
    """

    workspace: Workspace
    sources: Mapping[Path, bytes]
    outcomes: tuple[tuple[Outcome, ...], ...]


@dataclass(eq=False)
class _Progress:
    """The progress of a job.

    Attributes:
        job: the job.
        first: its original places with their lines; they move with the edits.
        judged: the completed places, and whether they were refused.
        gone: the texts of refused places that were rewritten as part of another.
        outcomes: the outcomes at the places.
    """

    job: Job
    first: dict[Span, int] = field(default_factory=dict)
    judged: dict[Span, bool] = field(default_factory=dict)
    gone: Counter[bytes] = field(default_factory=Counter)
    outcomes: list[Outcome] = field(default_factory=list)


def convert_everywhere(workspace: Workspace, jobs: Sequence[Job], assist: Assist, wishes: Wishes) -> Converted:
    """Applies an assist at every place where it is offered.

    Args:
        workspace: the workspace with the files.
        jobs: the files, and the places in them.
        assist: the assist.
        wishes: the user's wishes.
    """
    every = [_Progress(job) for job in jobs]
    for one in every:
        view = workspace.view(one.job.path)
        one.first = {span: view.lines.line_of(span.start) + 1 for span in one.job.places(view)}
    sources: dict[Path, bytes] = {}
    limits = [len(one.first) for one in every]
    waiting = every
    while waiting:
        taken = Round(workspace)
        waiting = [one for one in waiting if not _offer(taken, one, assist, wishes)]
        if taken.is_empty:
            break
        for path, edits in taken.edits().items():
            file = workspace.files[str(path)]
            for one in every:
                if one.job.path == path:
                    _follow(one, file.source, with_line_ends(file.source, edits))
            sources[path] = file.notebook.with_edits(edits) if file.notebook else applied(file.source, edits)
            workspace = workspace.with_file(path, sources[path])
        # Do not try a place again whose conversion is itself convertible, or this would never end.
        open_ones = zip(every, limits, strict=True)
        waiting = [one for one, limit in open_ones if one in waiting and len(one.outcomes) < limit]
    outcomes = (tuple(sorted(one.outcomes, key=_line)) for one in every)
    return Converted(workspace, sources, tuple(outcomes))


def _offer(taken: Round, one: _Progress, assist: Assist, wishes: Wishes) -> bool:
    """Takes the assist's offers at the places of a job; returns whether the job is complete."""
    is_done = True
    places = one.job.places(taken.view(one.job.path))
    for span in places:
        if taken.is_full:
            return False
        view = taken.view(one.job.path)
        if span in one.judged or _was_judged(view, one, span):
            continue
        answer = assist.propose(view, span, wishes)
        if isinstance(answer, Proposal) and not taken.take(view.path, answer):
            is_done = False
            continue
        one.judged[span] = isinstance(answer, Refused)
        if answer is not None:
            text = view.source[span.start : span.end].decode("utf-8", "replace").split("\n")[0]
            line = one.first.get(span, view.lines.line_of(span.start) + 1)
            one.outcomes.append(Outcome(line, text, answer if isinstance(answer, Refused) else None))
    return is_done


def _was_judged(view: FileView, one: _Progress, span: Span) -> bool:
    text = view.source[span.start : span.end]
    if one.gone[text] <= 0:
        return False
    one.gone[text] -= 1
    one.judged[span] = True
    return True


def _follow(one: _Progress, source: bytes, edits: Sequence[Edit]) -> None:
    """Shifts the places of a job by edits in its file."""
    spans = {span: moved(span, edits) for span in {*one.first, *one.judged}}
    lost = (span for span, refused in one.judged.items() if refused and spans[span] is None)
    one.gone.update(source[span.start : span.end] for span in lost)
    one.first = {now: line for span, line in one.first.items() if (now := spans[span]) is not None}
    one.judged = {now: refused for span, refused in one.judged.items() if (now := spans[span]) is not None}


def _line(outcome: Outcome) -> int:
    return outcome.line
