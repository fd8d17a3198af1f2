"""Finds logical lines: simple statements, and headers of compound ones."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from meshlens.syntax.kinds import COMMENT, kind, kinds
from meshlens.syntax.parse import Node

_COMPOUND = kinds(
    (
        "case_clause", "class_definition", "elif_clause", "else_clause", "except_clause", "except_group_clause",
        "finally_clause", "for_statement", "function_definition", "if_statement", "match_statement", "try_statement",
        "while_statement", "with_statement",
    )
)  # fmt: skip
_SIMPLE = kinds(
    (
        "assert_statement", "break_statement", "continue_statement", "decorator", "delete_statement",
        "exec_statement", "expression_statement", "future_import_statement", "global_statement",
        "import_from_statement", "import_statement", "nonlocal_statement", "pass_statement", "print_statement",
        "raise_statement", "return_statement", "type_alias_statement",
    )
)  # fmt: skip
_BLOCK = kind("block")
_LINE_END = re.compile(rb"\n")
_CODE = re.compile(rb"^[ \t\f]*([^\s#])", re.MULTILINE)


class Comment(NamedTuple):
    """A comment: its span, and its line, from 0."""

    start: int
    end: int
    row: int


@dataclass(frozen=True, slots=True)
class Tree:
    """A syntax tree prepared for many lookups by offset.

    Attributes:
        source: the parsed bytes.
        root: the root.
        code: the start of the code on each line that has some, and the end of the text; computed on first use.
        rows: the start of each line except the first; computed on first use.
        children: the children of visited nodes and their starts, by the node's id.
    """

    source: bytes
    root: Node
    code: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    children: dict[int, tuple[list[Node], list[int]]] = field(default_factory=dict)


def tree_of(source: bytes, root: Node, nodes: list[Node] | None = None) -> Tree:
    """Returns a syntax tree prepared for many lookups by offset.

    Args:
        source: the parsed bytes.
        root: the root.
        nodes: nodes to use instead of the root's own children.
    """
    tree = Tree(source, root)
    if nodes is not None:
        tree.children[root.id] = nodes, [node.start_byte for node in nodes]
    return tree


def nodes_at(tree: Tree, offset: int) -> list[Node]:
    """Returns the nodes that contain an offset, from the top-level statement inwards."""
    return _path(tree, offset)


def comment_at(tree: Tree, offset: int) -> Comment | None:
    """Returns the comment at an offset."""
    path = _path(tree, offset)
    if not path or path[-1].kind_id != COMMENT:
        return None
    node = path[-1]
    row = node.start_point.row
    if row == node.end_point.row:
        return Comment(node.start_byte, node.end_byte, row)
    # A long run of comments is a single node.
    source = tree.source
    start = max(source.rfind(b"\n", 0, offset) + 1, node.start_byte)
    end = source.find(b"\n", offset)
    start = source.find(b"#", start)
    if not tree.rows:
        tree.rows.extend(match.end() for match in _LINE_END.finditer(source))
    found = Comment(start, end if end >= 0 else len(source), bisect_right(tree.rows, start))
    return found if start <= offset else None


def logical_line(tree: Tree, comment: Comment) -> tuple[int, int]:
    """Returns the first and last line, from 0, of the logical line that a comment applies to.

    A comment alone on its line applies to the next logical line, unless the comment is inside a logical line.
    """
    own = comment.row, comment.row
    start = comment.start
    line_start = tree.source.rfind(b"\n", 0, start) + 1
    before = tree.source[line_start:start].rstrip()
    if before.removeprefix(b"\xef\xbb\xbf"):
        return _line_at(tree, line_start + len(before) - 1) or own
    inside = _innermost(_path(tree, start)[:-1], start)
    if inside is not None:
        return inside
    if not tree.code:
        tree.code.extend(match.start(1) for match in _CODE.finditer(tree.source))
        tree.code.append(len(tree.source))
    at = min(bisect_right(tree.code, comment.end), len(tree.code) - 1)
    return _line_at(tree, tree.code[at]) or own


def _path(tree: Tree, offset: int) -> list[Node]:
    """Returns the nodes that contain an offset, outermost first."""
    path: list[Node] = []
    node = tree.root
    while True:
        # Finding a node's children takes linear time, and a suite can be long, so this is done only once.
        known = tree.children.get(node.id)
        if known is None:
            children = node.children
            known = tree.children[node.id] = children, [child.start_byte for child in children]
        at = bisect_right(known[1], offset) - 1
        if at < 0 or offset >= known[0][at].end_byte:
            return path
        node = known[0][at]
        path.append(node)


def _line_at(tree: Tree, offset: int) -> tuple[int, int] | None:
    path = _path(tree, offset)
    return _innermost(path, offset) if path and path[-1].kind_id != COMMENT else None


def _innermost(path: list[Node], offset: int) -> tuple[int, int] | None:
    for node in reversed(path):
        number = node.kind_id
        if number == _BLOCK:
            return None
        if number in _SIMPLE:
            return node.start_point.row, node.end_point.row
        if number in _COMPOUND:
            colon = _colon(node)
            if colon is None:
                return node.start_point.row, node.start_point.row
            return (node.start_point.row, colon.end_point.row) if offset < colon.end_byte else None
    return None


def _colon(node: Node) -> Node | None:
    """Returns the colon that ends the header of a compound statement."""
    return next((child for child in node.children if not child.is_named and child.type == ":"), None)
