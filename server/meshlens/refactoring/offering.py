"""Turns what a refactoring writes, or what stands in its way, into the answer of an assist."""

from __future__ import annotations

from collections.abc import Callable

from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.model import Answer, Proposal, Refused
from meshlens.text import FileEdit


def offered(title: str, written: Callable[[], tuple[FileEdit, ...]]) -> Answer:
    """A proposal with the edits, which are worked out at once: only they show whether something stands in the way.

    Args:
        title: what the refactoring does.
        written: works out its edits; raises `Obstacle` where it must not be done.
    """
    return offered_as(title, lambda: (title, written()))


def offered_as(title: str, written: Callable[[], tuple[str, tuple[FileEdit, ...]]]) -> Answer:
    """A proposal whose title says more of what the refactoring does than could be known before.

    Args:
        title: what it does, where it is refused.
        written: works out the title and the edits; raises `Obstacle` where it must not be done.
    """
    try:
        said, edits = written()
    except Obstacle as obstacle:
        return Refused(title, obstacle.code, obstacle.message)
    return Proposal(said, lambda: edits)
