"""Turns the edits of a refactoring, or the obstacle to it, into the answer of an assist."""

from __future__ import annotations

from collections.abc import Callable

from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.model import Answer, Proposal, Refused
from meshlens.text import FileEdit


def offered(title: str, written: Callable[[], tuple[FileEdit, ...]]) -> Answer:
    """Returns a proposal, or a refusal if computing the edits reveals an obstacle.

    Args:
        title: what the refactoring does.
        written: computes the edits; raises `Obstacle` if the refactoring does not apply.
    """
    return offered_with_note(title, lambda: ("", written()))


def offered_with_note(title: str, written: Callable[[], tuple[str, tuple[FileEdit, ...]]]) -> Answer:
    """Returns a proposal, whose title says why the numerical results change if they do, or a refusal.

    Args:
        title: what the refactoring does.
        written: computes the reason, empty if there is none, and the edits; raises `Obstacle` if the refactoring does
            not apply.
    """
    try:
        note, edits = written()
    except Obstacle as obstacle:
        return Refused(title, obstacle.code, obstacle.message)
    return Proposal(f"{title} ({note})" if note else title, lambda: edits, note=note)
