"""docs/security.md names an existing test for each promise, and other pages quote the page verbatim."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
PROMISES = PAGE.partition("\n## Promises\n")[2].partition("\n## ")[0]
SHORT = re.findall(r"^- (.+)$", PAGE.partition("\n## In short\n")[2].partition("\n## ")[0], re.MULTILINE)


def named() -> list[str]:
    return sorted(set(re.findall(r"`(tests/[^`]*::\w+)`", PAGE)))


def rows() -> Iterator[tuple[str, str]]:
    """Yields the promises in the tables, each with the cell that names its tests."""
    for line in PROMISES.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if len(cells) == 2 and cells[0] != "promise" and set(cells[0]) != {"-"}:
            yield cells[0], cells[1]


def test_the_page_is_read_as_it_is_written():
    assert len(list(rows())) > 20
    assert len(SHORT) == 5
    assert len(named()) > 20


@pytest.mark.parametrize("test", named())
def test_a_named_test_exists(test: str):
    path, _, name = test.partition("::")
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    assert name.startswith("test_")
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, functions)}


@pytest.mark.parametrize(("promise", "tests"), list(rows()), ids=lambda text: text[:60])
def test_a_promise_names_a_test(promise: str, tests: str):
    assert re.fullmatch(r"`tests/[^`]*::\w+`(?:, `tests/[^`]*::\w+`)*", tests), promise


@pytest.mark.parametrize(
    ("page", "quoted"), [("SECURITY.md", SHORT), ("README.md", SHORT[:3]), ("walkthrough/python.md", SHORT[:3])]
)
def test_other_pages_quote_it(page: str, quoted: list[str]):
    text = (ROOT / page).read_text("utf-8")
    assert [sentence for sentence in quoted if sentence not in text] == []
