"""Suggests the name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that looks most like this one, None if none does.

    Names that differ only in case are alike; beyond that two thirds of the letters must agree.
    """
    candidates = list(known)
    for candidate in candidates:
        if candidate.lower() == name.lower() and candidate != name:
            return candidate
    found = get_close_matches(name, candidates, n=1, cutoff=0.65)
    return found[0] if found else None
