"""Ignore comments: which findings they silence, and which of them silence nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields

from meshlens.facts.model import Suppression
from meshlens.project.view import FileView
from meshlens.rules._registry import Rule
from meshlens.text import LineIndex, Span


@dataclass(frozen=True, slots=True)
class Idle:
    """An ignore comment, or a part of one, that silences nothing.

    Attributes:
        suppression: the comment.
        codes: which of its codes or names silence nothing; empty for a comment without any.
        unknown: those of them that name no rule.
        whole: nothing of the comment is of use.
    """

    suppression: Suppression
    codes: tuple[str, ...]
    unknown: tuple[str, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class CheckedView(FileView):
    """A view together with what the other rules' findings left of its ignore comments.

    Attributes:
        idle: the comments that silence nothing.
    """

    idle: tuple[Idle, ...] = ()


def checked_view(view: FileView, idle: tuple[Idle, ...]) -> CheckedView:
    """The view with its idle comments."""
    return CheckedView(**{entry.name: getattr(view, entry.name) for entry in fields(FileView)}, idle=idle)


def silenced_by(
    suppressions: Sequence[Suppression], lines: LineIndex, span: Span, rule: Rule
) -> tuple[tuple[int, str], ...]:
    """The comments that silence a finding: the number of each, and the code or name that does it ("" for any).

    Args:
        suppressions: the file's ignore comments.
        lines: the file's lines.
        span: what the finding underlines.
        rule: the finding's rule.
    """
    if not suppressions:
        return ()
    line = lines.line_of(span.start)
    found = []
    for number, one in enumerate(suppressions):
        if not one.whole_file and not one.lines[0] <= line <= one.lines[1]:
            continue
        if not one.codes:
            found.append((number, ""))
        found.extend((number, code) for code in one.codes if names(code, rule))
    return tuple(found)


def names(code: str, rule: Rule) -> bool:
    """Whether what stands in an ignore comment means a rule: its name, its code, or the beginning of its code."""
    upper = code.upper()
    return code.lower() == rule.name or (len(upper) > 2 and upper[:2] == "AX" and rule.code.startswith(upper))


def idle_comments(
    view: FileView,
    used: Collection[tuple[int, str]],
    rules: Iterable[Rule],
    ran: Collection[str],
) -> tuple[Idle, ...]:
    """The ignore comments that silenced nothing.

    A comment about a rule that did not run, or that could not know how many devices there are, may be of use
    in another run and is left alone, as is a `# noqa` without codes, which speaks to other tools too.

    Args:
        view: the file.
        used: what `silenced_by` gave for its findings.
        rules: every rule there is.
        ran: the codes of those that ran.
    """
    known = tuple(rules)
    out = []
    for number, one in enumerate(view.facts.suppressions):
        if not one.codes:
            if (number, "") not in used and not _is_noqa(view, one) and all(rule.code in ran for rule in _usual(known)):
                out.append(Idle(one, (), (), whole=True))
            continue
        unknown = tuple(code for code in one.codes if not any(names(code, rule) for rule in known))
        idle = tuple(
            code
            for code in one.codes
            if code in unknown or ((number, code) not in used and _could_tell(code, view, known, ran))
        )
        if idle:
            out.append(Idle(one, idle, unknown, whole=len(idle) == len(one.codes)))
    return tuple(out)


def _usual(rules: Iterable[Rule]) -> Iterable[Rule]:
    return (rule for rule in rules if rule.default and rule.code != "AX901")


def _could_tell(code: str, view: FileView, rules: Iterable[Rule], ran: Collection[str]) -> bool:
    meant = [rule.code for rule in rules if names(code, rule)]
    if view.device_count is None and any(one.startswith("AX30") for one in meant):
        return False
    return "AX901" not in meant and all(one in ran for one in meant)


def _is_noqa(view: FileView, suppression: Suppression) -> bool:
    return b"meshlens" not in view.source[suppression.span.start : suppression.span.end]
