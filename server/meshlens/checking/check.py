"""Runs the selected rules over one view; if a rule crashes, only its own findings are lost."""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.checking.check_again import found_again
from meshlens.checking.default_options import found_by_default
from meshlens.checking.kept_findings import checked
from meshlens.checking.model import Diagnosed
from meshlens.checking.registry import Rule, all_rules
from meshlens.checking.select import muted_codes, selected_rules
from meshlens.checking.suppress import Silencers, checked_view, idle_comments
from meshlens.project.failures import failure_of
from meshlens.project.view import FileView
from meshlens.settings import Settings

__all__ = ["Diagnosed", "check"]

UNUSED_IGNORE = "AX901"
_FILES_REMEMBERED = 12


def check(view: FileView, settings: Settings) -> tuple[Diagnosed, ...]:
    """Returns the findings of the selected rules in one file, sorted and unique, without those silenced by comments.

    Args:
        view: the file.
        settings: the settings that select the rules.
    """
    muted = muted_codes(view.path, settings)
    rules = [rule for rule in selected_rules(settings) if rule.code not in muted]
    ran = {rule.code for rule in rules}
    found: dict[tuple[object, ...], Diagnosed] = {}
    by_code = {rule.code: rule for rule in rules}
    silencers = Silencers(view.facts.suppressions, view.lines)
    others = tuple(rule for rule in rules if rule.code != UNUSED_IGNORE)
    every = _all(view, settings, others)
    for one in (*every, *found_by_default(view, others, every, _guarded)):
        if not silencers.silences(one.finding.span, by_code[one.code]):
            found.setdefault((one.finding.span, one.code, one.finding.message), one)
    if UNUSED_IGNORE in ran and view.facts.suppressions:
        idle = idle_comments(view, silencers.used, all_rules(), ran)
        checked = checked_view(view, idle)
        for rule in rules:
            if rule.code == UNUSED_IGNORE and idle:
                for one in _guarded(rule, checked):
                    if not silencers.names(one.finding.span, rule):
                        found.setdefault((one.finding.span, one.code, one.finding.message), one)
    return tuple(sorted(found.values(), key=lambda one: (one.finding.span, one.code, one.finding.message)))


def _all(view: FileView, settings: Settings, rules: tuple[Rule, ...]) -> tuple[Diagnosed, ...]:
    """Returns all findings, including silenced ones; after an edit, computes only those that may have changed."""
    memory = view.solution.checked
    before = memory.get((view.path, settings))
    now = next((one for one in before.earlier if one.is_of(view)), None) if before is not None else None
    if now is None and before is not None:
        now = found_again(before, view, rules, _guarded)
    if now is None:
        now = checked(view, tuple([one for rule in rules for one in _guarded(rule, view)]), None)
    memory.pop((view.path, settings), None)
    if before is None or before.results is not view.solution.results:
        # Each entry keeps all results of its state in memory.
        for key in [key for key, one in memory.items() if not one.may_help(key[0], view.solution)]:
            del memory[key]
    while len(memory) >= _FILES_REMEMBERED:
        del memory[next(iter(memory))]
    memory[(view.path, settings)] = now.behind(before, view.solution)
    return now.found


def _guarded(rule: Rule, view: FileView) -> Iterator[Diagnosed]:
    try:
        for finding in rule.run(view):
            yield Diagnosed(view.path, rule.code, rule.name, finding.severity or rule.severity, finding)
    except Exception as error:  # A failing rule must not affect the others.
        path = str(view.path)
        view.solution.failures[(path, f"<{rule.code}>")] = failure_of(path, f"rule {rule.code}", error)
