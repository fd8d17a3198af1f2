"""Numbers in messages: "1 entry", "3 entries"."""

from __future__ import annotations


def counted(count: int, one: str, many: str | None = None) -> str:
    """Returns a number with its noun.

    Args:
        count: the number.
        one: the singular.
        many: the plural; by default the singular with an "s".
    """
    return f"{count} {one if count == 1 else many or one + 's'}"
