"""After an edit inside a method, rereads only that method, not its whole class."""

from __future__ import annotations

import re
from dataclasses import replace

from meshlens.facts.editing.splicing import Change
from meshlens.facts.editing.windows import Sections, end_of
from meshlens.facts.extract import Extraction, Memo
from meshlens.facts.lower.functions import body_of, definition_of, is_function
from meshlens.facts.model import Block, FileFacts, Suppression, moved
from meshlens.facts.nodes import ClassDef
from meshlens.facts.suppressions import speaks
from meshlens.syntax.kinds import items
from meshlens.syntax.parse import Node
from meshlens.syntax.sections import is_closed, section_of, starts_anything
from meshlens.text import Span

_LONGEST_WORD = 8
_BEHIND = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\n)*(?:[ \t]*(?:#[^\n]*)?\n|\Z)([ \t]*)")


def method_again(
    before: bytes, text: bytes, old: FileFacts, memo: Memo, change: Change, known: Sections
) -> tuple[FileFacts, Sections] | None:
    """Returns the facts and sections after an edit inside a method; None if the edit may affect other code.

    Args:
        before: the text before.
        text: the text now.
        old: the facts of the text before.
        memo: shapes by the bytes of their block.
        change: the edit.
        known: the sections before.
    """
    method = _method(old, change)
    if method is None or old.broken:
        return None
    owner = old.blocks.get(method.key.partition(".")[0])
    if owner is None or not isinstance(owner.header, ClassDef) or "~" in method.key:
        return None
    start, old_end = method.start, method.end
    end = old_end + change.by
    for source, stop in ((before, old_end), (text, end)):
        if speaks(source, start, stop) or not is_closed(source, start, stop):
            return None
        if starts_anything(source, start + 1, stop):
            return None
    if any(owner.start <= one.span.start < end_of(owner) for one in old.suppressions):
        return None
    root = section_of(text, start, end).root
    found = items(root)
    if root.has_error or len(found) != 1 or found[0].byte_range != (start, end) or not _stands_alone(text, found[0]):
        return None
    extraction = Extraction(text, memo)
    key = extraction.add(found[0], f"{method.key.rpartition('.')[0]}.")
    if key != method.key or extraction.unsure:
        return None
    by = change.by
    blocks = {name: moved(one, by) if one.start > start else one for name, one in old.blocks.items()}
    blocks[key] = extraction.blocks[key]
    behind = old_end - owner.start
    pieces = tuple([(offset, at + by if at >= behind else at) for offset, at in owner.pieces])
    blocks[owner.key] = owner._replace(pieces=pieces)
    rows = text.count(b"\n", change.start, change.end) - before.count(b"\n", change.start, change.old_end)
    silenced = tuple([_moved(one, by, rows) if one.span.start > start else one for one in old.suppressions])
    since = old.state, frozenset((key, owner.key))
    starts = [at + by if at > start else at for at in known.starts]
    return FileFacts(old.top, blocks, silenced, old.devices, since=since), Sections(starts, known.apart)


def _method(old: FileFacts, change: Change) -> Block | None:
    """Returns the method or nested function that contains an edit, unless the edit is near its start or at its end."""
    first = change.start - _LONGEST_WORD
    for block in old.blocks.values():
        if block.start < first and change.old_end < block.end and "." in block.key:
            return block
    return None


def _stands_alone(text: bytes, node: Node) -> bool:
    """Returns whether a method parses the same on its own as in its class.

    This holds if nothing but its body is indented further than its `def`.
    """
    definition = definition_of(node)
    suite = body_of(definition) if definition is not None and is_function(node) else None
    if suite is None:
        return False
    line, indent = text.rfind(b"\n", 0, suite.start_byte) + 1, _lead(text, node)
    lead = text[line : suite.start_byte]
    if node is not definition and any(_lead(text, one) != indent for one in items(node)):
        return False
    behind = _BEHIND.match(text, node.end_byte)
    if behind is None or not indent.startswith(behind.group(1)):
        return False
    if lead.strip():
        return line <= node.start_byte or not lead[:1].isspace() or lead.startswith(indent)
    return lead.startswith(indent) and len(lead) > len(indent)


def _lead(text: bytes, node: Node) -> bytes:
    """Returns the text before a node on its line."""
    return text[text.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte]


def _moved(one: Suppression, by: int, rows: int) -> Suppression:
    span = Span(one.span.start + by, one.span.end + by)
    return replace(one, span=span, lines=(one.lines[0] + rows, one.lines[1] + rows))
