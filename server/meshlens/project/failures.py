"""Faults of our own: each costs what it happened in, is named in one line, and leaves the rest as it is."""

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
    """Something of ours that failed.

    Attributes:
        path: the file that it was about.
        what: what failed, such as a rule or the run of a function.
        why: the exception.
    """

    path: str
    what: str
    why: str

    def line(self, shown: str) -> str:
        """Returns what users are told.

        Args:
            shown: the file as they write it.
        """
        return f"{shown}: {self.what} failed ({self.why}); everything else was checked; please report this"


def failure_of(path: str, what: str, error: BaseException) -> Failure:
    """The failure that an exception is."""
    _log.debug("%s: %s failed", path, what, exc_info=error)
    said = " ".join(str(error).split())[:200]
    return Failure(path, what, f"{type(error).__name__}: {said}" if said else type(error).__name__)


def contained(solution: Solution, key: RootKey, run: Callable[[], RootResult]) -> RootResult:
    """The result of a root; an empty one if its run fails, which is noted.

    Args:
        solution: the solution that the root is a part of.
        key: the root.
        run: runs it.
    """
    try:
        return run()
    except Exception as error:
        path, name = key
        what = f"following axis names from {name}" if name else "following axis names"
        solution.failures[key] = failure_of(path, what, error)
        return RootResult(Records(), frozenset(), frozenset(), frozenset())
