"""Reads facts from untrusted bytes.

A shape is assembled from numbers, node by node, as the grammar requires, so the result always conforms to `nodes.py`.
There is nothing to run, no back reference and no trusted length, so memory and time are bounded by the length of the
bytes.
"""

from __future__ import annotations

import json
import logging
import struct
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from operator import le
from sys import intern
from typing import Any

from meshlens.facts.content import content_later, function_in
from meshlens.facts.disk.grammar import (
    CONSTANTS,
    FUNCTION,
    HEADER,
    ROW,
    SAID,
    SPAN,
    STATEMENT,
    WIDTHS,
    NotFacts,
)
from meshlens.facts.disk.shape_reader import READ_KIND, Reader, statements, texts
from meshlens.facts.model import Block, DevicesSaid, FileFacts, Suppression
from meshlens.facts.nodes import Statements
from meshlens.text import Span

_log = logging.getLogger("meshlens")


def restored(blob: bytes, size: int, *, is_whole: bool) -> FileFacts:
    """Returns facts decoded from bytes.

    Args:
        blob: the result of `stored`, or anything else.
        size: the length of the file's Python text.
        is_whole: whether to also read the bodies of functions, which are otherwise read on demand.

    Raises:
        NotFacts: the bytes are not facts of a source text of that length.
    """
    try:
        return _restored(blob, size, is_whole=is_whole)
    except (ValueError, TypeError, LookupError, struct.error, RecursionError, OverflowError) as error:
        raise NotFacts(str(error)) from None


def _restored(blob: bytes, size: int, *, is_whole: bool) -> FileFacts:
    text_size, count = HEADER.unpack_from(blob)
    table = HEADER.size + text_size
    at = table + count * ROW.size
    words, constants, top, suppressions, devices, broken = json.loads(blob[HEADER.size : table])
    rows = list(ROW.iter_unpack(blob[table:at]))
    if len(rows) != count or set(map(type, words)) - {str} or set(map(type, constants)) - CONSTANTS:
        raise NotFacts("unexpected words or constants")
    words = list(map(intern, words))
    functions = {words[row[0]]: number for number, row in enumerate(rows) if row[1] == FUNCTION}
    reader = Reader(words, [..., *constants], functions)
    blocks: dict[str, Block] = {}
    for number, row in enumerate(rows):
        end = at + sum(row[6:])
        block = _block_of(reader, number, row, blob[at:end], size, is_whole=is_whole)
        if is_whole:
            block.content.decode()
        blocks[block.key] = block
        at = end
    if at != len(blob) or len(blocks) != count:
        raise NotFacts("a length that does not match the table")
    keys = list(blocks)
    ordered = [keys[row] for row in top if rows[row][1] != FUNCTION]
    if len(set(ordered)) != len(top):
        raise NotFacts("statements in the wrong order")
    return FileFacts(
        tuple(ordered),
        blocks,
        tuple([_suppression(one, size) for one in suppressions]),
        _devices_said(devices),
        tuple([_span(one, size) for one in broken]),
    )


def _block_of(reader: Reader, number: int, row: Sequence[int], data: bytes, size: int, *, is_whole: bool) -> Block:
    key, kind, head_width, body_width, name_width, start, *lengths = row
    head, body, names, spans, pieces = accumulate(lengths)
    if pieces != len(data) or not lengths[3] or lengths[3] % SPAN or lengths[4] % SPAN:
        raise NotFacts("an incomplete block")
    sites = lengths[3] // SPAN
    header = reader.piece(READ_KIND[kind], _numbers(head_width, data[:head]), number, sites)
    later: Callable[[], Statements] | None = None
    function = function_in(header)
    if (function is None) != (kind == STATEMENT) or (function and function.body):
        raise NotFacts("the wrong kind of block header")
    if function is not None:
        later = partial(
            _body if is_whole else _body_or_nothing, reader, _numbers(body_width, data[head:body]), number, sites
        )
    mentioned = reader.piece(texts, _numbers(name_width, data[body:names]), number, sites)
    numbers = array("i", data[spans:])
    places = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    table = partial(_spans, data[names:spans], _longest(places, start, size))
    return Block(reader.words[key], content_later(header, later, table, mentioned), places, start)


def _body(reader: Reader, numbers: array[int], number: int, sites: int) -> Statements:
    """Returns the body of a function.

    Raises:
        NotFacts: the bytes are invalid.
    """
    body: Statements = reader.piece(statements, numbers, number, sites)
    return body


def _body_or_nothing(reader: Reader, numbers: array[int], number: int, sites: int) -> Statements:
    try:
        return _body(reader, numbers, number, sites)
    except NotFacts as error:
        _log.info("ignored the cached body of a function: %s", error)
        return ()


def _spans(data: bytes, most: int) -> array[int]:
    """Returns the start and end of each site; all are 0 if any is outside the block's text."""
    spans = array("i", data)
    starts, ends = spans[::2], spans[1::2]
    if min(starts) < 0 or max(ends) > most or not all(map(le, starts, ends)):
        _log.info("ignored cached places outside their file")
        return array("i", bytes(len(data)))
    return spans


def _longest(places: Sequence[tuple[int, int]], start: int, size: int) -> int:
    """Returns the greatest offset in a block's text that is still inside the file.

    Raises:
        NotFacts: the pieces are out of order or outside the file.
    """
    offsets = [offset for offset, _ in places]
    if not places or offsets[0] or sorted(set(offsets)) != offsets or min(distance for _, distance in places) < 0:
        raise NotFacts("pieces in the wrong order")
    # The text of a piece ends with the marker of a nested function, which may be longer than the rest of the file.
    if start + max(distance for _, distance in places) > size:
        raise NotFacts("a piece outside the file")
    return size - start - places[-1][1] + offsets[-1]


def _numbers(width: int, data: bytes) -> array[int]:
    return array(WIDTHS[width][0], data)


def _span(value: Any, size: int) -> Span:
    start, end = value
    if type(start) is not int or type(end) is not int or not 0 <= start <= end <= size:
        raise NotFacts("a span outside the file")
    return Span(start, end)


def _suppression(value: Any, size: int) -> Suppression:
    span, codes, is_whole, (first, last) = value
    if type(codes) is not list or set(map(type, codes)) - {str} or type(is_whole) is not bool:
        raise NotFacts("not a suppression")
    lines = _span((first, last), size)
    return Suppression(_span(span, size), tuple(codes), is_whole, (lines.start, lines.end))


def _devices_said(value: Any) -> DevicesSaid | None:
    if value is None:
        return None
    text, how = value
    if type(text) is not str or how not in SAID:
        raise NotFacts("not a number of devices")
    return DevicesSaid(text, how)
