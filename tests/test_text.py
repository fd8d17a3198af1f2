"""Lines and columns: a line table that follows edits equals a newly computed one, whatever the line ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshlens.text import Edit, LineIndex, Span, apply, joined

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


WRAPPED = b"step(\n    state,\n    batch,\n)\nother()\n"


def test_a_wrap_of_several_lines_is_one_edit_and_what_follows_another():
    at, end, other = WRAPPED.index(b"state"), WRAPPED.index(b"batch") + 5, WRAPPED.index(b"other")
    edits = (Edit(Span(end, end), ")"), Edit(Span(at, at), "shard("), Edit(Span(other, other), "yet_"))
    assert joined(WRAPPED, edits) == (
        Edit(Span(at, end), "shard(state,\n    batch)"),
        Edit(Span(other, other), "yet_"),
    )


def test_a_bracket_that_nothing_closes_joins_nothing():
    edits = (Edit(Span(0, 0), '"(" '), Edit(Span(len(WRAPPED), len(WRAPPED)), "end()\n"))
    assert joined(WRAPPED, edits) == edits


@given(TEXTS, st.lists(st.tuples(st.integers(0, 20), st.integers(0, 2), st.sampled_from(("(", ")", "\n", "x", "")))))
def test_joined_edits_do_what_they_did_before(text: str, drawn: list[tuple[int, int, str]]):
    source = text.encode()
    edits: list[Edit] = []
    at = 0
    for gap, length, new in drawn:
        start = min(at + gap, len(source))
        at = min(start + length, len(source))
        if text.isascii():
            edits.append(Edit(Span(start, at), new))
    assert apply(source, joined(source, edits)) == apply(source, edits)
