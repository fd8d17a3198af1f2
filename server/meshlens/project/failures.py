"""Internal errors: each affects only the work in which it occurs, and is reported in one line."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from meshlens.axes.runs.records import Records
from meshlens.axes.runs.roots import RootResult

if TYPE_CHECKING:
    from meshlens.project.solving.solution import RootKey, Solution

_log = logging.getLogger("meshlens")


@dataclass(frozen=True, slots=True)
class Failure:
    """An internal error.

    Attributes:
        path: the file that was being processed.
        what: the part that failed, such as a rule or the run of a function.
        why: the exception.
    """

    path: str
    what: str
    why: str

    def line(self, shown: str) -> str:
        """Returns the line shown to users.

        Args:
            shown: the file as the user wrote it.
        """
        return f"{shown}: {self.what} failed ({self.why}); everything else was checked; please report this"


def failure_of(path: str, what: str, error: BaseException) -> Failure:
    """Returns the failure for an exception."""
    _log.debug("%s: %s failed", path, what, exc_info=error)
    said = " ".join(str(error).split())[:200]
    return Failure(path, what, f"{type(error).__name__}: {said}" if said else type(error).__name__)


def contained(solution: Solution, key: RootKey, run: Callable[[], RootResult]) -> RootResult:
    """Returns the result of a root; if its run fails, notes the failure and returns an empty result.

    Args:
        solution: the solution that contains the root.
        key: the root.
        run: runs the root.
    """
    try:
        return run()
    except Exception as error:
        path, name = key
        what = f"following axis names from {name}" if name else "following axis names"
        solution.failures[key] = failure_of(path, what, error)
        return RootResult(Records(), frozenset(), frozenset(), frozenset())
