"""One fence of a case: a file's source without its marks, the expectations in the marks, and the way back."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

_MARK = re.compile(r"^(?P<lead>\s*#\s*)(?:(?P<from_hash><\^*)|\^+)(?P<more>\.\.\.)? (?P<code>AX\d{3}): (?P<text>.*)$")
_AXES = re.compile(r"\s*#\s*axes: (.+)$")
_DEF = re.compile(r"^\s*(async\s+def|def)\b")
_CURSOR = "$0"
_CONTINUES = " \\"


@dataclass(frozen=True, order=True)
class Mark:
    """A finding as a case writes it; line and columns count from 0, columns in characters."""

    line: int
    start: int
    end: int
    code: str
    message: str
    continues: bool = False


@dataclass(frozen=True)
class Axes:
    """The axis environments of the function whose `def` is on a line."""

    line: int
    environments: frozenset[str]


@dataclass(frozen=True)
class File:
    """A fence: a file of the project, without its marks.

    Attributes:
        name: path within the project.
        text: its source.
        marks: the findings that are expected in it.
        axes: the environments that are expected in it.
        lines: first line of the fence's content in the Markdown text and the line of its closing fence, from 0.
        cursors: where `$0` stands, in characters of the text without it.
    """

    name: str
    text: str
    marks: tuple[Mark, ...] = ()
    axes: tuple[Axes, ...] = ()
    lines: tuple[int, int] = (0, 0)
    cursors: tuple[int, ...] = ()


def read_marks(content: Iterable[str], name: str = "main.py") -> File:
    """Returns the file in the lines of a fence, with its marks taken out."""
    kept: list[str] = []
    marks: list[Mark] = []
    axes: list[Axes] = []
    unfinished = False
    for line in content:
        if unfinished:
            text = line.strip().removeprefix("#").strip()
            last = marks.pop()
            unfinished = text.endswith("\\")
            marks.append(replace(last, message=f"{last.message} {text.removesuffix(chr(92)).rstrip()}"))
        elif mark := _MARK.match(line):
            marks.append(_mark(mark, len(kept) - 1))
            unfinished = mark["text"].endswith("\\")
        elif found := _AXES.search(line):
            head = line[: found.start()].rstrip()
            if head:
                kept.append(head)
            axes.append(Axes(_def_above(kept), frozenset(part.strip() for part in found[1].split("|"))))
        else:
            kept.append(line)
    parts = ("\n".join(kept) + "\n" if kept else "").split(_CURSOR)
    ends = tuple(accumulate(len(part) for part in parts))
    return File(name, "".join(parts), tuple(marks), tuple(axes), cursors=ends[:-1])


def _mark(found: re.Match[str], line: int) -> Mark:
    start = found["lead"].index("#") if found["from_hash"] else len(found["lead"])
    end = found.start("more") if found["more"] else found.start("code") - 1
    text = found["text"].strip().removesuffix("\\").rstrip()
    return Mark(line, start, end, found["code"], text, bool(found["more"]))


def _def_above(lines: list[str]) -> int:
    for number in range(len(lines) - 1, -1, -1):
        if _DEF.match(lines[number]):
            return number
    raise ValueError("`# axes:` without a `def` above it")


def render(file: File, width: int | None = None) -> list[str]:
    """Returns the lines of a fence: the source with its marks put back.

    Args:
        file: the file.
        width: the most characters that a line of a mark may have; a longer text continues on further lines.
    """
    out: list[str] = []
    below = {mark.line: [other for other in file.marks if other.line == mark.line] for mark in file.marks}
    axes = {entry.line: entry for entry in file.axes}
    shown = _with_cursors(file).removesuffix("\n").split("\n")
    for number, line in enumerate(file.text.removesuffix("\n").split("\n") if file.text else []):
        entry = axes.get(number)
        out.append(f"{shown[number]}  # axes: {' | '.join(sorted(entry.environments))}" if entry else shown[number])
        indent = len(line) - len(line.lstrip())
        for mark in sorted(below.get(number, [])):
            out.extend(_written(mark, indent, width))
    return out


def _with_cursors(file: File) -> str:
    places = [0, *file.cursors, len(file.text)]
    return _CURSOR.join(file.text[start:end] for start, end in pairwise(places))


def _written(mark: Mark, indent: int, width: int | None) -> list[str]:
    if mark.start == 0:
        lead, carets = "# ", "#<" + "^" * (mark.end - 2)
    else:
        place = min(indent, mark.start - 1)
        lead = " " * place + "#" + " " * (mark.start - place - 1)
        carets = lead + "^" * (mark.end - mark.start)
    head, text = f"{carets}{'...' if mark.continues else ''} ", f"{mark.code}: {mark.message}"
    if width is None or len(head) + len(text) <= width:
        return [head + text]
    lines = textwrap.wrap(
        text,
        width - len(_CONTINUES),
        initial_indent=head,
        subsequent_indent=lead,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [*(line + _CONTINUES for line in lines[:-1]), lines[-1]]
