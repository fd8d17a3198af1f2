"""Parses Python with tree-sitter; whoever needs a tree gets it from here."""

from __future__ import annotations

import re

import tree_sitter_python
from tree_sitter import Language, Node, Parser

__all__ = ["LANGUAGE", "Node", "broken_spans", "parse", "readable"]

LANGUAGE = Language(tree_sitter_python.language())

_LONE_RETURN = re.compile(rb"\r(?!\n)")


def readable(source: bytes) -> bytes:
    """The same text and length with line ends that the grammar knows: a carriage return alone becomes a newline."""
    return _LONE_RETURN.sub(b"\n", source) if b"\r" in source else source


def parse(source: bytes) -> Node:
    """The root of the syntax tree of `readable` bytes; offsets are those of the bytes, a byte order mark included."""
    return Parser(LANGUAGE).parse(source).root_node


def broken_spans(root: Node) -> list[tuple[int, int]]:
    """Start and end of each place that the grammar could not read, outermost only, in order."""
    spans: list[tuple[int, int]] = []
    waiting = [root] if root.has_error else []
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            spans.append(node.byte_range)
        else:
            waiting.extend(child for child in node.children if child.has_error)
    return sorted(spans)
