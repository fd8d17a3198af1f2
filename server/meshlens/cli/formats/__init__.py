"""One file for each output format; each turns a report into text."""

from __future__ import annotations

from importlib import import_module

from meshlens.cli.printing.report import Report

NAMES = ("full", "concise", "json", "github", "gitlab", "sarif", "junit")


def render(name: str, report: Report) -> str:
    """The report in one of the formats that machines read, or in the concise one."""
    module = import_module(f"meshlens.cli.formats.as_{name}")
    text: str = module.render(report)
    return text
