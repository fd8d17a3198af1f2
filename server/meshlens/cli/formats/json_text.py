"""JSON that is safe on a terminal: control characters are escaped in a way that JSON parsers undo."""

from __future__ import annotations

import json
import re
from typing import Any

from meshlens.cli.printing.visible import picture_of

_OTHER_THAN_ASCII = re.compile(r"[^\x00-\x7e]")


def json_text(data: Any) -> str:
    """Returns the data as JSON on several lines."""
    return _OTHER_THAN_ASCII.sub(_escaped, json.dumps(data, indent=2, ensure_ascii=False)) + "\n"


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    return character if picture_of(character) == character else f"\\u{ord(character):04x}"
