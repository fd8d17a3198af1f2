"""Settings that a program reads from a text that is written in it, as JSON, TOML or YAML."""

from __future__ import annotations

import json

from meshlens.axes.domain.values import UNKNOWN, Const, Dict, Seq, Value
from meshlens.axes.runs.run import Run

_OF_YAML = frozenset({"yaml.safe_load", "yaml.load", "yaml.full_load"})
PARSERS = frozenset({"json.loads", "tomllib.loads", "tomli.loads"}) | _OF_YAML
_MOST_CHARACTERS = 20_000
_NOTHING = Const(None)
_CHARACTERS_AS_A_STATEMENT = 4
"""How many characters of YAML take about as long as a statement."""


def parsed(run: Run, name: str, text: Value) -> Value:
    """Returns what a parser makes of a known text; an unknown value for any other text, and for an invalid one.

    Args:
        run: the run.
        name: the parser, such as `tomllib.loads`.
        text: its argument.
    """
    if not isinstance(text, Const) or type(text.value) is not str or len(text.value) > _MOST_CHARACTERS:
        return UNKNOWN
    if name in _OF_YAML:
        run.work += len(text.value) // _CHARACTERS_AS_A_STATEMENT
        return _value(run.world.parse_yaml(text.value), UNKNOWN)
    if name != "json.loads":
        return _value(run.world.parse_toml(text.value) or UNKNOWN)
    try:
        return _value(json.loads(text.value))
    except (ValueError, RecursionError):
        return UNKNOWN


def _value(found: object, nothing: Value = _NOTHING) -> Value:
    if isinstance(found, dict) and all(isinstance(key, (str, int, float)) for key in found):
        return Dict(tuple([(key, _value(entry)) for key, entry in found.items()]))
    if isinstance(found, list):
        return Seq("list", tuple(map(_value, found)))
    if found is None:
        return nothing
    return Const(found) if isinstance(found, (str, int, float)) else UNKNOWN
