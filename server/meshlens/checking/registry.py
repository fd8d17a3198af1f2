"""The registry of rules is their folder: every file of `rules` is one rule.

Does not run anything by itself; `check.py` does.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

from meshlens.checking.model import Finding, Severity
from meshlens.project.view import FileView

Reads = Literal["places", "tied", "names", "workspace"]
"""What a rule reads to judge a place: "places", the records that are tied to it and what is written where they lie;
"tied", also the rest of the blocks in which they lie; "names", also the names that its block and the imports spell;
"workspace", more than that."""

RuleFunction = Callable[[FileView], Iterable[Finding]]

FIRST = "0.1.0"
"""The release that brought every rule which does not name a later one."""

State = Literal["stable", "preview"]
"""The state of a rule: the findings of a "stable" one stay; those of a "preview" may still change or go."""

Mark = tuple[str, Severity, bool, Reads, str, State]

# Grows while the folder is read, and never after; a compiled function cannot be marked itself.
_MARKS: dict[RuleFunction, Mark] = {}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as users know it.

    Attributes:
        code: "AX101".
        name: "unbound-axis"; what `# meshlens: ignore[…]` takes.
        severity: the level of its findings unless a finding says otherwise.
        run: computes the findings of one file.
        page: the module's docstring, which is the rule's page in Markdown.
        default: whether it runs when nothing is selected.
        reads: what a finding rests on; after an edit the rule runs only on what the edit may concern.
        since: the release that brought it.
        state: whether its findings may still change.
    """

    code: str
    name: str
    severity: Severity
    run: RuleFunction
    page: str
    default: bool
    reads: Reads
    since: str
    state: State


def rule(
    code: str,
    severity: Severity,
    *,
    default: bool = True,
    reads: Reads = "tied",
    since: str = FIRST,
    state: State = "stable",
) -> Callable[[RuleFunction], RuleFunction]:
    """Marks the one public function of a rule's file.

    Args:
        code: "AX" and three digits.
        severity: the level of its findings.
        default: false for a rule that runs only when selected.
        reads: what a finding rests on.
        since: the release that brings it.
        state: "preview" while its findings may still change.
    """

    def mark(function: RuleFunction) -> RuleFunction:
        _MARKS[function] = (code, severity, default, reads, since, state)
        return function

    return mark


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule of the folder, by code."""
    return tuple(sorted(_load(), key=lambda found: found.code))


def _load() -> Iterator[Rule]:
    package = importlib.import_module("meshlens.rules")
    for module_info in pkgutil.iter_modules(package.__path__):
        if module_info.ispkg:
            continue
        module = importlib.import_module(f"{package.__name__}.{module_info.name}")
        function = getattr(module, module_info.name)
        code, severity, default, reads, since, state = _MARKS[function]
        name, page = module_info.name.replace("_", "-"), module.__doc__ or ""
        yield Rule(code, name, severity, function, page, default, reads, since, state)
