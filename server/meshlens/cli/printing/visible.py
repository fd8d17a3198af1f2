"""Makes untrusted text, such as names of files and devices, safe for terminals and logs.

Every human-readable format uses this; machine-readable ones have their own escaping.
"""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

_R = TypeVar("_R")


def visible(text: str) -> str:
    """Returns the text with each control character replaced with a visible one of the same width."""
    if text.isprintable():
        return text
    return "".join(picture_of(character) for character in text)


def visible_lines(text: str) -> str:
    """Returns lines with each control character except line endings made visible."""
    return "\n".join(map(visible, text.split("\n")))


def picture_of(character: str) -> str:
    """Returns the visible form of a character, usually the character itself."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    # Characters that change the text direction could misrepresent code.
    turns = code in (0x61C, 0x200E, 0x200F) or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069
    if turns or 0x80 <= code < 0xA0 or code in (0x2028, 0x2029) or 0xD800 <= code < 0xE000:
        return "\ufffd"
    return character


def visible_fields(record: _R) -> _R:
    """Returns a dataclass with all text in it, and in dataclasses nested in it, made visible."""
    assert is_dataclass(record)
    assert not isinstance(record, type)
    changes = {entry.name: _seen(getattr(record, entry.name)) for entry in fields(record)}
    made: _R = replace(record, **changes)
    return made


def _seen(value: object) -> object:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, tuple):
        return tuple(map(_seen, value))
    return visible_fields(value) if is_dataclass(value) and not isinstance(value, type) else value


class VisibleFormatter(logging.Formatter):
    """Formats log lines that may contain file names."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line, or several lines with a traceback."""
        return visible_lines(super().format(record))


def log_to_stderr() -> None:
    """Logs warnings to stderr, one line each; if `MESHLENS_DEBUG` is set, logs all messages."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(VisibleFormatter("meshlens: %(message)s"))
    level = logging.DEBUG if os.environ.get("MESHLENS_DEBUG") else logging.WARNING
    logging.basicConfig(handlers=[handler], level=level)
