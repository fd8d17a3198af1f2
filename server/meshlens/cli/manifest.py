"""The settings in the VS Code extension's manifest, generated from the dataclasses that define them.

`package.json` contains the schema, and `package.nls.json` contains the texts, which can be translated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import Field, fields
from typing import Any

from meshlens.cli.pages import editor_name
from meshlens.settings import EditorSettings, Settings, keys

SECTION = "meshlens"
TEXTS = "settings."
_LOCAL_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]*\)")

# A path is specific to a machine, so it is not synced with the user's settings, and each workspace may set its own.
_OF_THE_MACHINE = frozenset({"interpreter"})

EXTENSION: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "enable": (
        {"type": "boolean", "default": True, "scope": "window"},
        "Enable MeshLens.",
    ),
    "importStrategy": (
        {"type": "string", "enum": ["useBundled", "fromEnvironment"], "default": "useBundled"}
        | {"scope": "machine-overridable"},
        "Which MeshLens to run: the one bundled with the extension, or the one installed in the Python "
        "environment, if there is one.",
    ),
    "path": (
        {"type": "array", "items": {"type": "string"}, "default": [], "scope": "machine-overridable"},
        'The command that starts the server, with its arguments, such as `["/opt/venv/bin/meshlens", "server"]`.\n'
        "If it is not set, the extension looks for Python 3.10 or newer and runs the server with it.",
    ),
    "trace.server": (
        {"type": "string", "enum": ["off", "messages", "verbose"], "default": "off", "scope": "window"},
        'Log the messages between VS Code and the server to the output channel "MeshLens Language Server", '
        "at log level `Trace`.",
    ),
}
"""The extension's own settings: their schema and text."""


def with_settings(manifest: str, texts: str) -> tuple[str, str]:
    """Returns the manifest and its texts with the current settings.

    Args:
        manifest: the content of `package.json`.
        texts: the content of `package.nls.json`.
    """
    described = json.loads(manifest)
    described["contributes"]["configuration"] = [
        {"title": f"%{TEXTS}title.{group}%", "order": number, "properties": dict(_numbered(entries))}
        for number, (group, entries) in enumerate(_groups().items())
    ]
    kept = {key: text for key, text in json.loads(texts).items() if not key.startswith(TEXTS)}
    return _as_json(described), _as_json({**kept, **dict(_texts())})


def _features() -> list[Field[Any]]:
    return list(fields(EditorSettings))


def _groups() -> dict[str, dict[str, Mapping[str, Any]]]:
    """Returns the properties of each group, in the order in which the code defines them."""
    project, shown = Settings(), EditorSettings()
    return {
        "extension": {name: schema for name, (schema, _) in EXTENSION.items()},
        "project": {editor_name(one.name): _schema(one, getattr(project, one.name)) for one in keys().values()},
        "editor": {editor_name(one.name): _schema(one, getattr(shown, one.name)) for one in _features()},
    }


def _numbered(entries: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, (name, schema) in enumerate(entries.items()):
        yield f"{SECTION}.{name}", {**schema, "order": number, "markdownDescription": f"%{TEXTS}{name}%"}


def _schema(entry: Field[Any], default: object) -> dict[str, Any]:
    scope = "machine-overridable" if entry.name in _OF_THE_MACHINE else "resource"
    kind = entry.metadata["kind"]
    if isinstance(default, bool):
        return {"type": "boolean", "default": default, "scope": scope}
    if kind.startswith("one of "):
        return {"type": "string", "enum": kind.removeprefix("one of ").split(", "), "default": default, "scope": scope}
    if kind.startswith("list"):
        return {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "default": [], "scope": scope}
    if kind.startswith("table"):
        text = {"type": "string"}
        lists: dict[str, Any] = {"type": "array", "items": text}
        values = {"table of lists of rules": lists, "table of entries": text}.get(kind, {"type": "object"})
        return {"type": "object", "additionalProperties": values, "default": {}, "scope": scope}
    # Empty means "not set", because a text field has no other value for that.
    return {"type": "string", "default": "", "scope": scope}


def _texts() -> Iterator[tuple[str, str]]:
    for group, title in {"extension": "Extension", "project": "Project", "editor": "Editor"}.items():
        yield f"{TEXTS}title.{group}", title
    for name, (_, text) in EXTENSION.items():
        yield TEXTS + name, text
    for entry in (*keys().values(), *_features()):
        yield TEXTS + editor_name(entry.name), _LOCAL_LINK.sub(r"\1", entry.metadata["doc"])


def _as_json(content: object) -> str:
    """Returns JSON as npm formats it."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
