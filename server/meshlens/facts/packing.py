"""Facts as bytes, for the disk and for other processes; the format is `marshal`, which cannot run code."""

from __future__ import annotations

import marshal

from meshlens.facts import content
from meshlens.facts.model import Block, DevicesSaid, FileFacts, Suppression
from meshlens.text import Span


def packed(facts: FileFacts) -> bytes:
    """Facts as bytes.

    Raises:
        ValueError: a shape is nested too deeply for the format.
    """
    blocks = tuple((block.key, block.content.packed(), block.pieces, block.start) for block in facts.blocks.values())
    suppressions = tuple((tuple(one.span), one.codes, one.whole_file, one.lines) for one in facts.suppressions)
    broken = tuple(tuple(span) for span in facts.broken)
    return marshal.dumps((facts.top, blocks, suppressions, facts.devices and tuple(facts.devices), broken))


def unpacked(blob: bytes) -> FileFacts:
    """Facts from bytes.

    Raises:
        ValueError, EOFError, TypeError, KeyError, IndexError: the bytes are no facts.
    """
    facts = unpacked_as_needed(blob)
    for block in facts.blocks.values():
        block.content.decode()
    return facts


def unpacked_as_needed(blob: bytes) -> FileFacts:
    """Facts from bytes, in which the bodies of functions are decoded when they are asked for; few may ever be.

    Raises:
        ValueError, EOFError, TypeError, KeyError, IndexError: the bytes are no facts.
    """
    top, blocks, suppressions, devices, broken = marshal.loads(blob)
    return FileFacts(
        top,
        {key: Block(key, content.unpacked(parts), pieces, start) for key, parts, pieces, start in blocks},
        tuple(Suppression(Span(*span), codes, whole, lines) for span, codes, whole, lines in suppressions),
        DevicesSaid(*devices) if devices else None,
        tuple(Span(*span) for span in broken),
    )
