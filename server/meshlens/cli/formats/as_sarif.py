"""SARIF 2.1.0, with the route to each finding as a code flow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import meshlens
from meshlens.checking.registry import Rule, all_rules
from meshlens.cli.formats.fingerprints import fingerprinted, relative
from meshlens.cli.formats.json_text import json_text
from meshlens.cli.formats.summary import syntax_errors
from meshlens.cli.printing.report import Place, Report, Reported

_LEVELS = {"error": "error", "warning": "warning", "hint": "note"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(report: Report) -> str:
    """Returns the report as a SARIF log."""
    top = os.getcwd()
    rules = all_rules()
    numbers = {rule.code: number for number, rule in enumerate(rules)}
    wrong = (*report.problems, *report.failures)
    run = {
        "tool": {
            "driver": {
                "name": "MeshLens",
                "version": meshlens.__version__,
                "semanticVersion": meshlens.__version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"SRCROOT": {"uri": Path(top).as_uri().rstrip("/") + "/"}},
        "invocations": [
            {
                "executionSuccessful": not wrong,
                "toolExecutionNotifications": [
                    *[{"level": "error", "message": {"text": problem}} for problem in wrong],
                    *[{"level": "warning", "message": {"text": line}} for line in syntax_errors(report)],
                ],
            }
        ],
        "results": [
            _result(finding, fingerprint, numbers[finding.code], top)
            for finding, fingerprint in fingerprinted(report, top)
        ],
    }
    return json_text({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: Rule) -> dict[str, Any]:
    summary, _, _ = rule.page.strip().partition("\n")
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": summary},
        "help": {"text": rule.page.strip(), "markdown": rule.page.strip()},
        "defaultConfiguration": {"enabled": rule.default, "level": _LEVELS[rule.severity.value]},
        "properties": {"tags": ["jax", rule.name]},
    }


def _result(finding: Reported, fingerprint: str, number: int, top: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": number,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": _physical(finding.place, top)}],
        "partialFingerprints": {"meshlens/v1": fingerprint},
    }
    if finding.related:
        related = [_location(message, place, top) for message, place in finding.related]
        steps = [*related, _location(finding.message, finding.place, top)]
        result["relatedLocations"] = [{"id": number, **one} for number, one in enumerate(related, start=1)]
        result["codeFlows"] = [{"threadFlows": [{"locations": [{"location": step} for step in steps]}]}]
    if finding.fix is not None and finding.fix.safety == "safe" and not _in_notebook(finding):
        result["fixes"] = [_fix(finding, top)]
    return result


def _fix(finding: Reported, top: str) -> dict[str, Any]:
    assert finding.fix is not None
    by_file: dict[str, list[dict[str, Any]]] = {}
    for place, text in finding.fix.edits:
        replacement = {"deletedRegion": _region(place), "insertedContent": {"text": text}}
        by_file.setdefault(place.path, []).append(replacement)
    changes = [{"artifactLocation": _artifact(path, top), "replacements": edits} for path, edits in by_file.items()]
    return {"description": {"text": finding.fix.title}, "artifactChanges": changes}


def _in_notebook(finding: Reported) -> bool:
    return finding.fix is not None and any(place.cell is not None for place, _ in finding.fix.edits)


def _location(message: str, place: Place, top: str) -> dict[str, Any]:
    return {"message": {"text": message}, "physicalLocation": _physical(place, top)}


def _physical(place: Place, top: str) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(place.path, top)}
    if place.cell is None:
        physical["region"] = _region(place)
    else:
        # A row in a notebook cell is not a row of the file.
        physical["region"] = {"startLine": 1, "properties": {"cell": place.cell, "row": place.start[0]}}
    return physical


def _region(place: Place) -> dict[str, int]:
    return {
        "startLine": place.start[0],
        "startColumn": place.start[1],
        "endLine": place.end[0],
        "endColumn": place.end[1],
    }


def _artifact(path: str, top: str) -> dict[str, str]:
    within = relative(path, top)
    if within.startswith("../") or os.path.isabs(within):
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(within), "uriBaseId": "SRCROOT"}
