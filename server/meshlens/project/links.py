"""Which blocks a record ties together: what is said of one of them may depend on the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from meshlens.axes.map_values import Binder, Mapped, Spec, Wrapped
from meshlens.axes.records import Context, Records
from meshlens.axes.values import (
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

BlockKey = tuple[str, str]
Links = Mapping[BlockKey, frozenset[BlockKey]]

_DEEPEST = 12


def links_of(records: Records) -> Links:
    """For each block, the blocks that some record mentions together with it."""
    linked: dict[BlockKey, set[BlockKey]] = {}
    for sites in _sites_of_records(records):
        blocks = {(site[0], site[1]) for site in sites if site is not None}
        if len(blocks) == 1:
            linked.setdefault(next(iter(blocks)), set())
            continue
        for block in blocks:
            linked.setdefault(block, set()).update(blocks)
    return {block: frozenset(others) for block, others in linked.items()}


def _sites_of_records(records: Records) -> Iterator[list[Site | None]]:
    for use in records.uses:
        found = [use.call, use.axis]
        _add(found, (use.name, use.whole, use.labels, use.arguments), 0)
        yield _with_context(found, use.context)
    for call in records.calls:
        found = [call.call]
        for arg in call.args:
            if type(arg.value) is not Data or arg.value.labels:
                _add(found, arg.value, 0)
        _add(found, call.result, 0)
        yield _with_context(found, call.context)
    for mention in records.mentions:
        yield [mention.site]
    for binding in records.bindings:
        found = []
        _add(found, binding.binder, 0)
        yield _with_context(found, binding.context)
    for mapped in records.mapped_calls:
        found = [mapped.call]
        _add(found, (mapped.binder, mapped.args, mapped.returned), 0)
        yield _with_context(found, mapped.context)
    for draw in records.random_uses:
        found = [draw.call, draw.key]
        _add(found, draw.labels, 0)
        yield _with_context(found, draw.context)
    for gradient in records.gradient_uses:
        yield _with_context([gradient.site, gradient.other], gradient.context)


def _with_context(found: list[Site | None], context: Context) -> list[Site | None]:
    if context.env.maps:
        found += [binder.site for binder in context.env.maps]
    if context.env.bound:
        found += [bound.binder.site for bound in context.env.bound]
    if context.branch is not None:
        found.append(context.branch[0])
    found.append(context.function)
    for step in context.route:
        # A finding may lie where a route leaves the others.
        found += (step.site, step.function)
    return found


def _add(found: list[Site | None], value: Any, depth: int) -> None:
    """Adds the places that a value speaks of."""
    kind = type(value)
    if value is None or kind in _PLAIN or depth > _DEEPEST:
        return
    if kind is Site:
        found.append(value)
    elif kind is Const:
        found += (value.origin, value.via)
    elif kind is Data:
        if value.labels:
            _add(found, value.labels, depth + 1)
    elif kind is tuple or kind is frozenset:
        for part in value:
            _add(found, part, depth + 1)
    elif kind is Binder:
        found += (value.site, value.operand_site)
        _add(found, (value.arguments, value.operand), depth + 1)
    else:
        for part in _PARTS.get(kind, _nothing)(value):
            _add(found, part, depth + 1)


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
    """The links of all roots, worked out when they are first needed; solutions that follow each other share one."""

    __slots__ = ("_by_path", "_known")

    def __init__(self) -> None:
        self._known: dict[BlockKey, tuple[Records, Links]] = {}
        self._by_path: dict[str, set[BlockKey]] = {}

    def of(self, root: BlockKey, records: Records) -> Links:
        """The links that a root's records make."""
        known = self._known.get(root)
        if known is not None and known[0] is records:
            return known[1]
        links = links_of(records)
        self._known[root] = records, links
        for path in {path for path, _ in links}:
            self._by_path.setdefault(path, set()).add(root)
        return links

    def gathered(self, start: Iterable[BlockKey], records: Mapping[BlockKey, Records]) -> frozenset[BlockKey]:
        """The blocks that are tied to some blocks, however far away.

        Args:
            start: the blocks.
            records: the records of every root.
        """
        for root, made in records.items():
            if root not in self._known:
                self.of(root, made)
        found = set(start)
        waiting = list(found)
        tables: dict[str, list[Links]] = {}
        for block in waiting:
            if block[0] not in tables:
                roots = [root for root in self._by_path.get(block[0], ()) if root in records]
                tables[block[0]] = [self.of(root, records[root]) for root in roots]
            for table in tables[block[0]]:
                for other in table.get(block, ()):
                    if other not in found:
                        found.add(other)
                        waiting.append(other)
        return frozenset(found)


def only(records: Records, blocks: frozenset[BlockKey]) -> Records:
    """The records whose place lies in some blocks, in their order."""
    return Records(
        [one for one in records.uses if one.call[:2] in blocks],
        [one for one in records.calls if one.call[:2] in blocks],
        [one for one in records.mentions if one.site[:2] in blocks],
        [one for one in records.bindings if one.binder.site[:2] in blocks],
        [one for one in records.mapped_calls if one.call[:2] in blocks],
        [one for one in records.calls_of_maps if one.binder.site[:2] in blocks],
        [one for one in records.random_uses if one.call[:2] in blocks],
        [one for one in records.gradient_uses if one.site[:2] in blocks],
    )
