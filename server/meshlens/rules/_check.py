"""Runs the selected rules over one view; a rule that crashes costs only its own findings."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from meshlens.project.view import FileView
from meshlens.rules._model import Finding, Severity
from meshlens.rules._registry import Rule, all_rules
from meshlens.rules._select import muted_codes, selected_rules
from meshlens.rules._suppress import checked_view, idle_comments, silenced_by
from meshlens.settings import Settings

UNUSED_IGNORE = "AX901"

_log = logging.getLogger("meshlens")


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """A finding with the rule it comes from.

    Attributes:
        path: the file.
        code, name: the rule.
        severity: the finding's own level, or the rule's.
        finding: the finding.
    """

    path: Path
    code: str
    name: str
    severity: Severity
    finding: Finding


def check(view: FileView, settings: Settings) -> tuple[Diagnosed, ...]:
    """What the selected rules find in one file, by position and code, each once, without what comments silence.

    Args:
        view: the file.
        settings: which rules run.
    """
    muted = muted_codes(view.path, settings)
    rules = [rule for rule in selected_rules(settings) if rule.code not in muted]
    ran = {rule.code for rule in rules}
    used: set[tuple[int, str]] = set()
    found: dict[tuple[object, ...], Diagnosed] = {}
    for rule in rules:
        if rule.code == UNUSED_IGNORE:
            continue
        for one in _guarded(rule, view):
            by = silenced_by(view.facts.suppressions, view.lines, one.finding.span, rule)
            used.update(by)
            if not by:
                found.setdefault((one.finding.span, one.code, one.finding.message), one)
    if UNUSED_IGNORE in ran and view.facts.suppressions:
        idle = idle_comments(view, used, all_rules(), ran)
        checked = checked_view(view, idle)
        for rule in rules:
            if rule.code == UNUSED_IGNORE and idle:
                for one in _guarded(rule, checked):
                    by = silenced_by(view.facts.suppressions, view.lines, one.finding.span, rule)
                    if not any(code for _, code in by):
                        found.setdefault((one.finding.span, one.code, one.finding.message), one)
    return tuple(sorted(found.values(), key=lambda one: (one.finding.span, one.code, one.finding.message)))


def _guarded(rule: Rule, view: FileView) -> Iterator[Diagnosed]:
    try:
        for finding in rule.run(view):
            yield Diagnosed(view.path, rule.code, rule.name, finding.severity or rule.severity, finding)
    except RecursionError:
        _log.warning("%s: %s gave up: nested too deeply", view.path, rule.code)
    except Exception as error:  # a rule must not cost the others
        _log.warning("%s: %s crashed: %s: %s", view.path, rule.code, type(error).__name__, error)
        _log.debug("%s crashed", rule.code, exc_info=True)
