"""The concise format: one line for each finding."""

from __future__ import annotations

from meshlens.cli.formats.summary import summary
from meshlens.cli.printing.report import Place, Report, Reported
from meshlens.cli.printing.visible import visible


def render(report: Report) -> str:
    """Returns the findings, one per line, and the summary."""
    return "".join(f"{line(finding)}\n" for finding in report.findings) + summary(report)


def line(finding: Reported) -> str:
    """Returns a finding as one line."""
    fixable = " [*]" if finding.fix is not None and finding.fix.safety == "safe" else ""
    return f"{where(finding.place)}: {finding.code}{fixable} {visible(finding.message)}"


def where(place: Place) -> str:
    """Returns a place in the form that terminals and editors turn into a link."""
    cell = f"cell {place.cell}:" if place.cell is not None else ""
    # A line that begins with two colons is a GitHub Actions command.
    name = f"./{place.shown}" if place.shown.startswith("::") else place.shown
    return f"{visible(name)}:{cell}{place.start[0]}:{place.start[1]}"
