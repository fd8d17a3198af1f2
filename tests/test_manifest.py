"""The manifest of the VS Code extension: it agrees with the code, and every text that it names exists."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from meshlens.cli.manifest import EXTENSION, with_settings
from meshlens.lsp.folders import CLIENTS_OWN, editor_settings
from meshlens.settings import parse_editor

ROOT = Path(__file__).parents[1]
MANIFEST = (ROOT / "package.json").read_text("utf-8")
TEXTS = (ROOT / "package.nls.json").read_text("utf-8")
SOURCES = {path.name: path.read_text("utf-8") for path in (ROOT / "client" / "src").glob("*.ts")}


@pytest.fixture(name="manifest")
def _manifest() -> dict[str, Any]:
    return json.loads(MANIFEST)


def properties(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    groups = manifest["contributes"]["configuration"]
    return {name: schema for group in groups for name, schema in group["properties"].items()}


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def test_a_setting_that_has_changed_is_written_anew(manifest: dict[str, Any]):
    properties(manifest)["meshlens.hover"]["default"] = False
    texts = json.loads(TEXTS) | {"settings.hover": "old", "settings.gone": "nobody has it any more"}
    assert with_settings(json.dumps(manifest), json.dumps(texts)) == (MANIFEST, TEXTS)


def test_every_text_is_there_and_every_one_is_used(manifest: dict[str, Any]):
    used = {text[1:-1] for text in strings(manifest) if re.fullmatch(r"%[^%]+%", text)}
    assert used == set(json.loads(TEXTS))


def test_the_defaults_of_the_manifest_are_those_of_the_server(manifest: dict[str, Any]):
    """Checks that the settings VS Code sends when the user has set none change nothing."""
    own = tuple(f"meshlens.{name}" for name in EXTENSION)
    sent = {name: schema["default"] for name, schema in properties(manifest).items() if name not in own}
    given: dict[str, Any] = {}
    for name, value in sent.items():
        *groups, last = name.removeprefix("meshlens.").split(".")
        inner = given
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[last] = value
    assert editor_settings(given) == ({}, ())
    assert parse_editor("hover", sent["meshlens.hover"]) is True


def test_the_server_knows_which_settings_are_not_its_own():
    def in_files(name: str) -> str:
        return re.sub(r"[A-Z]", lambda letter: f"-{letter[0].lower()}", name.split(".")[0])

    assert {in_files(name) for name in EXTENSION} <= CLIENTS_OWN


def test_the_client_and_the_manifest_name_the_same_commands(manifest: dict[str, Any]):
    table = SOURCES["commands.ts"].split("const table")[1].split("\n  };")[0]
    registered = set(re.findall(r"^    (\w+): ", table, re.MULTILINE))
    declared = {entry["command"].removeprefix("meshlens.") for entry in manifest["contributes"]["commands"]}
    assert registered == declared


def test_menus_and_restrictions_name_what_there_is(manifest: dict[str, Any]):
    commands = {entry["command"] for entry in manifest["contributes"]["commands"]}
    menus = manifest["contributes"]["menus"].values()
    assert {entry["command"] for menu in menus for entry in menu} <= commands
    restricted = set(manifest["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"])
    assert restricted <= set(properties(manifest))
    machine = {name for name, schema in properties(manifest).items() if schema["scope"] == "machine-overridable"}
    assert machine == restricted, "whatever names a program is the user's to say, not the workspace's"


def test_the_client_asks_only_for_settings_that_there_are(manifest: dict[str, Any]):
    own = re.findall(r'"(\w+)"', SOURCES["settings.ts"].split("OWN = [")[1].split("]")[0])
    assert {name.split(".")[0] for name in EXTENSION} == set(own)
    asked = set(re.findall(r'section\.get(?:<[^(]*>)?\("(\w+)"', SOURCES["settings.ts"] + SOURCES["chooseTopology.ts"]))
    assert asked
    assert {f"meshlens.{name}" for name in asked} <= set(properties(manifest))
