"""Applies an assist everywhere in the given files, and reports the outcome at each place.

Each round computes as many compatible offers as possible for one state of the workspace, because analyzing the
workspace takes longer than everything else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from meshlens.project.view import FileView
from meshlens.project.workspace import Workspace
from meshlens.refactoring.model import Proposal, Refused, Wishes
from meshlens.refactoring.registry import Assist
from meshlens.refactoring.together import Round, moved
from meshlens.refactoring.veto import veto, written
from meshlens.text import Edit, Span, with_line_ends

Places = Callable[[FileView], tuple[Span, ...]]
_MOST_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class Job:
    """The file and places to convert.

    Attributes:
        path: the file.
        places: finds the places where the assist may be offered, in order, without those already converted.
    """

    path: Path
    places: Places


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome at one place.

    Attributes:
        line: the place's line in the original file, counted from 1.
        text: the first line of code at the place.
        refused: why the place was not converted; None if it was.
        note: why the numerical results change; empty if they do not.
        caveat: an assumption of the result that the code does not show; empty if there is none.
    """

    line: int
    text: str
    refused: Refused | None
    note: str = ""
    caveat: str = ""


@dataclass(frozen=True, slots=True)
class Converted:
    """A workspace after an assist was applied everywhere in the given files.

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
        first: the original places, shifted by edits, with their lines in the original file.
        judged: the completed places, and whether each was refused.
        gone: the texts of refused places that were rewritten together with another place.
        outcomes: the outcomes at the places.
    """

    job: Job
    first: dict[Span, int] = field(default_factory=dict)
    judged: dict[Span, bool] = field(default_factory=dict)
    gone: Counter[bytes] = field(default_factory=Counter)
    outcomes: list[Outcome] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Taken:
    """A place whose offer was taken.

    Attributes:
        job: the progress of its job.
        span: the span of the place.
        title: what the offer does.
        outcome: the outcome at the place if the offer is kept.
    """

    job: _Progress
    span: Span
    title: str
    outcome: Outcome

    def stays(self, refused: Refused | None = None) -> None:
        """Records the outcome of the place."""
        self.job.judged[self.span] = refused is not None
        self.job.outcomes.append(replace(self.outcome, refused=refused))


def convert_everywhere(workspace: Workspace, jobs: Sequence[Job], assist: Assist, wishes: Wishes) -> Converted:
    """Applies an assist at every place where it is offered, unless the result would have a new finding.

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
    waiting, most = every, _MOST_AT_ONCE
    while waiting:
        offers = Round(workspace, most)
        places: list[_Taken] = []
        left = [one for one in waiting if not _offer(offers, places, one, assist, wishes)]
        if not places:
            break
        edits = offers.edits()
        texts = written(workspace, edits)
        after = workspace.with_files(texts)
        refused = veto(places[0].title, workspace, after, texts)
        if refused is not None and len(places) > 1:
            # At least one of these must be refused: try fewer until it is found.
            most = len(places) // 2
            continue
        for place in places:
            place.stays(refused)
        if refused is None:
            _follow_all(workspace, every, edits)
            sources.update(texts)
            workspace, most = after, min(2 * most, _MOST_AT_ONCE)
        # The result of a conversion may itself be convertible: do not try its place again, or this loop never ends.
        open_ones = zip(every, limits, strict=True)
        waiting = [one for one, limit in open_ones if one in left and len(one.outcomes) < limit]
    outcomes = (tuple(sorted(one.outcomes, key=_line)) for one in every)
    return Converted(workspace, sources, tuple(outcomes))


def _offer(offers: Round, places: list[_Taken], one: _Progress, assist: Assist, wishes: Wishes) -> bool:
    """Takes the assist's offers at the places of a job; returns whether the job is complete."""
    is_done = True
    for span in one.job.places(offers.view(one.job.path)):
        if offers.is_full:
            return False
        view = offers.view(one.job.path)
        if span in one.judged or _was_judged(view, one, span):
            continue
        answer = assist.propose(view, span, wishes)
        if answer is None or (isinstance(answer, Proposal) and not offers.take(view.path, answer)):
            is_done = is_done and answer is None
            continue
        text = view.source[span.start : span.end].decode("utf-8", "replace").split("\n")[0]
        outcome = Outcome(
            one.first.get(span, view.lines.line_of(span.start) + 1),
            text,
            None,
            answer.note if isinstance(answer, Proposal) else "",
            answer.caveat if isinstance(answer, Proposal) else "",
        )
        place = _Taken(one, span, answer.title, outcome)
        if isinstance(answer, Proposal):
            places.append(place)
        else:
            place.stays(answer)
    return is_done


def _was_judged(view: FileView, one: _Progress, span: Span) -> bool:
    text = view.source[span.start : span.end]
    if one.gone[text] <= 0:
        return False
    one.gone[text] -= 1
    one.judged[span] = True
    return True


def _follow_all(workspace: Workspace, every: Sequence[_Progress], edits: Mapping[Path, Sequence[Edit]]) -> None:
    """Shifts the places of all jobs to account for edits to their files."""
    for path, made in edits.items():
        source = workspace.files[str(path)].source
        for one in every:
            if one.job.path == path:
                _follow(one, source, with_line_ends(source, made))


def _follow(one: _Progress, source: bytes, edits: Sequence[Edit]) -> None:
    """Shifts the places of a job to account for edits to its file."""
    spans = {span: moved(span, edits) for span in {*one.first, *one.judged}}
    lost = (span for span, refused in one.judged.items() if refused and spans[span] is None)
    one.gone.update(source[span.start : span.end] for span in lost)
    one.first = {now: line for span, line in one.first.items() if (now := spans[span]) is not None}
    one.judged = {now: refused for span, refused in one.judged.items() if (now := spans[span]) is not None}


def _line(outcome: Outcome) -> int:
    return outcome.line
