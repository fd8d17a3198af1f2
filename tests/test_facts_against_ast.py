"""Facts of real programs compared with Python's own `ast`: the same trees at the same places."""

from __future__ import annotations

import ast
import sysconfig
import warnings
from pathlib import Path
from typing import Any

import pytest

import ast_shapes
import depth
from meshlens.facts.extract import extract
from meshlens.facts.model import Block, FileFacts
from meshlens.text import LineIndex, Span

_LIBRARY = Path(sysconfig.get_path("stdlib"))
_CHOSEN = [
    "argparse.py", "ast.py", "asyncio/tasks.py", "contextlib.py", "dataclasses.py", "enum.py", "functools.py",
    "inspect.py", "string.py", "textwrap.py", "typing.py", "turtle.py",
    "test/test_patma.py", "test/test_with.py", "test/test_named_expressions.py", "test/test_generators.py",
    "test/test_positional_only_arg.py", "test/test_fstring.py", "test/test_string_literals.py",
    "test/test_coroutines.py", "test/test_except_star.py", "test/test_decorators.py", "test/test_descr.py",
]  # fmt: skip


class Mismatch(Exception):
    pass


def differences(source: bytes) -> list[str]:
    """Returns every place where the facts of a program differ from `ast`; broken stretches are left out."""
    facts = extract(source)
    lines = LineIndex(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = ast_shapes.module(source)
    found = []
    if len(wanted) != len(facts.top):
        return [f"{len(facts.top)} statements, not {len(wanted)}"]
    for key, expected in zip(facts.top, wanted, strict=True):
        block = facts.blocks[key]
        try:
            _compare(facts, lines, block, block.shape, expected)
        except Mismatch as error:
            found.append(f"{key}: {error}")
    return found


def _compare(facts: FileFacts, lines: LineIndex, block: Block, got: Any, want: Any) -> None:
    if want is ast_shapes.ANY:
        return
    if isinstance(got, tuple) and got and got[0] == "def":
        inner = facts.blocks[got[2]]
        assert inner.span(0) == block.span(got[1])
        _compare(facts, lines, inner, inner.shape, want[2])
        return
    if isinstance(want, ast.AST):
        _compare_span(lines, block.span(got), want)
        return
    if isinstance(want, tuple) and isinstance(got, tuple):
        if len(want) != len(got):
            raise Mismatch(f"{got} is not {want}")
        for some, other in zip(got, want, strict=True):
            _compare(facts, lines, block, some, other)
        return
    if not (type(got) is type(want) and got == want):
        raise Mismatch(f"{got!r} is not {want!r}")


def _compare_span(lines: LineIndex, span: Span, node: Any) -> None:
    source = lines.source
    start = lines.starts[node.lineno - 1] + node.col_offset
    end = lines.starts[node.end_lineno - 1] + node.end_col_offset
    if node.lineno == 1 and source.startswith(b"\xef\xbb\xbf"):
        start, end = start + 3, end + 3 if node.end_lineno == 1 else end
    if isinstance(node, ast.GeneratorExp) and (span.start, span.end) != (start, end):
        # Facts leave out the call's parentheses around a lone generator, which `ast` includes.
        end = start + len(source[start : end - 1].rstrip())
        start = end - len(source[start + 1 : end].lstrip())
    # Facts include the comments at the end of a suite, which `ast` leaves out.
    rest = source[end : span.end].splitlines()
    if isinstance(node, ast.stmt) and all(line.lstrip()[:1] in (b"#", b"") for line in rest):
        end = max(end, span.end)
    if (span.start, span.end) != (start, end):
        raise Mismatch(f"{source[slice(*span)]!r} is not {source[start:end]!r}")


@pytest.mark.parametrize("name", depth.some([*_CHOSEN], 4))
def test_library(name: str) -> None:
    path = _LIBRARY / name
    if not path.exists():
        pytest.skip("not in this Python")
    assert differences(path.read_bytes()) == []
