"""Findings and reports made by hand, for tests of how they are printed."""

from __future__ import annotations

from meshlens.cli.printing.report import Place, Report, Reported


def reported(message="m", start=(3, 5), end=(3, 9), related=(), fix=None, severity="error"):
    return Reported("AX101", "unbound-axis", severity, message, Place("/p/a.py", None, start, end), fix, related)


def report_of(*findings, text=""):
    return Report(findings, 1, lambda path, cell: text.split("\n"))
