"""One module per output format; each converts a report to text."""

from __future__ import annotations

from importlib import import_module

from meshlens.cli.printing.report import Report

NAMES = ("full", "concise", "json", "github", "gitlab", "sarif", "junit")


def render(name: str, report: Report) -> str:
    """Returns the report as text in the named format."""
    module = import_module(f"meshlens.cli.formats.as_{name}")
    text: str = module.render(report)
    return text
