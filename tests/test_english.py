"""Habits of writing that patterns can find, in everything that users read and in all docstrings and comments."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from own_sources import SERVER, modules, nodes_of

ROOT = Path(__file__).parents[1]

HABITS = {
    '"is not a", not "is no"': re.compile(r"(?<!there )\b(?:is|are) no\b(?! longer| more)"),
    '"after", not "behind"': re.compile(r"(?<!-)(?<!left )\bbehind\b"),
    '"again", not "anew"': re.compile(r"\banew\b"),
    '"iteration", not "turn of a loop"': re.compile(r"\bturns? of (?:a|the) loop\b"),
    '"in sight" says nothing to a user': re.compile(r"\bin sight\b"),
    '"iteration", not "every turn"': re.compile(r"\b(?:in|on) every turn\b"),
    'say how it is known, not "is told by"': re.compile(r"\b(?:is|are) told by\b"),
    '"silently", not "without a word"': re.compile(r"\bwithout a word\b"),
    '"already" goes before the verb': re.compile(r"\b(?:joins|places?|uses|names|binds|sums) \w+ \w+ already\b"),
    '"again", not "once more"': re.compile(r"\bonce more\b"),
}
HABITS_OF_DOCSTRINGS = {
    **HABITS,
    'name the code, not "whoever"': re.compile(r"\bwho(?:ever|m)\b"),
    '"is in", "is on" or "is", not "lies"': re.compile(r"\blies\b(?! along)"),
    '"certainly", not "for certain"': re.compile(r"\bfor certain\b"),
    '"computed", not "worked out"': re.compile(r"\bworked out\b"),
    '"requested", not "asked for"': re.compile(r"\b(?:is|are|was|were) asked for\b"),
    '"in the place of" takes one word: "instead of"': re.compile(r"\bin the place of\b"),
    '"unknown", not "is not known"': re.compile(r"\b(?:is|are) not known(?= ?[;,.])"),
}
ROOMS = (
    "assists",
    "caches",
    "checking",
    "cli",
    "devices",
    "ide",
    "jaxapi",
    "lsp",
    "refactoring",
    "rules",
    "tracing",
    "settings.py",
)
OPENING = re.compile(r"(?:What|Whether|Who)\b")
PAGES = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "SUPPORT.md", "CONTRIBUTING.md", "client/README.md")),
    *(path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in ("architecture.md", "assists.md")),
    *sorted((ROOT / "walkthrough").glob("*.md")),
]


def habits(text: str, of: dict[str, re.Pattern[str]] = HABITS) -> list[str]:
    """Returns the habits that a text shows, each with its context."""
    found = [(name, match) for name, habit in of.items() for match in habit.finditer(text)]
    return [f"{name}: …{text[max(0, match.start() - 30) : match.end() + 30]}…" for name, match in found]


def strings(source: str) -> Iterator[str]:
    """Yields the strings of a program that users may read, except docstrings."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and _is_text(node)}
    docstrings |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def _is_text(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return bool(node.body) and isinstance(node.body[0], ast.Expr)


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Yields the docstrings of a program, including those below constants."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def comments(source: str) -> Iterator[str]:
    """Yields the comments of a program; comments on consecutive lines count as one."""
    lines = [match[1] if (match := re.search(r"(?:^|  )\s*# (.*)", line)) else "" for line in source.split("\n")]
    yield from filter(None, " ".join(line or "\0" for line in lines).split("\0"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pages_are_plain_english(path: Path):
    assert habits(path.read_text("utf-8")) == []


def test_settings_and_commands_are_plain_english():
    texts = json.loads((ROOT / "package.nls.json").read_text("utf-8"))
    assert {key: found for key, text in texts.items() if (found := habits(text))} == {}
    assert [key for key, text in texts.items() if OPENING.match(text) and key.startswith("settings.")] == []


@pytest.mark.parametrize("room", ROOMS)
def test_messages_are_plain_english(room: str):
    paths = sorted((SERVER / room).rglob("*.py")) or [SERVER / room]
    assert [found for path in paths for text in strings(path.read_text("utf-8")) for found in habits(text)] == []


def test_docstrings_and_comments_are_plain_english():
    sources = [path.read_text("utf-8") for path in sorted(SERVER.rglob("*.py"))]
    written = [text for tree in modules().values() for text in docstrings(tree)]
    assert [text.split("\n")[0] for text in written if OPENING.match(text)] == []
    said = [*written, *(text for source in sources for text in comments(source))]
    assert [found for text in said for found in habits(text, HABITS_OF_DOCSTRINGS)] == []


def test_docstrings_of_functions_begin_with_what_they_do():
    opened = [
        f"{module}: {text}"
        for module, tree in modules().items()
        for node in nodes_of(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (text := ast.get_docstring(node))
        if re.match(r"(?:Whether|Who)\b", text) and "property" not in map(ast.unparse, node.decorator_list)
    ]
    assert opened == []


def test_pages_of_rules_are_plain_english():
    pages = {path.name: ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "" for path in _rules()}
    assert {name: found for name, page in pages.items() if (found := habits(page))} == {}


def _rules() -> list[Path]:
    return [path for path in sorted((SERVER / "rules").glob("*.py")) if not path.name.startswith("_")]


@pytest.mark.parametrize(
    "text",
    [
        "a list is no string",
        "behind the call",
        "compiles anew",
        "twice in a turn of the loop",
        "made in every turn",
        "TPUs are told by their device files",
        "JAX accepts it without a word",
        "this program joins its processes already",
        "divided by the number of devices once more",
    ],
)
def test_a_habit_is_noticed(text: str):
    assert len(habits(text)) == 1
