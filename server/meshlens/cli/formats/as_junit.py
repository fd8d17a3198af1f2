"""JUnit XML: a suite for each file, a failed test for each finding."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from meshlens.cli.formats.as_concise import where
from meshlens.cli.printing.report import Report, Reported

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """Returns the findings as a JUnit report; a run without findings is one passed test."""
    found = len(report.findings)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites name="meshlens" tests="{max(found, 1)}" failures="{found}" errors="0">',
    ]
    for _, findings in groupby(report.findings, key=lambda finding: finding.place.path):
        lines += _suite(list(findings))
    if not found:
        lines += [
            '    <testsuite name="meshlens" tests="1" failures="0" errors="0" skipped="0">',
            '        <testcase name="no findings" classname="meshlens"/>',
            "    </testsuite>",
        ]
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _suite(findings: list[Reported]) -> Iterable[str]:
    place = findings[0].place
    count = len(findings)
    yield f'    <testsuite name={_attribute(place.shown)} tests="{count}" failures="{count}" errors="0" skipped="0">'
    for finding in findings:
        row, column = finding.place.start
        classname = re.sub(r"\.(py|ipynb)$", "", place.shown).replace("\\", "/")
        name = f"{finding.code} {finding.name} ({where(finding.place)})"
        yield (
            f"        <testcase name={_attribute(name)} classname={_attribute(classname)} "
            f'file={_attribute(place.shown)} line="{row}" column="{column}">'
        )
        related = [f"{where(at)}: {message}" for message, at in finding.related]
        text = "\n".join([f"{where(finding.place)}: {finding.message}", *related])
        yield (
            f"            <failure type={_attribute(finding.severity)} "
            f"message={_attribute(finding.message)}>{escape(_clean(text))}</failure>"
        )
        yield "        </testcase>"
    yield "    </testsuite>"


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _attribute(text: str) -> str:
    return quoteattr(_clean(text), {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})
