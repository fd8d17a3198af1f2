"""The JSON Schema of `meshlens.toml`, generated from the settings, for editors that check and complete TOML."""

from __future__ import annotations

import json
import re
from dataclasses import Field
from typing import Any

from meshlens.checking.registry import all_rules
from meshlens.settings import MACHINE_NAMES, MACHINE_NUMBERS, Settings, keys

_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_ENTRY = r"^[^\x00]+\.py::[A-Za-z_][\w.]*$"


def schema() -> str:
    """Returns the schema as JSON, for `meshlens.toml` and for the table `[tool.meshlens]`."""
    described = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "MeshLens",
        "description": "The configuration of MeshLens, in meshlens.toml or in [tool.meshlens] of pyproject.toml.",
        "type": "object",
        "additionalProperties": False,
        "properties": {key: {**_kind(entry), "description": _plain(entry)} for key, entry in keys().items()},
    }
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


def _plain(entry: Field[Any]) -> str:
    return _LINK.sub(r"\1", entry.metadata["doc"])


def _kind(entry: Field[Any]) -> dict[str, Any]:
    rules = {"type": "array", "items": {"anyOf": [{"enum": _selectors()}, {"type": "string"}]}}
    texts = {"type": "array", "items": {"type": "string"}}
    kinds: dict[str, dict[str, Any]] = {
        "list of rules": rules,
        "table of lists of rules": {"type": "object", "additionalProperties": rules},
        "list of patterns": texts,
        "number, shape or topology": {
            "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "examples": ["2x4", "v5e-16", "8xH100"]}]
        },
        "version": {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)*", "examples": ["0.10.2"]},
        "table of entries": {"type": "object", "additionalProperties": {"type": "string", "pattern": _ENTRY}},
    }
    numbers = {key: {"type": "number", "exclusiveMinimum": 0} for key in MACHINE_NUMBERS}
    names = {key: {"type": "string", "minLength": 1} for key in MACHINE_NAMES}
    machine = {"type": "object", "properties": {**numbers, **names}, "additionalProperties": False}
    kinds["table of machines"] = {
        "type": "object",
        "additionalProperties": {**machine, "required": ["flops", "bandwidth"]},
    }
    default = getattr(Settings(), entry.name)
    found = kinds.get(entry.metadata["kind"], {"type": "string", "minLength": 1})
    return found if default is None else {**found, "default": _as_json(entry, default)}


def _as_json(entry: Field[Any], default: Any) -> Any:
    return {} if entry.metadata["kind"].startswith("table") else list(default) if default == () else default


def _selectors() -> list[str]:
    return ["ALL", *(one for rule in all_rules() for one in (rule.code, rule.name))]
