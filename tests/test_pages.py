"""Every code block of the README and the pages is valid, and every link leads somewhere."""

from __future__ import annotations

import ast
import json
import re
import shlex
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import click
import jsonschema
import pytest

from meshlens.cli.main import cli
from meshlens.cli.schema import schema

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SUPPORT.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^(?P<ticks>`{3,4})(?P<language>\S*)[^\n]*\n(?P<text>.*?)^(?P=ticks)$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:|#)([^)\s]+)\)|\[[^\]]*\]\((#[^)\s]+)\)")
# Output, changes and drawings; the tests of the tour, of traces and of the training run check these.
SHOWN = frozenset({"text", "diff", "markdown", ""})
# `nox -s editors` runs these in the editors themselves.
OF_EDITORS = frozenset({"lua", "vim", "elisp", "emacs-lisp", "json", "yaml", "ini", "kdl"})


class Block(NamedTuple):
    """A fenced block."""

    page: Path
    line: int
    language: str
    text: str


def blocks() -> Iterator[Block]:
    for page in PAGES:
        text = page.read_text("utf-8")
        for found in FENCE.finditer(text):
            yield Block(page, text.count("\n", 0, found.start()) + 1, found["language"], found["text"])


def _named(block: Block) -> str:
    return f"{block.page.relative_to(ROOT)}:{block.line}"


BLOCKS = list(blocks())
COMMANDS = [(block, line[2:]) for block in BLOCKS for line in block.text.split("\n") if line.startswith("$ ")]


def test_there_are_blocks_of_every_kind():
    assert {"console", "toml", "python", "text"} <= {block.language for block in BLOCKS}
    known = SHOWN | OF_EDITORS | {"console", "toml", "python", "python-repl", "sh", "bash"}
    assert {block.language for block in BLOCKS} - known == set()


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "python"], ids=_named)
def test_python_is_python(block: Block):
    ast.parse(block.text.replace("$0", ""))


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "toml"], ids=_named)
def test_a_configuration_is_one(block: Block):
    found = tomllib.loads(block.text)
    own = found["tool"]["meshlens"] if "tool" in found else found
    if block.page.name != "editors.md":
        jsonschema.validate(own, json.loads(schema()))


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "json"], ids=_named)
def test_json_is_json(block: Block):
    json.loads(block.text)


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "yaml"], ids=_named)
def test_hooks_and_inputs_exist(block: Block):
    """Checks what the files for CI take from this repository; `nox -s publishing` runs them."""
    action = (ROOT / "action.yml").read_text("utf-8").partition("\ninputs:\n")[2].partition("\nruns:\n")[0]
    hooks = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")
    used = re.findall(r"- uses: \S+/meshlens@\S+\n +with:\n((?: {10}.*\n)+)", block.text)
    assert {name for inputs in used for name in re.findall(r"^ {10}([\w-]+):", inputs, re.MULTILINE)} <= _keys(action)
    assert set(re.findall(r"- id: (.*)", block.text)) <= set(re.findall(r"- id: (.*)", hooks))
    for words in (shlex.split(line) for line in re.findall(r"arguments: (.*)", block.text)):
        _parsed(["check", *words])
    for line in re.findall(r"- run: .* meshlens (check .*) >", block.text):
        _parsed(shlex.split(line))


def test_the_table_of_inputs_is_complete():
    text = (ROOT / "README.md").read_text("utf-8").partition("| input | default | meaning |\n")[2].partition("\n\n")[0]
    action = (ROOT / "action.yml").read_text("utf-8").partition("\ninputs:\n")[2].partition("\nruns:\n")[0]
    defaults = re.findall(r"^  ([\w-]+):\n(?:    .*\n)*?    default: \"(.*)\"$", action, re.MULTILINE)
    assert set(re.findall(r"^\| `([\w-]+)` \| (?:`(.*?)`)? ?\|", text, re.MULTILINE)) == set(defaults)


def _keys(inputs: str) -> set[str]:
    return set(re.findall(r"^  ([\w-]+):$", inputs, re.MULTILINE))


@pytest.mark.parametrize(("block", "line"), COMMANDS, ids=lambda one: _named(one) if isinstance(one, Block) else "")
def test_a_command_is_one(block: Block, line: str):
    """Checks that `meshlens` accepts its arguments, and that this repository provides or names all other programs."""
    for command in re.split(r"\s*(?:&&|;)\s*", line.split("  #")[0]):
        words = shlex.split(command.replace('eval "$(', "").replace(')"', ""), comments=True)
        while words and ("=" in words[0] or words[0] in (".", "uvx", "--from")):
            words = words[1:]
        if not words:
            continue
        if words[0] == "meshlens":
            _parsed(words[1:])
        elif words[0] == "nox":
            _sessions(words[1:])


def _parsed(words: list[str]) -> None:
    if not words or words[0].startswith("-"):
        return
    with click.Context(cli) as context:
        name, command, rest = cli.resolve_command(context, words)
        assert command is not None, words
        command.make_context(name, [word for word in rest if not word.startswith("$")], parent=context)


def _sessions(words: list[str]) -> None:
    text = (ROOT / "noxfile.py").read_text("utf-8")
    for option, name in pairwise(words):
        if option == "-s":
            assert f"def {name.split('-')[0].split('(')[0]}(" in text, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    text = FENCE.sub("", page.read_text("utf-8"))
    missing = []
    for path, own in LINK.findall(text):
        target, _, anchor = (path or own).partition("#")
        place = (page.parent / target).resolve() if target else page
        if not place.exists() or (anchor and place.suffix == ".md" and anchor not in anchors(place)):
            missing.append(path or own)
    assert missing == []


def anchors(page: Path) -> set[str]:
    """Returns the anchors of a page's headings, as GitHub and mkdocs spell them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
