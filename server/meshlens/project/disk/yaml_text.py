"""Reads untrusted YAML that is written in a program."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

_MOST_CHARACTERS = 4_000
_SLOW = ("&", "*", "!")
"""Characters that may begin anchors, aliases and tags, which can make a short text a huge or a recursive value."""


@lru_cache(maxsize=64)
def parse_yaml(text: str) -> Any:
    """Returns the value of a YAML 1.1 document, as PyYAML reads it; None if it is invalid, long or has anchors.

    Args:
        text: the text, with any line endings.
    """
    if len(text) > _MOST_CHARACTERS or any(mark in text for mark in _SLOW):
        return None
    from ruamel.yaml import YAML

    parser = YAML(typ="safe", pure=True)
    parser.version = (1, 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parser.load(text)
    except Exception:
        return None
