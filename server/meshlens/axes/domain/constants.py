"""Operations on known strings and numbers, computed only if the result stays small."""

from __future__ import annotations

import math
import operator as operators
import re
import sys
from collections.abc import Sequence
from typing import Any

from meshlens.facts.lower.names import MOST_BITS

MOST_TEXT = 10_000
"""Maximum length of a computed string; a literal may be longer."""

_ARITHMETIC = {
    "+": operators.add,
    "-": operators.sub,
    "*": operators.mul,
    "//": operators.floordiv,
    "%": operators.mod,
    "/": operators.truediv,
}
_METHODS = frozenset({"lower", "upper", "strip", "title", "removeprefix", "removesuffix"})
_LONGEST_PATTERN, _MOST_WAYS = 200, 1_000_000
_COSTLY = re.compile(r"\)[*+{]|\(\?(?!:|P<)|\\[0-9]|\[\[|(?<!\\)\{")
"""Parts of patterns that may be slow: repeated groups, lookarounds, back references and nested sets."""
_REPEATED, _ALTERNATIVES = re.compile(r"[*+]"), re.compile(r"[|?]")
_PERCENT = re.compile(r"%%|%[0-9]?[0-9]?[sdi]")
_FIELD = re.compile(r"\{\{|\}\}|\{[A-Za-z0-9_]*(?:![rsa])?(?::[^{}0-9]?[^{}0-9]?[0-9]{0,3}[^{}0-9]?)?\}")


def worked_out(operator: str, left: Any, right: Any) -> Any:
    """Returns the result of an operator on two numbers or strings; None if it is not computed."""
    numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
    texts = isinstance(left, str) and isinstance(right, str) and operator == "+"
    if (not numbers and not texts) or operator not in _ARITHMETIC:
        return None
    if texts and len(left) + len(right) > MOST_TEXT:
        return None
    try:
        result = _ARITHMETIC[operator](left, right)
    except (ArithmeticError, ValueError):
        return None
    return None if isinstance(result, int) and result.bit_length() > MOST_BITS else result


def concatenated(parts: Sequence[Any]) -> str | None:
    """Returns the concatenated text of the given constants; None if it gets too long."""
    texts = [str(part) for part in parts]
    return "".join(texts) if sum(map(len, texts)) <= MOST_TEXT else None


def text_of_method(text: str, name: str, given: Sequence[Any]) -> str | None:
    """Returns the result of a string method that returns a string; None if it is too long or unknown."""
    if len(text) > MOST_TEXT:
        return None
    try:
        if name in _METHODS:
            found = getattr(text, name)(*given)
        elif name == "replace":
            found = text.replace(*given) if _fits_replaced(text, given) else None
        elif name == "format":
            found = text.format(*given) if _fits_formatted(text, given) else None
        else:
            return None
    except (TypeError, ValueError, IndexError, KeyError, OverflowError):
        return None
    return found if isinstance(found, str) else None


def formatted(text: str, values: Sequence[Any]) -> str | None:
    """Returns the result of `text % values`; None if it is too long, or has other fields than plain `%s` and `%d`."""
    fields = [field for field in _PERCENT.findall(text) if field != "%%"]
    if len(text) > MOST_TEXT or "%" in _PERCENT.sub("", text) or len(fields) != len(values):
        return None
    if sum(len(str(value)) for value in values) > MOST_TEXT:
        return None
    try:
        return text % tuple(values)
    except (TypeError, ValueError):
        return None


def tested(text: str, name: str, given: Sequence[Any]) -> bool | None:
    """Returns the result of `startswith` or `endswith` on a string; None if it is unknown."""
    if name not in ("startswith", "endswith") or len(given) != 1 or not isinstance(given[0], str):
        return None
    return bool(getattr(text, name)(given[0]))


def joined(separator: str, parts: Sequence[Any]) -> str | None:
    """Returns the result of `join`; None if a part is not a string or the result gets too long."""
    if not all(isinstance(part, str) for part in parts):
        return None
    return concatenated([text for part in parts for text in (separator, part)][1:])


def matched(how: str, pattern: str, text: str) -> dict[str, str | None] | None:
    """Returns what the groups of a pattern match in a string, by number and name; the whole is group 0.

    The result is empty if nothing matches, and None if the pattern is not simple enough to try.

    Args:
        how: "search", "match" or "fullmatch".
        pattern: the pattern, which is not trusted.
        text: the text.
    """
    if len(pattern) > _LONGEST_PATTERN or len(text) > _LONGEST_PATTERN or _COSTLY.search(pattern):
        return None
    # A quantifier may end at any character, and alternatives, which are slower, may be tried at every character.
    alternatives = len(_ALTERNATIVES.findall(pattern))
    ways = len(text) ** (1 + len(_REPEATED.findall(pattern))) << (alternatives + 5 if alternatives else 0)
    if ways > _MOST_WAYS:
        return None
    try:
        found = getattr(re, how)(pattern, text)
    except re.error:
        return None
    if found is None:
        return {}
    numbered = {str(place + 1): group for place, group in enumerate(found.groups())}
    return {"0": found.group(), **numbered, **found.groupdict()}


def parts_of(text: str, given: Sequence[Any]) -> list[str] | None:
    """Returns the result of `split` on a string; None if it is not computed."""
    if len(text) > MOST_TEXT:
        return None
    try:
        return text.split(*given)
    except (TypeError, ValueError, OverflowError):
        return None


def counted(turns: range) -> int:
    """Returns the length of a range, capped at `sys.maxsize`."""
    try:
        return len(turns)
    except OverflowError:
        return sys.maxsize


def as_size(number: float) -> int | None:
    """Returns the number of steps of 1 from 0 to a number; None if it is NaN or infinite."""
    try:
        return max(math.ceil(number), 0)
    except (ValueError, OverflowError):
        return None


def _fits_replaced(text: str, given: Sequence[Any]) -> bool:
    if len(given) < 2 or not all(isinstance(part, str) for part in given[:2]):
        return False
    return len(text) + (text.count(given[0]) * len(given[1])) <= MOST_TEXT


def _fits_formatted(text: str, given: Sequence[Any]) -> bool:
    """Returns whether a format's fields are plain and narrow, so that the result stays short."""
    fields = len(_FIELD.findall(text))
    rest = _FIELD.sub("", text)
    if "{" in rest or "}" in rest:
        return False
    longest = max([len(str(part)) for part in given], default=0)
    return len(text) + fields * (longest + 1_000) <= 100 * MOST_TEXT and len(text) + fields * longest <= MOST_TEXT
