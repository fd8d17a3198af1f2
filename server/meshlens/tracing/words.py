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
    """Returns a time in words, such as "2.24 ms", without exponents; an empty string for None."""
    if seconds is None:
        return ""
    if 0 < seconds < 1e-9:
        return "< 1 ns"
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs"), (1e9, "ns")):
        if seconds * factor >= 0.9995:
            many = seconds * factor
            return f"{many:.0f} {unit}" if many >= 1000 else f"{many:.3g} {unit}"
    return "0 s"


def least_in_words(seconds: float | None) -> str:
    """Returns a lower bound on a time in words, such as "at least 2.24 ms"; a bound of less than 1 ns says little."""
    words = time_in_words(seconds)
    return words if words.startswith("<") else f"at least {words}"
