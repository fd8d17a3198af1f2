"""The arrays in a tree of values, as far as its structure is known, and the specs that apply to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from meshlens.axes.domain.values import Dict, Seq, Spec, Value

_MOST_PAIRS = 256


class SpecPair(NamedTuple):
    """An array and its spec.

    Attributes:
        spec: the spec.
        value: the array.
        path: positions of the entries that lead to the spec, outermost first.
    """

    spec: Spec
    value: Value
    path: tuple[int, ...]


def spec_pairs(entry: Value, value: Value) -> Iterator[SpecPair]:
    """Yields each array in a value with its spec from a tree of specs; skips specs and values that are not fully known.

    A spec in place of a tree applies to every array in that tree.
    """
    waiting: list[tuple[Value, Value, tuple[int, ...]]] = [(entry, value, ())]
    met: set[tuple[int, int]] = set()
    while waiting and len(met) < _MOST_PAIRS:
        own, part, path = waiting.pop()
        if (id(own), id(part)) in met:
            continue
        met.add((id(own), id(part)))
        if isinstance(part, Seq):
            if isinstance(own, Seq):
                if not own.open and not part.open and len(own.items) == len(part.items):
                    pairs = enumerate(zip(own.items, part.items, strict=True))
                    waiting.extend([(one, item, (*path, place)) for place, (one, item) in pairs][::-1])
            elif isinstance(own, Spec) and not part.open:
                waiting.extend([(own, item, path) for item in part.items[::-1]])
        elif isinstance(part, Dict):
            if isinstance(own, Dict):
                held = {(type(key), key): item for key, item in part.items}
                places = [(place, held.get((type(key), key)), one) for place, (key, one) in enumerate(own.items)]
                waiting.extend([(one, item, (*path, place)) for place, item, one in places[::-1] if item is not None])
            elif isinstance(own, Spec) and not part.open:
                waiting.extend([(own, item, path) for _, item in part.items[::-1]])
        elif isinstance(own, Spec) and not own.open:
            yield SpecPair(own, part, path)
