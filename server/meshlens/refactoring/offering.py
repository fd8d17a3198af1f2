"""Turns the edits of a refactoring, or the obstacle to it, into the answer of an assist."""

from __future__ import annotations

from collections.abc import Callable

from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.model import Answer, Proposal, Refused
from meshlens.text import FileEdit


def offered(title: str, written: Callable[[], tuple[FileEdit, ...]]) -> Answer:
    """Returns a proposal with its edits, which are computed now because only they reveal obstacles.

    Args:
        title: what the refactoring does.
        written: computes the edits; raises `Obstacle` if the refactoring does not apply.
    """
    return offered_as(title, lambda: (title, written()))


def offered_as(title: str, written: Callable[[], tuple[str, tuple[FileEdit, ...]]]) -> Answer:
    """Returns a proposal whose title is computed with the edits.

    Args:
        title: the title of a refusal.
        written: computes the title and the edits; raises `Obstacle` if the refactoring does not apply.
    """
    try:
        said, edits = written()
    except Obstacle as obstacle:
        return Refused(title, obstacle.code, obstacle.message)
    return Proposal(said, lambda: edits)
