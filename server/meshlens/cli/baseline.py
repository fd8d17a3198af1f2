"""The baseline: known and accepted findings, each identified by its file, code, message and the text of its line.

A finding stays known as long as the text of its line is the same, even if the line moves or other lines change.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from meshlens.cli.formats.fingerprints import line_text, relative
from meshlens.cli.printing.report import Report, Reported
from meshlens.foreign_files import BASELINE, Unread, read_bytes

_VERSION = 1

_Key = tuple[str, str, str, str]


class BadBaseline(ValueError):
    """Raised if a file is not a baseline; the message gives the reason."""


def written(report: Report, folder: Path) -> bytes:
    """Returns the findings of a report as a baseline.

    Args:
        report: the findings.
        folder: the folder of the baseline, to which its paths are relative.
    """
    by_path: dict[str, list[dict[str, Any]]] = {}
    for (path, code, message, text), count in sorted(Counter(_keys(report, folder)).items()):
        entry = {"code": code, "message": message, "line": text, "count": count}
        by_path.setdefault(path, []).append(entry)
    return (json.dumps({"version": _VERSION, "findings": by_path}, indent=2, ensure_ascii=False) + "\n").encode()


def without_known(report: Report, baseline: Path) -> Report:
    """Returns the report without the findings of a baseline.

    Raises:
        BadBaseline: the file is not a baseline, or cannot be read.
    """
    known = _read(baseline)
    kept: list[Reported] = []
    for finding, key in zip(report.findings, _keys(report, baseline.parent), strict=True):
        if known[key] > 0:
            known[key] -= 1
        else:
            kept.append(finding)
    return replace(report, findings=tuple(kept), baselined=len(report.findings) - len(kept))


def _keys(report: Report, folder: Path) -> Iterable[_Key]:
    for finding in report.findings:
        yield relative(finding.place.path, str(folder)), finding.code, finding.message, line_text(report, finding)


def _read(path: Path) -> Counter[_Key]:
    if not path.exists():
        raise BadBaseline("no such file; create it with --write-baseline")
    raw = read_bytes(path, BASELINE)
    if isinstance(raw, Unread):
        raise BadBaseline(raw.message)
    try:
        data = json.loads(raw)
    except ValueError as error:
        raise BadBaseline(f"not a baseline: {error}") from error
    except RecursionError as error:
        raise BadBaseline("not a baseline: nested too deeply") from error
    if not isinstance(data, dict) or data.get("version") != _VERSION or not isinstance(data.get("findings"), dict):
        raise BadBaseline("this version of MeshLens cannot read it; rewrite it with --write-baseline")
    known: Counter[_Key] = Counter()
    try:
        for file, entries in data["findings"].items():
            for entry in entries:
                known[(str(file), entry["code"], entry["message"], entry["line"])] += int(entry["count"])
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        raise BadBaseline('not a baseline: an entry lacks a valid "code", "message", "line" or "count"') from error
    return known
