"""Extracts the facts of a file from its bytes, block by block."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import TypeAlias

from meshlens.facts.broken.holes import Finished, Holes, finished
from meshlens.facts.broken.members import Members, members_of
from meshlens.facts.content import Content
from meshlens.facts.lower.blocks import STATEMENTS, lower_block, relative
from meshlens.facts.lower.functions import (
    body_of,
    definition_of,
    functions_in,
    is_function,
    name_of,
)
from meshlens.facts.model import Block, FileFacts
from meshlens.facts.suppressions import suppressions_in
from meshlens.syntax.kinds import EXTRAS, items, kind
from meshlens.syntax.lines import tree_of
from meshlens.syntax.parse import Node, broken_spans, parse, readable
from meshlens.syntax.sections import Section, section_starts, sections
from meshlens.text import Span

Memo: TypeAlias = MutableMapping[bytes, Content]

LONG = 60
"""A top-level function with more lines than this has separate blocks for its nested functions."""

_MOST_COPIED = 20_000_000
"""Maximum total bytes of the copies of the text made for holes; beyond it, broken statements get no holes."""

_CLASS = kind("class_definition")


def extract(source: bytes, memo: Memo | None = None) -> FileFacts:
    """Returns the facts of a file, fewer if it is broken or is not Python; never raises an exception.

    Args:
        source: the file as on disk.
        memo: a cache of contents by the bytes of their block, which several files can share.
    """
    try:
        text = readable(source)
        known = {} if memo is None else memo
        root = parse(text)
        if not root.has_error:
            return facts_of(text, root, known)[0]
        # The tree of source with errors can be large, and is no longer needed.
        del root
        return facts_apart(text, known)[0]
    except Exception as error:
        return FileFacts((), {}, failure=f"{type(error).__name__}: {error}"[:200])


def facts_of(text: bytes, root: Node, memo: Memo) -> tuple[FileFacts, frozenset[str]]:
    """Returns the facts of a parsed text, and the keys of blocks whose bytes might be read differently elsewhere."""
    if root.has_error:
        return facts_apart(text, memo)
    extraction = Extraction(text, memo)
    top = tuple([extraction.add(node, "") for node in top_level(root)])
    found, devices = suppressions_in(text, tree_of(text, root))
    return FileFacts(top, extraction.blocks, found, devices), frozenset(extraction.unsure)


def facts_apart(text: bytes, memo: Memo) -> tuple[FileFacts, frozenset[str]]:
    """Returns the facts of a source text with errors, whose sections are read separately."""
    extraction = Extraction(text, memo)
    top: list[str] = []
    root: Node | None = None
    for section in sections(text, section_starts(text)):
        root = section.root
        top += extraction.add_section(section)
    assert root is not None
    found, devices = suppressions_in(text, tree_of(text, root, extraction.nodes))
    broken = tuple(extraction.errors)
    return FileFacts(tuple(top), extraction.blocks, found, devices, broken), frozenset(extraction.unsure)


def top_level(root: Node) -> Iterator[Node]:
    """Yields the statements of a file that become blocks."""
    if root.is_error:
        yield from _rescued(root)
        return
    for node in root.named_children:
        if node.is_error:
            yield from _rescued(node)
        elif node.kind_id not in EXTRAS:
            yield node


def _rescued(error: Node) -> Iterator[Node]:
    """Yields the statements of a broken span that are certainly at the top level.

    These start in the first column and do not follow a fragment, because a fragment may be a decorator.
    """
    whole = True
    for child in error.children:
        number = child.kind_id
        if number in EXTRAS:
            continue
        if number in STATEMENTS:
            if whole and child.start_point.column == 0:
                yield child
            whole = True
        else:
            whole = False


@dataclass(slots=True)
class Extraction:
    """The blocks of a file, or of a span of it, while they are created.

    Attributes:
        text: the file, made readable.
        memo: a cache of contents by the bytes of their block.
        broken: whether the current text has an error.
        known: nested blocks that are unchanged by the edit, by their start.
        blocks: the blocks so far.
        unsure: the blocks whose bytes might be read differently elsewhere.
        used: the number of uses of each key.
        errors: the unreadable spans of the sections.
        nodes: the nodes of the sections, including comments.
        unread: the holes in the current text.
        copies: the number of copies of the text made for holes.
        members: the current class, if it has broken members; `text` then lacks these members.
    """

    text: bytes
    memo: Memo
    broken: bool = False
    known: Mapping[int, Block] = field(default_factory=dict)
    blocks: dict[str, Block] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)
    used: dict[str, int] = field(default_factory=dict)
    errors: list[Span] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    unread: Holes = field(default_factory=dict)
    copies: int = 0
    members: Members | None = None

    def add_section(self, section: Section) -> list[str]:
        """Adds the blocks of a section; returns the keys of its statements."""
        root = section.root
        self.broken = root.has_error
        # Each hole in the text requires a copy of the whole text.
        most = _MOST_COPIED // max(len(self.text), 1) - self.copies if self.broken else 0
        members = members_of(self.text, section, self.known, most) if most > 0 else None
        if members is not None:
            self.nodes += root.children
            self.copies += 1 + len(members.functions)
            return self._add_members(members)
        without = finished(self.text, section) if most > 0 else None
        self.copies += without is not None
        if without is not None and not without.root.has_error:
            self.nodes += without.root.children
            return self._add_finished(without)
        self.nodes += root.children
        self.errors += [Span(*span) for span in broken_spans(root)]
        return [self.add(node, "") for node in top_level(root)]

    def _add_members(self, members: Members) -> list[str]:
        self.errors += members.errors
        text, self.text, self.members, self.broken = self.text, members.masked, members, False
        made = [self.add(node, "") for node in top_level(members.rest.root)]
        self.text, self.members = text, None
        return made

    def _add_finished(self, without: Finished) -> list[str]:
        self.errors += without.holes
        text, self.text, self.unread, self.broken = self.text, without.text, without.unread, False
        made = [self.add(node, "") for node in top_level(without.root)]
        self.text, self.unread = text, {}
        return made

    def add(self, node: Node, owner: str) -> str:
        """Adds the block of a statement and those of separate functions in it; returns the statement's key."""
        start, end = node.byte_range
        definition = definition_of(node)
        name = name_of(definition) if definition is not None else None
        if name is not None:
            key = self._unused(owner + self.text[name.start_byte : name.end_byte].decode("utf-8", "replace"))
        else:
            key = self._unused("=" + hashlib.blake2b(self.text[start:end], digest_size=6).hexdigest())
        holes = [] if owner or definition is None else self._inner(definition, key)
        pieces = [(0, 0)]
        runs: list[bytes] = []
        at = start
        for begin, stop, inner in holes:
            # A marker replaces each function, so that the memo distinguishes them and no two offsets coincide.
            marker = b"\0%s\0" % inner.encode("utf-8", "replace")
            runs += (self.text[at:begin], marker)
            pieces.append((pieces[-1][0] + begin - at + len(marker), stop - start))
            at = stop
        runs.append(self.text[at:end])
        own = b"".join(runs)
        has_holes = any(start <= at < end for at in self.unread)
        memorable = not node.has_error and not has_holes and own.count(b"\0") == 2 * len(holes)
        label = b"\0" + own if owner else own
        known = self.memo.get(label) if memorable else None
        if known is None:
            text, shift = self.text, 0
            if self.broken and memorable:
                # Errors elsewhere affect how the grammar parses ambiguous code such as `print (x)`.
                text, shift, node, memorable = _by_itself(text, node)
            shifted = {begin - shift: inner for begin, _, inner in holes}
            unread = self.unread if has_holes else {}
            shape, spans = lower_block(text, node, shifted, unread, alone=bool(owner))
            table, ahead = relative(spans, [(offset, start + distance - shift) for offset, distance in pieces])
            known = Content(shape, table, ahead=ahead)
            if memorable:
                self.memo[label] = known
        if not memorable:
            self.unsure.add(key)
        self.blocks[key] = Block(key, known, tuple(pieces), start)
        return key

    def keep(self, block: Block) -> bool:
        """Adds an unchanged block; returns whether no other block had its key yet."""
        self.blocks[block.key] = block
        return self._unused(block.key) == block.key

    def _inner(self, definition: Node, key: str) -> list[tuple[int, int, str]]:
        """Adds the blocks of functions nested in a definition; returns the span and key of each, in order."""
        found: list[tuple[int, int, str]] = []
        for child, prefix in sorted(_functions_inside(definition, key), key=_start):
            start, end = child.byte_range
            known = self.known.get(start)
            broken = self.members.functions.get(start) if self.members is not None else None
            if broken is not None:
                found.append((start, end, self._add_broken(*broken, f"{prefix}.")))
            elif (
                known is not None
                and known.end == end
                and known.key.rpartition(".")[0] == prefix
                and not child.has_error
                and self.keep(known)
            ):
                found.append((start, end, known.key))
            else:
                found.append((start, end, self.add(child, f"{prefix}.")))
        return found

    def _add_broken(self, function: Node, text: bytes, unread: Holes, owner: str) -> str:
        masked, self.text, self.unread, self.broken = self.text, text, unread, True
        key = self.add(function, owner)
        self.text, self.unread, self.broken = masked, {}, False
        self.unsure.add(key)
        return key

    def _unused(self, key: str) -> str:
        number = self.used[key] = self.used.get(key, 0) + 1
        return key if number == 1 else self._unused(f"{key}~{number}")


def _by_itself(text: bytes, node: Node) -> tuple[bytes, int, Node, bool]:
    """Returns a statement parsed separately: the text, its offset in the file, the node, and whether this worked."""
    start, end = node.byte_range
    line = text.rfind(b"\n", 0, start) + 1
    line = start if text[line:start].strip(b" \t\f") else line
    apart = text[line:end]
    found = items(parse(apart))
    if len(found) == 1 and not found[0].has_error and found[0].byte_range == (start - line, end - line):
        return apart, line, found[0], True
    return text, 0, node, False


def _start(inner: tuple[Node, str]) -> int:
    return inner[0].start_byte


def _functions_inside(definition: Node, key: str) -> Iterator[tuple[Node, str]]:
    """Yields the functions that become separate blocks, each with the qualified name of its owner."""
    suite = body_of(definition)
    if definition.kind_id != _CLASS:
        if definition.end_point.row - definition.start_point.row >= LONG:
            yield from ((child, key) for child in functions_in(suite))
        return
    waiting = [(suite, key)]
    while waiting:
        suite, key = waiting.pop()
        for child in suite.named_children if suite is not None else ():
            inner = definition_of(child)
            if is_function(child):
                yield child, key
            elif inner is not None and (name := name_of(inner)) is not None:
                waiting.append((body_of(inner), f"{key}.{(name.text or b'').decode('utf-8', 'replace')}"))
