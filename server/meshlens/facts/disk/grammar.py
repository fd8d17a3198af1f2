"""The format of facts on disk: the grammar of shapes, and the layout of a file's bytes."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Mapping

from meshlens.facts.nodes import How

EXPRESSIONS: Mapping[str, str] = {
    "name": "site text",
    "const": "site constant",
    "attr": "site expression text",
    "call": "site expression arguments",
    "sub": "site expression expression",
    "tuple": "site expressions",
    "list": "site expressions",
    "set": "site expressions",
    "star": "site expression",
    "dict": "site pairs",
    "fstr": "site expressions",
    "lambda": "site parameters expression",
    "ifexp": "site expression expression expression",
    "bool": "site text expressions",
    "not": "site expression",
    "unary": "site text expression",
    "bin": "site text expression expression",
    "cmp": "site texts expressions",
    "slice": "site maybe maybe maybe",
    "comp": "site text element clauses",
    "walrus": "site text expression",
    "yield": "site maybe",
    "opaque": "site expressions",
    "hole": "site names names",
}
STATEMENTS: Mapping[str, str] = {
    "expr": "site expression",
    "assign": "site expressions expression",
    "ann": "site expression expression maybe",
    "aug": "site expression text expression",
    "def": "site block",
    "fn": "site function",
    "class": "site text site arguments expressions statements",
    "return": "site maybe",
    "raise": "site maybe",
    "if": "site expression statements statements",
    "while": "site expression statements statements",
    "for": "site expression expression statements statements",
    "with": "site items statements",
    "try": "site statements handlers statements statements",
    "import": "site imports",
    "from": "site number text imports",
    "global": "site texts",
    "nonlocal": "site texts",
    "del": "site expressions",
    "assert": "site expression maybe",
    "match": "site expression arms",
    "break": "site",
    "continue": "site",
    "pass": "site",
}
"""The fields after the tag of each node, as in `nodes.py`."""
HOWS: tuple[How, ...] = ("only", "any", "*", "key", "**")
FLAGS = (frozenset[str](), frozenset({"async"}), frozenset({"generator"}), frozenset({"async", "generator"}))
DEEPEST = 400
"""Maximum nesting of a shape; `lowering.py` stops long before that."""

HEADER = struct.Struct("<II")
"""The length of the JSON, and the number of rows."""

ROW = struct.Struct("<IBBBBIIIIII")
"""A block's key, its kind, three widths of numbers, its start in the file, and five lengths.

The widths are those of its head, body and names; the lengths, those of its head, body, names, spans and pieces.
"""

STATEMENT, FUNCTION, FUNCTION_STATEMENT = range(3)
"""The kinds of blocks."""

WIDTHS = (("B", 1 << 8), ("H", 1 << 16), ("I", 1 << 32))
SPAN = 2 * array("i").itemsize
SAID = ("comment", "code")
CONSTANTS = frozenset({str, int, float, bool, type(None)})


class NotFacts(ValueError):
    """Bytes that are not facts, or facts outside the grammar."""
