"""A code quality report for GitLab."""

from __future__ import annotations

import os

from meshlens.cli.formats.fingerprints import fingerprinted, relative
from meshlens.cli.formats.json_text import json_text
from meshlens.cli.printing.report import Report

_SEVERITIES = {"error": "critical", "warning": "major", "hint": "info"}


def render(report: Report) -> str:
    """Returns the findings as a JSON list of code quality violations."""
    top = os.environ.get("CI_PROJECT_DIR") or os.getcwd()
    out = []
    for finding, fingerprint in fingerprinted(report, top):
        place = finding.place
        cell = f"cell {place.cell}, row {place.start[0]}: " if place.cell is not None else ""
        # A row in a notebook cell is not a row of the file.
        begin, end = (1, 1) if place.cell is not None else (place.start[0], place.end[0])
        out.append(
            {
                "description": f"{finding.code} {cell}{finding.message}",
                "check_name": finding.name,
                "fingerprint": fingerprint,
                "severity": _SEVERITIES[finding.severity],
                "location": {"path": relative(place.path, top), "lines": {"begin": begin, "end": end}},
            }
        )
    return json_text(out)
