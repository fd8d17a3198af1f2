"""Reads untrusted YAML that is written in a program."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

_MOST_CHARACTERS = 4_000
_MOST_BRACKETS = 100
"""Nested brackets take the library quadratic time."""
_UNBOUNDED = ("&", "*", "!")
"""Characters that may begin anchors, aliases and tags, which can make a short text a huge or a recursive value."""


@lru_cache(maxsize=64)
def parse_yaml(text: str) -> Any:
    """Returns the value of a YAML 1.1 document; None if it is invalid, has many characters or brackets, or anchors.

    PyYAML returns the same, except that it reads numbers such as `1e-3` as texts.

    Args:
        text: the text, with any line endings.
    """
    brackets = text.count("[") + text.count("{")
    if len(text) > _MOST_CHARACTERS or brackets > _MOST_BRACKETS or any(mark in text for mark in _UNBOUNDED):
        return None
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    parser = YAML(typ="safe", pure=True)
    parser.version = (1, 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parser.load(text)
    except (YAMLError, AssertionError, RecursionError, TypeError, ValueError):
        # Besides its own errors, the library raises those of dates, keys and numbers that make no sense.
        return None
