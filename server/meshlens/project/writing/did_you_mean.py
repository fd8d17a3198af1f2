"""Suggests the name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def closest(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name most similar to this one; None if none is similar.

    Names that differ only in case are similar; otherwise about two thirds of the letters must agree.
    """
    candidates = list(known)
    for candidate in candidates:
        if candidate.lower() == name.lower() and candidate != name:
            return candidate
    found = get_close_matches(name, candidates, n=1, cutoff=0.65)
    return found[0] if found else None
