"""Turns the edits of a refactoring, or the obstacle to it, into the answer of an assist."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.model import Answer, Proposal, Refused
from meshlens.text import FileEdit


def offered(title: str, written: Callable[[], tuple[FileEdit, ...]]) -> Answer:
    """Returns a proposal, or a refusal if computing the edits reveals an obstacle.

    Args:
        title: what the refactoring does.
        written: computes the edits; raises `Obstacle` if the refactoring does not apply.
    """
    return offered_with_note(title, lambda: (Remarks(), written()))


class Remarks(NamedTuple):
    """The `note` and the `caveat` of a proposal."""

    note: str = ""
    caveat: str = ""


def offered_with_note(title: str, written: Callable[[], tuple[Remarks, tuple[FileEdit, ...]]]) -> Answer:
    """Returns a proposal, whose title says why the numerical results change if they do, or a refusal.

    Args:
        title: what the refactoring does.
        written: computes the remarks and the edits; raises `Obstacle` if the refactoring does not apply.
    """
    try:
        (note, caveat), edits = written()
    except Obstacle as obstacle:
        return Refused(title, obstacle.code, obstacle.message)
    return Proposal(f"{title} ({note})" if note else title, lambda: edits, note=note, caveat=caveat)
