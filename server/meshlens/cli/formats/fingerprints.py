"""Fingerprints that still match after a line moves: hashes of a finding's file, rule, message and line text."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

from meshlens.cli.printing.report import Report, Reported


def relative(path: str, folder: str) -> str:
    """Returns a path relative to a folder, with slashes on every system."""
    try:
        return os.path.relpath(path, folder).replace(os.sep, "/")
    except ValueError:
        return path.replace(os.sep, "/")


def line_text(report: Report, finding: Reported) -> str:
    """Returns the text of a finding's first line, without surrounding whitespace."""
    lines = report.lines(finding.place.path, finding.place.cell)
    row = finding.place.start[0] - 1
    return lines[row].strip() if row < len(lines) else ""


def fingerprinted(report: Report, folder: str) -> Iterator[tuple[Reported, str]]:
    """Yields each finding with its fingerprint; identical findings are numbered, so that each fingerprint is unique.

    Args:
        report: the findings.
        folder: the base of relative paths.
    """
    seen: dict[tuple[str, ...], int] = {}
    for finding in report.findings:
        key = (relative(finding.place.path, folder), finding.code, finding.message, line_text(report, finding))
        seen[key] = seen.get(key, 0) + 1
        content = "\0".join((*key, str(seen[key])))
        yield finding, hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:32]
