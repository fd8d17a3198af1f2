"""Parses Python with tree-sitter; all trees come from here."""

from __future__ import annotations

import re

import tree_sitter_python
from tree_sitter import Language, Node, Parser, Range, Tree

from meshlens.syntax.comments import Gap, gaps_between
from meshlens.syntax.indentation import without_deepest

__all__ = [
    "LANGUAGE",
    "Node",
    "Tree",
    "broken_spans",
    "edited",
    "is_cut",
    "parse",
    "parse_again",
    "parse_stretch",
    "readable",
    "readable_again",
]

LANGUAGE = Language(tree_sitter_python.language())

_MOST_ROUNDS, _LARGEST_SHOWN = 20, 50_000
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_FILLED = re.compile(rb"(\{[^{}\"'\n]*:)=(?=[<>^=])")
"""Matches a format such as `{x:=>8}`, whose fill character is `=`; the grammar mistakes `:=` for an assignment."""


def readable(source: bytes) -> bytes:
    """Returns text of the same length that the grammar can parse.

    A lone carriage return becomes a newline; in `f"{x:=>8}"`, another fill character replaces `=`; lines indented more
    deeply than Python accepts are blanked out.
    """
    return without_deepest(_respelled(source))


def readable_again(source: bytes, start: int, end: int) -> bytes:
    """Returns the `readable` text after an edit of a text that `readable` left unchanged.

    Args:
        source: the text after the edit.
        start: the start of the new part.
        end: the end of the new part.
    """
    line = source.rfind(b"\n", 0, start) + 1
    stop = source.find(b"\n", end)
    touched = source[line : stop if stop >= 0 else len(source)]
    return without_deepest(source) if _respelled(touched) is touched and b"\r" not in source else readable(source)


def is_cut(source: bytes, text: bytes) -> bool:
    """Returns whether lines were blanked out to make the text readable."""
    return text is not source and text != _respelled(source)


def _respelled(source: bytes) -> bytes:
    text = _LONE_RETURN.sub(b"\n", source) if b"\r" in source else source
    return _FILLED.sub(rb"\1_", text) if b":=" in text else text


def parse(source: bytes) -> Node:
    """Returns the root of the syntax tree of `readable` bytes, with byte offsets that include a byte order mark."""
    return parse_again(source).root_node


def parse_again(source: bytes, before: Tree | None = None) -> Tree:
    """Returns the syntax tree of `readable` bytes, updated from the tree before an edit if one is given."""
    gaps = gaps_between(source, 0, len(source))
    if gaps:
        return _parse_without(source, 0, len(source), (0, 0), gaps)
    if before is not None and len(before.included_ranges) == 1:
        return Parser(LANGUAGE).parse(source, before)
    return Parser(LANGUAGE).parse(source)


def parse_stretch(source: bytes, start: int, end: int, point: tuple[int, int]) -> Tree:
    """Returns the syntax tree of a span of `readable` bytes, with offsets in the whole text.

    Args:
        source: the text.
        start: the start of the span.
        end: the end of the span.
        point: the row and column of the start.
    """
    return _parse_without(source, start, end, point, gaps_between(source, start, end))


def _parse_without(source: bytes, start: int, end: int, point: tuple[int, int], gaps: list[Gap]) -> Tree:
    """Returns the syntax tree of a span, hiding the given gaps if they are in comments."""
    for _ in range(_MOST_ROUNDS):
        tree = Parser(LANGUAGE, included_ranges=_ranges(source, start, end, point, gaps)).parse(source)
        root = tree.root_node
        wrong = [gap for gap in gaps if not _is_comment(root, gap) or (root.has_error and _may_end_string(source, gap))]
        if not wrong:
            return tree
        # Hiding lines of a string may hide its end, so that everything after it is misparsed.
        first = next((gap for gap in wrong if _may_end_string(source, gap)), wrong[-1])
        gaps = [gap for gap in gaps if gap not in wrong or gap.start > first.start]
    return Parser(LANGUAGE, included_ranges=_ranges(source, start, end, point, [])).parse(source)


def _ranges(source: bytes, start: int, end: int, point: tuple[int, int], gaps: list[Gap]) -> list[Range]:
    ranges: list[Range] = []
    at = start
    for gap in gaps:
        stop = _after(*point, source[at : gap.start])
        ranges.append(Range(point, stop, at, gap.start))
        point, at = _after(*stop, source[gap.start : gap.end]), gap.end
    return [*ranges, Range(point, _after(*point, source[at:end]), at, end)]


def _is_comment(root: Node, gap: Gap) -> bool:
    node = root.descendant_for_byte_range(gap.start, gap.start + 1)
    return node is not None and node.type == "comment"


def _may_end_string(source: bytes, gap: Gap) -> bool:
    return gap.end - gap.start < _LARGEST_SHOWN and any(
        source.find(quotes, gap.start, gap.end) >= 0 for quotes in (b'"""', b"'''")
    )


def edited(tree: Tree, source: bytes, start: int, end: int, new: bytes) -> Tree:
    """Returns a copy of a tree adjusted for an edit, for `parse_again` to start from.

    Args:
        tree: the tree before the edit.
        source: the text before the edit.
        start: the start of the replaced bytes.
        end: their end.
        new: the new bytes.
    """
    row, column = source.count(b"\n", 0, start), start - source.rfind(b"\n", 0, start) - 1
    copy = tree.copy()
    copy.edit(
        start,
        end,
        start + len(new),
        (row, column),
        _after(row, column, source[start:end]),
        _after(row, column, new),
    )
    return copy


def _after(row: int, column: int, text: bytes) -> tuple[int, int]:
    """Returns the end position of a source text that starts at a row and column."""
    rows = text.count(b"\n")
    return (row + rows, len(text) - text.rfind(b"\n") - 1 if rows else column + len(text))


def broken_spans(root: Node) -> list[tuple[int, int]]:
    """Returns the span of each place that the grammar could not parse, outermost only, in order."""
    spans: list[tuple[int, int]] = []
    waiting = [root] if root.has_error else []
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            spans.append(node.byte_range)
        else:
            waiting.extend(child for child in node.children if child.has_error)
    return sorted(spans)
