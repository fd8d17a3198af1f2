"""Ignore comments: the findings that they silence, and comments that silence nothing."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate

from meshlens.checking.registry import Rule
from meshlens.facts.model import Suppression
from meshlens.project.view import FileView
from meshlens.text import LineIndex, Span

_EVERYWHERE = (-1, 1 << 60)


@dataclass(frozen=True, slots=True)
class Idle:
    """An ignore comment, or a part of one, that silences nothing.

    Attributes:
        suppression: the comment.
        codes: its codes or names that silence nothing; empty for a comment without codes.
        unknown: the codes or names that match no rule.
        whole: whether the whole comment is useless.
    """

    suppression: Suppression
    codes: tuple[str, ...]
    unknown: tuple[str, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class CheckedView(FileView):
    """A view together with its ignore comments that silence nothing.

    Attributes:
        idle: the comments that silence nothing.
    """

    idle: tuple[Idle, ...] = ()


def checked_view(view: FileView, idle: tuple[Idle, ...]) -> CheckedView:
    """Returns the view with its idle comments."""
    return CheckedView(**{entry.name: getattr(view, entry.name) for entry in fields(FileView)}, idle=idle)


class Silencers:
    """The ignore comments of a file, by the lines that they apply to.

    Attributes:
        used: the comments that silenced something: the index of each, and the code or name that matched ("" for any).
    """

    __slots__ = ("_codes", "_groups", "_lines", "_reach", "_silencing", "_starts", "used")

    def __init__(self, suppressions: Sequence[Suppression], lines: LineIndex) -> None:
        """Groups the comments.

        Args:
            suppressions: the file's ignore comments.
            lines: the file's lines.
        """
        self.used: set[tuple[int, str]] = set()
        self._codes = [one.codes for one in suppressions]
        self._lines = lines
        groups: dict[tuple[int, int], list[int]] = {}
        for number, one in enumerate(suppressions):
            groups.setdefault(_EVERYWHERE if one.whole_file else one.lines, []).append(number)
        self._groups = sorted(groups.items())
        self._starts = [lines[0] for lines, _ in self._groups]
        # The last line that any of the groups so far applies to.
        self._reach = list(accumulate((lines[1] for lines, _ in self._groups), max))
        self._silencing: dict[tuple[int, str], tuple[tuple[int, str], ...]] = {}

    def silences(self, span: Span, rule: Rule) -> bool:
        """Returns whether a comment silences a finding of a rule; marks all comments that do as used."""
        found = [self._found(group, rule) for group in self._speaking_for(span)]
        return any(found)

    def names(self, span: Span, rule: Rule) -> bool:
        """Returns whether a comment silences a finding of a rule by naming the rule."""
        return any(any(code for _, code in self._found(group, rule)) for group in self._speaking_for(span))

    def _speaking_for(self, span: Span) -> Iterator[int]:
        if not self._groups:
            return
        line = self._lines.line_of(span.start)
        at = bisect_right(self._starts, line) - 1
        while at >= 0 and self._reach[at] >= line:
            if self._groups[at][0][1] >= line:
                yield at
            at -= 1

    def _found(self, group: int, rule: Rule) -> tuple[tuple[int, str], ...]:
        """Returns the comments of a group that silence a rule, each with the matching code."""
        known = self._silencing.get((group, rule.code))
        if known is None:
            found: list[tuple[int, str]] = []
            for number in self._groups[group][1]:
                codes = self._codes[number]
                found += [(number, code) for code in codes if names(code, rule)] if codes else [(number, "")]
            known = self._silencing[(group, rule.code)] = tuple(found)
            self.used.update(known)
        return known


def names(code: str, rule: Rule) -> bool:
    """Returns whether an item of an ignore comment matches a rule: its name, its code, or a prefix of its code."""
    upper = code.upper()
    return code.lower() == rule.name or (len(upper) > 2 and upper[:2] == "AX" and rule.code.startswith(upper))


def idle_comments(
    view: FileView,
    used: Collection[tuple[int, str]],
    rules: Iterable[Rule],
    ran: Collection[str],
) -> tuple[Idle, ...]:
    """Returns the ignore comments that silenced nothing.

    Skips comments for rules that did not run or did not know the number of devices, because these comments may be
    useful in another run, and comments that only say `noqa`, because other tools read them too.

    Args:
        view: the file.
        used: the comments that silenced something, as in `Silencers`.
        rules: every rule.
        ran: the codes of the rules that ran.
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
