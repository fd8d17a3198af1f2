"""The data model of checking: a finding, its fixes and the places that explain it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Literal

from meshlens.text import FileEdit, Span


class Severity(str, Enum):
    """The severity of a finding: near-certain bugs, likely bugs, and possible bugs or matters of style."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


Safety = Literal["safe", "unsafe", "suggestion"]


@dataclass(frozen=True, slots=True)
class Fix:
    """A way to repair a finding.

    Attributes:
        title: the effect of the fix, in the imperative and lower case.
        edits: all edits, of any file; they do not overlap.
        safety: "safe" if the result is certainly what was intended; "unsafe" if its meaning may change; "suggestion"
            if a person has to finish it.
        why: for an unsafe fix, the reason in one line.
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
    """A result of a rule in the file that is checked.

    Attributes:
        span: the marked bytes of the file.
        message: the message, in lower case; it is exact and names both sides of a conflict.
        fixes: the best one first.
        related: places that explain it, in the order in which the program reaches them.
        severity: set only if it differs from the rule's severity.
        unused: whether the span is text without effect, which an editor can fade.
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
        severity: the finding's own severity, or the rule's.
        finding: the finding.
    """

    path: Path
    code: str
    name: str
    severity: Severity
    finding: Finding
