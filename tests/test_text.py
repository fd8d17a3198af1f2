"""Lines and columns: edited line tables are those of a fresh look, whatever the line ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshlens.text import Edit, LineIndex, Span

TEXTS = st.text(st.sampled_from("ab é𝛼\n\r"), max_size=14)


@given(TEXTS, TEXTS, st.data())
def test_lines_after_an_edit(before: str, new: str, data: st.DataObject):
    source = before.encode()
    start = data.draw(st.integers(0, len(source)))
    end = data.draw(st.integers(start, len(source)))
    after = source[:start] + new.encode() + source[end:]
    assert LineIndex(source).edited(Edit(Span(start, end), new), after).starts == LineIndex(after).starts


@given(TEXTS, st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2), TEXTS), max_size=6))
def test_lines_after_edits_one_after_the_other(text: str, edits: list[tuple[int, int, str]]):
    source = text.encode()
    lines = LineIndex(source)
    for start, length, new in edits:
        start = min(start, len(source))
        end = min(start + length, len(source))
        source = source[:start] + new.encode() + source[end:]
        lines = lines.edited(Edit(Span(start, end), new), source)
        fresh = LineIndex(source)
        assert [lines.position(at, "utf-8") for at in range(len(source) + 1)] == [
            fresh.position(at, "utf-8") for at in range(len(source) + 1)
        ]
        ends = [(line, column) for line in range(len(fresh.starts) + 1) for column in (0, 1, 99)]
        assert [lines.offset(*at, "utf-8") for at in ends] == [fresh.offset(*at, "utf-8") for at in ends]
    assert lines.starts == LineIndex(source).starts


@given(TEXTS)
def test_a_position_leads_back(text: str):
    lines = LineIndex(text.encode())
    for index in range(len(text) + 1):
        offset = len(text[:index].encode())
        if text[index - 1 : index + 1] == "\r\n":
            continue
        for encoding in ("utf-8", "utf-16", "utf-32"):
            assert lines.offset(*lines.position(offset, encoding), encoding) == offset


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 7), ("utf-16", 4), ("utf-32", 3)])
def test_columns(encoding: str, column: int):
    source = "\né𝛼x".encode()
    assert LineIndex(source).position(len(source), encoding) == (1, column)
