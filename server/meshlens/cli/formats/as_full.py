"""The full format: each finding with its code, the places that explain it, and its fix."""

from __future__ import annotations

from meshlens.cli.formats.as_concise import where
from meshlens.cli.formats.frames import Line, Mark, frame
from meshlens.cli.formats.summary import summary
from meshlens.cli.printing.report import Report, Reported
from meshlens.cli.printing.visible import visible

_MOST_RELATED = 8
_ROOM_IN_PIPES = 160

STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "hint": "bold cyan",
    "message": "bold",
    "edge": "blue",
    "mark": "bold red",
    "note": "cyan",
    "help": "bold green",
    "dim": "dim",
}


def render(report: Report) -> str:
    """Returns the report as plain text."""
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines_of(report, _ROOM_IN_PIPES))


def lines_of(report: Report, room: int) -> list[Line]:
    """Returns the report as lines of styled text.

    Args:
        report: the report.
        room: the maximum number of columns in a line.
    """
    out: list[Line] = []
    for finding in report.findings:
        out += _finding(report, finding, room)
        out.append([])
    style = "message" if report.findings else "help"
    return [*out, *([(line, style)] for line in summary(report).splitlines())]


def _finding(report: Report, finding: Reported, room: int) -> list[Line]:
    out: list[Line] = [
        [
            (f"{finding.severity}[{finding.code}]", finding.severity),
            (f" {finding.name}: ", "dim"),
            (visible(finding.message), "message"),
        ]
    ]
    frames = _by_file(finding)
    gutter = max(len(str(mark.rows[1])) for _, marks in frames for mark in marks)
    for number, (_, marks) in enumerate(frames):
        place = marks[0].place
        arrow = "-->" if number == 0 else ":::"
        out.append([(" " * gutter, ""), (arrow, "edge"), (f" {where(place)}", "")])
        lines = report.lines(place.path, place.cell)
        out += frame(lines, marks, gutter, max(room - gutter - 6, 40))
    out += _help(finding, gutter)
    return out


def _by_file(finding: Reported) -> list[tuple[tuple[str, int | None], list[Mark]]]:
    """Returns the places of a finding by file and cell: its own place first, then the others in route order."""
    frames = {(finding.place.path, finding.place.cell): [Mark(finding.place, "^", "")]}
    for message, place in finding.related[:_MOST_RELATED]:
        marks = frames.setdefault((place.path, place.cell), [])
        if not any(mark.place == place and mark.label == message for mark in marks):
            marks.append(Mark(place, "-", message))
    return list(frames.items())


def _help(finding: Reported, gutter: int) -> list[Line]:
    fix = finding.fix
    if fix is None:
        return []
    how = {"safe": "  (--fix)", "unsafe": "  (--unsafe-fixes)", "suggestion": "  (in the editor)"}[fix.safety]
    out: list[Line] = [[(f"{'':{gutter}} = ", "edge"), ("help: ", "help"), (visible(fix.title), ""), (how, "dim")]]
    if fix.why:
        out.append([(f"{'':{gutter}}   ", ""), (f"      {visible(fix.why)}", "dim")])
    return out
