"""Determines which blocks a record ties together, so that findings in one may depend on the others."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from meshlens.axes.domain.map_values import Binder, Mapped, Spec, Wrapped
from meshlens.axes.domain.values import (
    Arg,
    Bound,
    Class,
    Const,
    Data,
    Dict,
    Function,
    Instance,
    Made,
    Partial,
    Seq,
    Site,
    Union,
)
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import RandomUse, Records
from meshlens.axes.runs.roots import RootResult

BlockKey = tuple[str, str]
Links = Mapping[BlockKey, frozenset[BlockKey]]

_DEEPEST = 12
_NONE: frozenset[BlockKey] = frozenset()


@dataclass(frozen=True, slots=True)
class Gathered:
    """Blocks that are tied together, and the roots that may have records in them."""

    blocks: frozenset[BlockKey]
    roots: frozenset[BlockKey]


def links_of(records: Records) -> Links:
    """Returns, for each block, the blocks that some record mentions together with it."""
    blocks_of = _Blocks().of
    linked: dict[BlockKey, set[BlockKey]] = {}
    seen: set[frozenset[BlockKey]] = set()
    for sites, parts in _parts_of_records(records):
        found = {site[:2] for site in sites if site is not None}
        for part in parts:
            found |= blocks_of(part, 0)
        blocks = frozenset(found)
        if blocks in seen:
            continue
        seen.add(blocks)
        if len(blocks) == 1:
            linked.setdefault(next(iter(blocks)), set())
            continue
        for block in blocks:
            linked.setdefault(block, set()).update(blocks)
    return {block: frozenset(others) for block, others in linked.items()}


def _parts_of_records(records: Records) -> Iterator[tuple[tuple[Site | None, ...], tuple[Any, ...]]]:
    """Yields the places and values of each record."""
    for use in records.uses:
        yield (use.call, use.axis), (use.name, use.whole, use.labels, use.arguments, use.context)
    for call in records.calls:
        values = [arg.value for arg in call.args if type(arg.value) is not Data or arg.value.labels]
        yield (call.call,), (*values, call.result, call.context)
    for mention in records.mentions:
        yield (mention.site,), ()
    for binding in records.bindings:
        yield (), (binding.binder, binding.context)
    for mapped in records.mapped_calls:
        yield (mapped.call,), (mapped.binder, mapped.args, mapped.returned, mapped.context)
    for draw in records.random_uses:
        yield _places_of(draw), (draw.labels, draw.context)
    for gradient in records.gradient_uses:
        yield (gradient.site, gradient.other), (gradient.context,)


class _Blocks:
    """The blocks that values refer to; a value shared by many records is read once."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], frozenset[BlockKey]] = {}

    def of(self, value: Any, depth: int) -> frozenset[BlockKey]:
        """Returns the blocks of a value's places; the value must outlive this object."""
        kind = type(value)
        if value is None or kind in _PLAIN or depth > _DEEPEST:
            return _NONE
        if kind is Data and not value.labels:
            return _NONE
        known = self._known.get((id(value), depth))
        if known is None:
            known = self._known[(id(value), depth)] = self._of(kind, value, depth)
        return known

    def _of(self, kind: type, value: Any, depth: int) -> frozenset[BlockKey]:
        if kind is Site:
            return frozenset((value[:2],))
        sites, parts = _inside(kind, value)
        found = {site[:2] for site in sites if site is not None}
        for part in parts:
            found |= self.of(part, depth + 1)
        return frozenset(found)


def _inside(kind: type, value: Any) -> tuple[tuple[Site | None, ...], Iterable[Any]]:
    """Returns the places that a value itself refers to, and the values inside it."""
    if kind is Const:
        return (value.origin, value.via), ()
    if kind is Data:
        return (), (value.labels,)
    if kind is Context:
        return _sites_of_context(value), ()
    if kind is tuple or kind is frozenset:
        return (), value
    if kind is Binder:
        return (value.site, value.operand_site), (value.arguments, value.operand)
    return (), _PARTS.get(kind, _nothing)(value)


def _sites_of_context(context: Context) -> tuple[Site | None, ...]:
    found: list[Site | None] = [context.function]
    if context.env.maps:
        found += [binder.site for binder in context.env.maps]
    if context.env.bound:
        found += [bound.binder.site for bound in context.env.bound]
    if context.branch is not None:
        found.append(context.branch[0])
    for step in context.route:
        # A finding may be placed where a route diverges from the others.
        found += (step.site, step.function)
    return tuple(found)


def _nothing(_value: Any) -> Iterable[Any]:
    return ()


_PLAIN = frozenset((str, int, float, bool, bytes))
_PARTS: dict[type, Any] = {
    Arg: lambda one: (one.value, one.site),
    Seq: lambda one: one.items,
    Dict: lambda one: [item for _, item in one.items],
    Union: lambda one: one.options,
    Function: lambda one: (one.site,),
    Bound: lambda one: (one.receiver, one.function),
    Class: lambda one: (one.site,),
    Instance: lambda one: (one.cls, one.made),
    Made: lambda one: (one.site, one.arguments, one.labels),
    Partial: lambda one: (one.site, one.callee, one.args),
    Spec: lambda one: (one.site, one.entries),
    Mapped: lambda one: (one.binder,),
    Wrapped: lambda one: (one.site, one.operand, one.arguments),
}


class LinkIndex:
    """The blocks of all roots, computed on demand and shared by consecutive solutions."""

    __slots__ = ("_blocks", "_links", "_roots")

    def __init__(self) -> None:
        self._blocks: dict[BlockKey, tuple[Records, frozenset[BlockKey]]] = {}
        self._links: dict[BlockKey, tuple[Records, Links]] = {}
        self._roots: dict[BlockKey, set[BlockKey]] = {}

    def blocks_of(self, root: BlockKey, records: Records) -> frozenset[BlockKey]:
        """Returns the blocks that a root's records refer to."""
        known = self._blocks.get(root)
        if known is not None and known[0] is records:
            return known[1]
        blocks = all_blocks(records)
        self._blocks[root] = records, blocks
        for block in blocks:
            self._roots.setdefault(block, set()).add(root)
        return blocks

    def forget_others(self, roots: Container[BlockKey]) -> None:
        """Forgets the roots that are gone."""
        gone = [root for root in self._blocks if root not in roots]
        for root in gone:
            for block in self._blocks.pop(root)[1]:
                held = self._roots.get(block)
                if held is not None:
                    held.discard(root)
                    if not held:
                        del self._roots[block]
            self._links.pop(root, None)

    def follow(self, root: BlockKey, before: Records, now: Records, come: Sequence[Records]) -> None:
        """Reuses the data about a root's previous records for its current ones, most of which are the same.

        The blocks of removed records stay tied, so a search may return more blocks than necessary.

        Args:
            root: the root.
            before: its previous records.
            now: its current records.
            come: the current records that are new.
        """
        known, links = self._blocks.get(root), self._links.get(root)
        if known is None or known[0] is not before:
            return
        blocks = known[1].union(*map(all_blocks, come))
        self._blocks[root] = now, blocks
        for block in blocks - known[1]:
            self._roots.setdefault(block, set()).add(root)
        if links is not None and links[0] is before:
            tied = dict(links[1])
            for more in map(links_of, come):
                tied.update({block: tied.get(block, _NONE) | others for block, others in more.items()})
            self._links[root] = now, tied

    def gathered(self, start: Iterable[BlockKey], results: Mapping[BlockKey, RootResult]) -> Gathered:
        """Returns the blocks tied to the given ones, directly or indirectly, and the roots that may have records there.

        Args:
            start: the blocks.
            results: the results of all roots.
        """
        known = self._blocks
        for root, result in results.items():
            if root not in known or known[root][0] is not result.records:
                self.blocks_of(root, result.records)
        found = set(start)
        waiting = list(found)
        roots: set[BlockKey] = set()
        exhausted: set[BlockKey] = set()
        for block in waiting:
            for root in self._roots.get(block, ()):
                if root not in results or root in exhausted:
                    continue
                roots.add(root)
                if known[root][1] <= found:
                    exhausted.add(root)
                    continue
                new = self._tied(root, results[root].records).get(block, _NONE) - found
                found |= new
                waiting += new
        return Gathered(frozenset(found), frozenset(roots))

    def _tied(self, root: BlockKey, records: Records) -> Links:
        known = self._links.get(root)
        if known is None or known[0] is not records:
            known = self._links[root] = records, links_of(records)
        return known[1]


def all_blocks(records: Records) -> frozenset[BlockKey]:
    """Returns the blocks that any of these records refers to."""
    blocks: set[BlockKey] = set()
    seen: set[int] = set()
    waiting: list[Any] = []
    for sites, parts in _parts_of_records(records):
        blocks.update([site[:2] for site in sites if site is not None])
        waiting += parts
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if value is None or kind in _PLAIN or (kind is Data and not value.labels):
            continue
        if kind is Site:
            blocks.add(value[:2])
        elif id(value) not in seen:
            seen.add(id(value))
            places, inner = _inside(kind, value)
            blocks.update([site[:2] for site in places if site is not None])
            waiting += inner
    return frozenset(blocks)


def _places_of(draw: RandomUse) -> tuple[Site, ...]:
    return (draw.call, draw.key) if draw.made is None else (draw.call, draw.key, draw.made)


def only(records: Records, blocks: frozenset[BlockKey]) -> Records:
    """Returns the records located in the given blocks, in order."""
    return Records(
        [one for one in records.uses if one.call[:2] in blocks],
        [one for one in records.calls if one.call[:2] in blocks],
        [one for one in records.mentions if one.site[:2] in blocks],
        [one for one in records.bindings if one.binder.site[:2] in blocks],
        [one for one in records.mapped_calls if one.call[:2] in blocks],
        [one for one in records.calls_of_maps if one.binder.site[:2] in blocks],
        [one for one in records.random_uses if any(site[:2] in blocks for site in _places_of(one))],
        [one for one in records.gradient_uses if one.site[:2] in blocks],
    )
