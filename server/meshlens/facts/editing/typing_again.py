"""After an edit inside a statement, rereads only that statement, not its whole file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from meshlens.facts.broken.holes import with_holes
from meshlens.facts.editing.lengthened import moved_pieces
from meshlens.facts.editing.renumbering import with_old_sites
from meshlens.facts.editing.splicing import Change
from meshlens.facts.editing.spots import holds_change, is_a_hole, leaves_a_hole, typed_again, watched_again
from meshlens.facts.editing.windows import Sections
from meshlens.facts.model import Block, FileFacts, Suppression, moved
from meshlens.facts.paths import Spot, path_to
from meshlens.text import Span

_MOST_EARLIER = 2


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier text with no errors, except perhaps a hole at the edited statement.

    Attributes:
        text: the text.
        facts: its facts.
        sections: where it could be split.
        change: the change since then.
    """

    text: bytes
    facts: FileFacts
    sections: Sections
    change: Change

    def followed_by(self, change: Change) -> Earlier:
        """Returns the same text with another change after its own."""
        return Earlier(self.text, self.facts, self.sections, self.change.followed_by(change))


def kept(earlier: Sequence[Earlier], facts: FileFacts) -> tuple[Earlier, ...]:
    """Returns the last texts to which edits may return, except those with the same edited statement as in the facts."""
    now = facts.spot.place if facts.spot is not None and (not facts.broken or leaves_a_hole(facts)) else None
    typed = [one for one in earlier if one.facts.spot is not None and one.facts.spot.place is not now]
    return tuple(typed[:_MOST_EARLIER])


def statement_again(
    before: bytes, text: bytes, old: FileFacts, change: Change, known: Sections
) -> tuple[FileFacts, Sections] | None:
    """Returns the facts and sections after an edit inside a simple statement; None if more may have changed.

    Args:
        before: the text before.
        text: the text now.
        old: the facts of the text before, which has no errors, except perhaps a hole at the edited statement.
        change: the edit.
        known: the sections before.
    """
    block = _function(old, change)
    if block is None or "~" in block.key:
        return None
    spot = old.spot if old.spot is not None and old.spot.key == block.key else None
    hole = old.broken[0] if old.broken else None
    found = typed_again(before, text, block, spot, change, hole)
    if found is None or (found.hole is not None and not known.apart):
        return None
    made, end, new_end, by = found.block, found.end, found.new_end, change.by
    blocks: dict[str, Block] = {}
    touched = [made.key]
    for key, one in old.blocks.items():
        if one.start > end:
            blocks[key] = moved(one, by) if by else one
        elif key == made.key:
            blocks[key] = made
        elif made.key.startswith(f"{key}."):
            pieces = moved_pieces(one.pieces, None, end - one.start, new_end - one.start, by)
            blocks[key] = one._replace(pieces=pieces)
            touched.append(key)
        else:
            blocks[key] = one
    silenced = tuple([_moved(one, by) if one.span.start > end else one for one in old.suppressions])
    since = old.state, frozenset(touched)
    starts = [at + by if at > end else at for at in known.starts] if by else known.starts
    broken = (found.hole,) if found.hole is not None else ()
    facts = FileFacts(old.top, blocks, silenced, old.devices, broken, since=since, spot=found.spot)
    return facts, Sections(starts, known.apart)


def with_new_spot(text: bytes, facts: FileFacts, before: FileFacts, change: Change) -> FileFacts:
    """Returns facts that give the statement added or changed by an edit its own sites, for further edits."""
    block = _function(facts, Change(change.end, change.end, change.end))
    if block is None or facts.spot is not None or len(facts.broken) > 1 or "~" in block.key:
        return facts
    old = before.blocks.get(block.key)
    if old is None or old.shape == block.shape:
        return facts
    offset = change.end
    for broken in facts.broken:
        offset = broken.start
        path = path_to(block, offset)
        if path is None or not is_a_hole(block, path, broken):
            return facts
    found = watched_again(*with_holes(text, facts.broken), block, offset)
    return _with(facts, *found) if found is not None else facts


def with_old_spot(facts: FileFacts, earlier: Sequence[Earlier]) -> FileFacts:
    """Returns facts in which a function keeps its previous sites, if only its edited statement changed."""
    for one in earlier:
        spot = one.facts.spot
        block = facts.blocks.get(spot.key) if spot is not None else None
        if spot is None or block is None or facts.spot is not None:
            continue
        old = one.facts.blocks[spot.key]
        found = with_old_sites(old, spot, block) if old.shape is not block.shape else None
        if found is not None:
            return _with(facts, *found)
    return facts


def _with(facts: FileFacts, block: Block, spot: Spot) -> FileFacts:
    made = replace(facts, blocks={**facts.blocks, block.key: block}, spot=replace(spot, is_apart=True))
    return made if leaves_a_hole(made) or spot.is_apart else replace(made, spot=spot)


def with_spot(facts: FileFacts, before: FileFacts) -> FileFacts:
    """Returns facts that keep the last edited statement, if nothing around it changed."""
    spot = before.spot
    if spot is None or facts.spot is not None or facts is before:
        return facts
    old, block = before.blocks.get(spot.key), facts.blocks.get(spot.key)
    if old is None or block is None or old.content is not block.content:
        return facts
    return replace(facts, spot=spot)


def _function(old: FileFacts, change: Change) -> Block | None:
    """Returns the innermost block that contains an edit."""
    spot = old.spot.key if old.spot is not None else None
    if old.spot is not None and holds_change(old.blocks[old.spot.key], old.spot, change):
        return old.blocks[old.spot.key]
    near = [block for block in old.blocks.values() if block.start <= change.start]
    near.sort(key=_start, reverse=True)
    # After the last statement of a function there may be whitespace that belongs to its line.
    return next((block for block in near if change.old_end <= block.end or block.key == spot), None)


def _start(block: Block) -> int:
    return block.start


def _moved(one: Suppression, by: int) -> Suppression:
    return replace(one, span=Span(one.span.start + by, one.span.end + by))
