"""The nouns of checking: a finding, its fixes and the places that explain it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

from meshlens.text import FileEdit, Span


class Severity(str, Enum):
    """How sure and how grave: near-certain bugs, silent numeric bugs, matters of taste."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


Safety = Literal["safe", "unsafe", "suggestion"]


@dataclass(frozen=True, slots=True)
class Fix:
    """One way to repair a finding.

    Attributes:
        title: what the fix does, in the imperative, lower case.
        edits: all edits, of any file; they do not overlap.
        safety: "safe" when the program can only become what was meant; "unsafe" when its meaning may
            change; "suggestion" when it needs a person to finish it.
        why: for a fix that is not safe, one line that says why.
    """

    title: str
    edits: tuple[FileEdit, ...]
    safety: Safety = "safe"
    why: str = ""


@dataclass(frozen=True, slots=True)
class Related:
    """A place that explains a finding: a step of the route, the binder, the mesh."""

    path: Path
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a rule in the file that the rule was asked about.

    Attributes:
        span: bytes of the file that are underlined.
        message: lower case, exact, names both ends.
        fixes: the best one first.
        related: places that explain it, in the order in which the program reaches them.
        severity: set only where one finding is graver or milder than its rule's level.
        unused: true where the span is text that has no effect, so that an editor can fade it.
    """

    span: Span
    message: str
    fixes: tuple[Fix, ...] = ()
    related: tuple[Related, ...] = ()
    severity: Severity | None = None
    unused: bool = False


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
