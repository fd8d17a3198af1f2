"""Parses untrusted TOML: returns a table, or one sentence that explains why there is none."""

from __future__ import annotations

import re
import sys
from typing import Any, TypeAlias

from meshlens.foreign_files import Unread

Table: TypeAlias = dict[str, Any]

_MOST_PARTS = 100
_MANY_PARTS = re.compile(rf"(?<![\w\-.\"'])(?:(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*\.[ \t]*){{{_MOST_PARTS}}}")
"""Matches a key with too many parts: for it and each key below it, the library takes quadratic time."""


def parse_toml(text: str) -> Table | Unread:
    """Returns the contents of a TOML text.

    Args:
        text: the text, with any line endings.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if _MANY_PARTS.search(text) is not None:
        return Unread(f"a key has more than {_MOST_PARTS} parts; use fewer nested tables")
    try:
        return tomllib.loads(text)
    except RecursionError:
        return Unread("its values are nested too deeply; use fewer nested brackets")
    except tomllib.TOMLDecodeError as error:
        return Unread(_first_line(error))
    except ValueError:
        # Python does not convert numbers with thousands of digits.
        return Unread("a number in it has too many digits; use a smaller one")


def _first_line(error: ValueError) -> str:
    text = str(error).splitlines()[0] if str(error) else "not TOML"
    return text[:1].lower() + text[1:]
