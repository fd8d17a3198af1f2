"""Finds logical lines: a simple statement, or the head of a compound one."""

from __future__ import annotations

import re

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
_SUITES = (kind("block"), kind("module"))
_CODE = re.compile(rb"^[ \t\f]*([^\s#])", re.MULTILINE)


def logical_line(source: bytes, root: Node, comment: Node) -> tuple[int, int]:
    """First and last line, from 0, of the logical line that a comment speaks for.

    A comment with a line of its own speaks for the next logical line, unless it stands inside one.
    """
    own = comment.start_point.row, comment.end_point.row
    line_start = source.rfind(b"\n", 0, comment.start_byte) + 1
    before = source[line_start : comment.start_byte].removeprefix(b"\xef\xbb\xbf").rstrip()
    if before:
        return _line_at(root, line_start + len(source[line_start : comment.start_byte].rstrip()) - 1) or own
    around = comment.parent
    if around is not None and around.kind_id not in _SUITES:
        inside = _climb(around, comment.start_byte)
        if inside is not None:
            return inside
    following = _CODE.search(source, comment.end_byte)
    return (_line_at(root, following.start(1)) if following else None) or own


def _line_at(root: Node, offset: int) -> tuple[int, int] | None:
    node = root.descendant_for_byte_range(offset, offset + 1)
    return _climb(node, offset) if node is not None and node.kind_id != COMMENT else None


def _climb(node: Node | None, offset: int) -> tuple[int, int] | None:
    while node is not None:
        number = node.kind_id
        if number in _SIMPLE:
            return node.start_point.row, node.end_point.row
        if number in _COMPOUND:
            colon = _colon(node)
            if colon is None:
                return node.start_point.row, node.start_point.row
            return (node.start_point.row, colon.end_point.row) if offset < colon.end_byte else None
        node = node.parent
    return None


def _colon(node: Node) -> Node | None:
    """The colon that ends the head of a compound statement."""
    return next((child for child in node.children if not child.is_named and child.type == ":"), None)
