"""The last lines of the output, with the numbers of findings and fixes, and the table of `--statistics`."""

from __future__ import annotations

import json
from collections import Counter

from meshlens.cli.printing.report import Report
from meshlens.cli.printing.visible import visible

_PLURALS = {"error": "errors", "warning": "warnings", "hint": "hints"}
_MOST_NAMED = 5


def summary(report: Report) -> str:
    """Returns the numbers of findings and of fixable findings, in words."""
    lines = []
    fixed = sum(report.fixed.values())
    whole = report.files - report.unread - len(report.unparsed)
    if fixed:
        lines.append(f"Fixed {_count(fixed, 'finding', 'findings')}.")
    if report.findings:
        found = Counter(finding.severity for finding in report.findings)
        parts = [_count(found[level], level, plural) for level, plural in _PLURALS.items() if found[level]]
        lines.append(f"Found {', '.join(parts)}.{_fixable(report)}")
    elif whole > 0:
        lines.append(f"Nothing to report in {_count(whole, 'file', 'files')}.")
    elif report.unparsed:
        lines.append("Nothing was found, but no file was checked in full.")
    elif report.files or report.problems:
        lines.append("Nothing was checked.")
    else:
        lines.append("There was nothing to check.")
    if report.baselined:
        lines.append(f"{_count(report.baselined, 'finding is', 'findings are')} in the baseline.")
    lines += [*report.notes, *syntax_errors(report)]
    return "\n".join(lines) + "\n"


def syntax_errors(report: Report) -> list[str]:
    """Returns a line for each of the first few files with syntax errors, and a line that counts the others, if any."""
    lines = [f"{visible(one.line)}." for one in report.unparsed[:_MOST_NAMED]]
    more = len(report.unparsed) - len(lines)
    return [*lines, f"{_count(more, 'more file has', 'more files have')} syntax errors."] if more else lines


def _fixable(report: Report) -> str:
    safe = sum(finding.fix is not None and finding.fix.safety == "safe" for finding in report.findings)
    unsafe = sum(finding.fix is not None and finding.fix.safety == "unsafe" for finding in report.findings)
    parts = []
    if safe:
        parts.append(f"{safe} fixable with --fix")
    if unsafe:
        parts.append(f"{unsafe} more with --unsafe-fixes" if safe else f"{unsafe} fixable with --fix --unsafe-fixes")
    return f" {', '.join(parts)}." if parts else ""


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def statistics(report: Report, *, as_json: bool) -> str:
    """Returns the number of findings per rule, most frequent first."""
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    fixable = {finding.code for finding in report.findings if finding.fix is not None and finding.fix.safety == "safe"}
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    if as_json:
        data = [
            {"code": code, "name": name, "count": count, "fixable": code in fixable} for (code, name), count in rows
        ]
        return json.dumps(data, indent=2) + "\n"
    width = max((len(f"{count:,}") for _, count in rows), default=1)
    lines = [f"{count:>{width},}  {code} {'[*]' if code in fixable else '[ ]'} {name}" for (code, name), count in rows]
    return "".join(f"{line}\n" for line in lines) + summary(report)
