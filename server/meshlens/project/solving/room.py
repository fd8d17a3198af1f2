"""Room on the stack for what the interpreter may work out inside each other; its own limits are what bounds it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

FRAMES = 6_000
"""More than the deepest run needs: some five hundred expressions and statements inside each other."""


@contextmanager
def enough_room() -> Iterator[None]:
    """Lets Python nest calls as deep as a run may need."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
