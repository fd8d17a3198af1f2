"""Bytes and times in words."""

from __future__ import annotations


def size_in_words(size: float) -> str:
    """Returns a number of bytes in words, such as "64.0 MiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return ""


def time_in_words(seconds: float | None) -> str:
    """Returns a time in words, such as "2.24 ms"; an empty string for None."""
    if seconds is None:
        return ""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1 or unit == "µs":
            return f"{seconds * factor:.3g} {unit}"
    return ""
