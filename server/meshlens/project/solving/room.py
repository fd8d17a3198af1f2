"""Stack space for the recursion of MeshLens's interpreter, whose own limits bound the depth."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

FRAMES = 6_000
"""More frames than needed for the deepest run, of about five hundred nested expressions and statements."""


@contextmanager
def enough_room() -> Iterator[None]:
    """Lets Python nest calls as deeply as a run may need."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
