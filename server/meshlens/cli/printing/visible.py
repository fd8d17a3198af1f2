"""Shows text that others wrote, as names of files and devices are, so that it commands no terminal and no log.

Every format for people goes through this; those for programs escape by themselves.
"""

from __future__ import annotations

import logging
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

_R = TypeVar("_R")


def visible(text: str) -> str:
    """Returns the text with each control character as its picture, in as many columns."""
    if text.isprintable():
        return text
    return "".join(picture_of(character) for character in text)


def visible_lines(text: str) -> str:
    """Returns lines with each control character but their ends as its picture."""
    return "\n".join(map(visible, text.split("\n")))


def picture_of(character: str) -> str:
    """Returns the visible form of a character, which is mostly the character itself."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    # Marks that turn the direction of text could show code as what it is not.
    turns = code in (0x61C, 0x200E, 0x200F) or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069
    if turns or 0x80 <= code < 0xA0 or code in (0x2028, 0x2029) or 0xD800 <= code < 0xE000:
        return "\ufffd"
    return character


def visible_fields(record: _R) -> _R:
    """Returns a dataclass with every text in it made visible, in those that it holds too."""
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
    """Writes log lines that can name files."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns the line, or the lines where there is a traceback."""
        return visible_lines(super().format(record))
