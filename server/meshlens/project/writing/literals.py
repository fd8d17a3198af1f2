"""String literals in source: recognizing them, and replacing their contents."""

from __future__ import annotations

import re

_LITERAL = re.compile(r"([rRuU]?)('''|\"\"\"|'|\")(.*)\2", re.DOTALL)


def is_string(text: str) -> bool:
    """Returns whether source text is one string literal without escapes."""
    return _parts(text) is not None


def rewritten(text: str, name: str) -> str | None:
    """Returns a string literal with new contents but its original prefix and quotes.

    Args:
        text: the source of an expression.
        name: the new name, without line breaks.

    Returns:
        The literal; None if the text is not a single plain literal but, for example, a concatenation, an f-string or a
        literal with escapes, or if this kind of literal cannot contain the name.
    """
    parts = _parts(text)
    if parts is None:
        return None
    prefix, quotes = parts
    quote = quotes[0]
    if "r" in prefix.lower():
        return None if quote in name or "\\" in name else f"{prefix}{quotes}{name}{quotes}"
    escaped = name.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    return f"{prefix}{quotes}{escaped}{quotes}"


def _parts(text: str) -> tuple[str, str] | None:
    match = _LITERAL.fullmatch(text)
    if match is None or match[2][0] in match[3] or "\\" in match[3]:
        return None
    return match[1], match[2]
