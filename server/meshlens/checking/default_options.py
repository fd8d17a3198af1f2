"""Findings about what a program does if nobody passes options to it: at most warnings, which name the options.

The rules judge the records of a run in which options have their defaults, and only what they find beyond the findings
that hold for any options counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from meshlens.axes.domain.values import Const, Seq, Site, Value
from meshlens.axes.runs.records import DEFAULTS
from meshlens.checking.model import Diagnosed, Finding, Related, Severity
from meshlens.checking.registry import Rule
from meshlens.project.solving.solution import Solution
from meshlens.project.view import FileView

_GROUPS = ("AX1", "AX2")
"""The groups of rules about names, meshes, specs, arguments and shapes, which raise errors."""
_OF_DEVICES = "AX301"
"""The rule about the number of devices. It takes this number from the target, so it reports warnings."""
_OF_NUMBERS = "AX4"
"""The group of rules about values and gradients. With more known, they may report a fault at another place."""
_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r'"(\w+)"')
_NUMBER = re.compile(r"^\d+")
_MOST_SHOWN = 3
"""Maximum number of defaults to show if it is unknown which of them matter."""


class _Option(NamedTuple):
    """An option with the place of its default and the words in it."""

    name: str
    site: Site
    words: frozenset[str]


def found_by_default(
    view: FileView,
    rules: Iterable[Rule],
    known: Iterable[Diagnosed],
    run: Callable[[Rule, FileView], Iterator[Diagnosed]],
) -> Iterator[Diagnosed]:
    """Yields the first fault of each rule in a file that only occurs if options have their defaults.

    An error is at most a warning then.

    Args:
        view: the file.
        rules: the rules that run.
        known: the findings for any options.
        run: runs a rule on a view.
    """
    solution = view.defaults() if view.defaults is not None else None
    if solution is None or str(view.path) not in solution.by_file:
        return
    places = {(one.code, one.finding.span.start) for one in known}
    told_of = {code for code, _ in places}
    by_default = replace(view, solution=solution)
    options = _options(solution)
    told: set[_Option | None] = set()
    for rule in rules:
        is_of_numbers = rule.code.startswith(_OF_NUMBERS) and rule.code not in told_of
        is_of_devices = rule.code == _OF_DEVICES
        is_error = rule.code.startswith(_GROUPS) and rule.severity is Severity.ERROR
        if not (is_of_numbers or is_of_devices or is_error):
            continue
        found = [
            one
            for one in run(rule, by_default)
            if (not is_error or one.severity is Severity.ERROR) and (one.code, one.finding.span.start) not in places
        ]
        for one in sorted(found, key=lambda one: one.finding.span)[:1]:
            option = None if is_of_numbers else _option_of(by_default, one.finding, options)
            if option not in told:
                told |= {option} - {None}
                severity = one.severity if one.severity is Severity.HINT else Severity.WARNING
                shown = () if is_of_numbers else options
                softened = replace(_softened(by_default, one.finding, option, shown), severity=severity)
                yield replace(one, severity=severity, finding=softened)


def _options(solution: Solution) -> tuple[_Option, ...]:
    """Returns the options that have their defaults, each with the place of its default."""
    calls = (call for records in solution.by_file.values() for call in records.calls if call.dotted == DEFAULTS)
    given = (arg for call in calls for arg in call.args)
    return tuple(
        dict.fromkeys(
            [_Option(arg.label, arg.site, _words(arg.value)) for arg in given if arg.label and arg.site is not None]
        )
    )


def _words(default: Value) -> frozenset[str]:
    items = default.items if isinstance(default, Seq) else (default,)
    texts = [item.value for item in items if isinstance(item, Const) and isinstance(item.value, str)]
    numbers = [str(item.value) for item in items if isinstance(item, Const) and type(item.value) is int]
    return frozenset([word for text in texts for word in _WORD.findall(text)] + numbers)


def _option_of(view: FileView, finding: Finding, options: tuple[_Option, ...]) -> _Option | None:
    """Returns the option whose default is marked or explains a finding, or else the only one that it quotes from."""
    marked = {(view.path, finding.span), *[(place.path, place.span) for place in finding.related]}
    exact = [one for one in options if (view.path_of(one.site), view.span(one.site)) in marked]
    quoted = _NUMBER.findall(finding.message) or _QUOTED.findall(finding.message)
    about = [one for one in options if not one.words.isdisjoint(quoted[:1])]
    alike = _nearest(view, about or [one for one in options if not one.words.isdisjoint(quoted)])
    return exact[0] if exact else alike[0] if len(alike) == 1 else None


def _nearest(view: FileView, options: Sequence[_Option]) -> Sequence[_Option]:
    """Returns the options that are defined in the viewed file; all options if none are."""
    return [one for one in options if view.is_here(one.site)] or options


def _softened(view: FileView, finding: Finding, option: _Option | None, options: tuple[_Option, ...]) -> Finding:
    """Returns a finding that names the default; marks it, if an option is given whose default is the fault."""
    shown = (option,) if option is not None else _nearest(view, options)[:_MOST_SHOWN]
    defaults = [
        Related(view.path_of(one.site), view.span(one.site), f"the default of {one.name} is set here") for one in shown
    ]
    message = f"with the default {f'of {option.name}' if option is not None else 'options'}, {finding.message}"
    own = {(place.path, place.span) for place in defaults}
    others = [place for place in finding.related if (place.path, place.span) not in own]
    if option is None or not view.is_here(option.site) or len(others) == len(finding.related):
        return Finding(finding.span, message, related=(*defaults, *others))
    used = Related(view.path, finding.span, f"the value of {option.name} is used here")
    return Finding(view.span(option.site), message, related=(used, *others))
