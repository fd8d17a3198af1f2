"""Resolves the value "detected" of the setting `devices` on the command line.

A configuration file alone starts nothing, so that checking someone else's project does not run its Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from meshlens.caches.folder import OpenCache
from meshlens.settings import Settings


def with_detected(
    settings: Settings, root: Path, options: Mapping[str, Any], open_cache: OpenCache
) -> tuple[Settings, str | None]:
    """Returns the settings, with "detected" replaced by the detected devices, and a message if detection failed.

    With `--devices detected`, the project's Python is queried; if only the configuration has that value, the last
    result of `meshlens devices` is used, if there is one.

    Args:
        settings: the settings of a project, with the command-line options applied.
        root: the folder of the project.
        options: the settings fields given on the command line.
        open_cache: returns the caches of a project.
    """
    if settings.devices != "detected":
        return settings, None
    from meshlens.devices.interpreters import Wishes, choose_interpreter
    from meshlens.devices.reports import kept_report, report_of
    from meshlens.devices.runner import Question
    from meshlens.devices.topology import topology_of

    asked = options.get("devices") == "detected"
    chosen = choose_interpreter(root, Wishes(settings.interpreter, settings.folder))
    if chosen is None:
        return settings, 'found no Python to detect devices with; set "interpreter"' if asked else None
    question = Question(chosen.path)
    cache = open_cache(root)
    report = report_of(question, cache) if asked else kept_report(question, cache)
    if report is None:
        return settings, None
    if report.failure is not None:
        return settings, f"devices were not detected: {report.failure}" if asked else None
    return replace(settings, devices=topology_of(report) or settings.devices), None
