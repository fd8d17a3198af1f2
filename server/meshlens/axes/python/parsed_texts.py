"""Settings that a program reads from a text that is written in it, as JSON or TOML."""

from __future__ import annotations

import json

from meshlens.axes.domain.values import UNKNOWN, Const, Dict, Seq, Value
from meshlens.axes.runs.run import Run

PARSERS = frozenset({"json.loads", "tomllib.loads", "tomli.loads"})
_MOST_CHARACTERS = 20_000


def parsed(run: Run, name: str, text: Value) -> Value:
    """Returns what a parser makes of a known text; an unknown value for any other text, and for an invalid one.

    Args:
        run: the run.
        name: the parser, such as `tomllib.loads`.
        text: its argument.
    """
    if not isinstance(text, Const) or type(text.value) is not str or len(text.value) > _MOST_CHARACTERS:
        return UNKNOWN
    if name != "json.loads":
        return _value(run.world.parse_toml(text.value) or UNKNOWN)
    try:
        return _value(json.loads(text.value))
    except (ValueError, RecursionError):
        return UNKNOWN


def _value(found: object) -> Value:
    if isinstance(found, dict):
        return Dict(tuple([(key, _value(entry)) for key, entry in found.items()]))
    if isinstance(found, list):
        return Seq("list", tuple(map(_value, found)))
    return Const(found) if found is None or isinstance(found, (str, int, float)) else UNKNOWN
