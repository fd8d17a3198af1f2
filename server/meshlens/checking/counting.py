"""Numbers in messages: "1 entry", "3 entries"."""

from __future__ import annotations


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    Args:
        count: how many.
        one: the noun for one of them.
        many: the noun for several; the first with an "s" if left out.
    """
    return f"{count} {one if count == 1 else many or one + 's'}"
