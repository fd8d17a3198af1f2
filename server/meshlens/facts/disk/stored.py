"""Writes facts as bytes to store on disk, in the grammar of shapes; `restored.py` reads them.

A file's bytes are a JSON list of its words, its constants and its file-wide facts; a table with a row for each block;
and the blocks' shapes, names and spans as numbers. The body of a function is separate from its head, so that it can be
read on demand.
"""

from __future__ import annotations

import json
from array import array

from meshlens.facts.content import Shape, function_in, with_body
from meshlens.facts.disk.grammar import (
    FUNCTION,
    FUNCTION_STATEMENT,
    HEADER,
    ROW,
    STATEMENT,
)
from meshlens.facts.disk.shape_writer import WRITE_KIND, Writer, statements, texts
from meshlens.facts.model import FileFacts
from meshlens.facts.nodes import Statements


def stored(facts: FileFacts) -> bytes:
    """Returns facts as bytes.

    Raises:
        NotFacts: the grammar lacks one of the shapes.
    """
    writer = Writer()
    rows: list[bytes] = []
    data: list[bytes] = []
    for block in facts.blocks.values():
        function = function_in(block.shape)
        kind = STATEMENT
        head: Shape = block.shape
        body: Statements = ()
        if function is not None:
            kind = FUNCTION if function is block.shape else FUNCTION_STATEMENT
            head, body = with_body(block.shape, ()), function.body
        head_width, head_bytes = writer.piece(WRITE_KIND[kind], head)
        body_width, body_bytes = writer.piece(statements, body)
        name_width, name_bytes = writer.piece(texts, block.names)
        spans = array("i", block.spans).tobytes()
        pieces = array("i", [number for piece in block.pieces for number in piece]).tobytes()
        parts = (head_bytes, body_bytes, name_bytes, spans, pieces)
        key = writer.words.setdefault(block.key, len(writer.words))
        rows.append(ROW.pack(key, kind, head_width, body_width, name_width, block.start, *map(len, parts)))
        data += parts
    order = {key: row for row, key in enumerate(facts.blocks)}
    said = (
        list(writer.words),
        list(writer.constants.values())[1:],
        [order[key] for key in facts.top],
        [(tuple(one.span), one.codes, one.whole_file, one.lines) for one in facts.suppressions],
        facts.devices,
        [tuple(span) for span in facts.broken],
    )
    text = json.dumps(said, separators=(",", ":")).encode("ascii")
    return b"".join((HEADER.pack(len(text), len(rows)), text, *rows, *data))
