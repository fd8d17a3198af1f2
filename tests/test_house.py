"""House rules that tests can tell: nodes are read by their fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from meshlens.facts.extract import extract
from reading_nodes import MAY_READ_BY_NUMBER

SERVER = Path(__file__).parents[1] / "server" / "meshlens"


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
