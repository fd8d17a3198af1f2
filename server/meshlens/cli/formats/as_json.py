"""JSON in Ruff's format: a list of findings."""

from __future__ import annotations

from typing import Any

from meshlens.cli.formats.json_text import json_text
from meshlens.cli.printing.report import Place, Report, Reported

_APPLICABILITY = {"safe": "safe", "unsafe": "unsafe", "suggestion": "display"}


def render(report: Report) -> str:
    """Returns the findings as a JSON list."""
    return json_text([_finding(finding) for finding in report.findings])


def _finding(finding: Reported) -> dict[str, Any]:
    place = finding.place
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "message": finding.message,
        "filename": place.path,
        "cell": place.cell,
        **_locations(place),
        "fix": _fix(finding),
        "related": [{"message": message, **_file(at), **_locations(at)} for message, at in finding.related],
        "url": None,
    }


def _fix(finding: Reported) -> dict[str, Any] | None:
    fix = finding.fix
    if fix is None:
        return None
    return {
        "applicability": _APPLICABILITY[fix.safety],
        "message": fix.title,
        "edits": [{**_file(at), "content": text, **_locations(at)} for at, text in fix.edits],
    }


def _file(place: Place) -> dict[str, Any]:
    return {"filename": place.path} if place.cell is None else {"filename": place.path, "cell": place.cell}


def _locations(place: Place) -> dict[str, Any]:
    return {
        "location": {"row": place.start[0], "column": place.start[1]},
        "end_location": {"row": place.end[0], "column": place.end[1]},
    }
