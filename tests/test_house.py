"""The house rules that can be told by looking: how nodes are read, and how many modules lie in a folder."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from meshlens.facts.extract import extract
from reading_nodes import MAY_READ_BY_NUMBER

SERVER = Path(__file__).parents[1] / "server" / "meshlens"
MOST_MODULES = 30
MAY_BE_LONGER = {
    "rules": "one file for each rule: the listing is the list of rules",
    "lsp/handlers": "one file for each request of the protocol",
}


def test_no_folder_has_more_modules_than_a_page():
    counts = Counter(path.parent.relative_to(SERVER).as_posix() for path in SERVER.rglob("*.py"))
    assert {folder for folder, count in counts.items() if count > MOST_MODULES} == set(MAY_BE_LONGER)


def test_a_node_that_is_read_by_number_fails_a_test():
    """Whatever the tests run, `reading_nodes.py` watches; this is its own test."""
    (block,) = extract(b"f(x)\n").blocks.values()
    code = compile("def read(node): return node[0]", str(SERVER / "axes" / "made_up.py"), "exec")
    made: dict = {}
    exec(code, made)
    with pytest.raises(AssertionError, match=r"axes/made_up.py reads ExpressionStatement\[0\]"):
        made["read"](block.shape)
    assert block.shape[0] == "expr", "tests may"


def test_exceptions_are_few_and_there():
    assert len(MAY_READ_BY_NUMBER) <= 5
    assert all((SERVER / module).is_file() for module in MAY_READ_BY_NUMBER)
