"""The registry of rules, which is the folder `rules`: every file in it is one rule.

`check.py` runs the rules.
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
"""The data that a rule reads to judge a place.

"workspace": anything; "places": only the tied records and the code at their places; "tied": also the rest of the blocks
that contain them; "names": also the names in the place's block and the imports.
"""

RuleFunction = Callable[[FileView], Iterable[Finding]]

FIRST = "0.1.0"
"""The first release of every rule that does not name a later release."""

State = Literal["stable", "preview"]
"""The state of a rule: findings of a "stable" rule stay; those of a "preview" rule may change or disappear."""

Mark = tuple[str, Severity, bool, Reads, str, State]

# Filled while the folder is read, and constant afterwards. Needed because compiled functions cannot have attributes.
_MARKS: dict[RuleFunction, Mark] = {}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule.

    Attributes:
        code: its code, such as "AX101".
        name: its name, such as "unbound-axis", for `# meshlens: ignore[…]`.
        severity: the severity of findings that have none of their own.
        run: computes the findings of one file.
        page: the module's docstring, which is the rule's page in Markdown.
        default: whether it runs by default.
        reads: the data that a finding depends on; after an edit the rule runs only on what the edit may affect.
        since: the first release with the rule.
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
    reads: Reads = "workspace",
    since: str = FIRST,
    state: State = "stable",
) -> Callable[[RuleFunction], RuleFunction]:
    """Registers the one public function of a rule's file.

    Args:
        code: the code, "AX" and three digits.
        severity: the severity of its findings.
        default: false for a rule that runs only when selected.
        reads: the data that a finding depends on; a rule that reads less than the workspace takes less time per edit.
        since: the first release with the rule.
        state: "preview" while its findings may still change.
    """

    def mark(function: RuleFunction) -> RuleFunction:
        _MARKS[function] = (code, severity, default, reads, since, state)
        return function

    return mark


@cache
def all_rules() -> tuple[Rule, ...]:
    """Returns every rule in the folder, sorted by code."""
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
