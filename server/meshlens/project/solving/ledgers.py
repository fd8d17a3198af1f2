"""The results that roots leave for later roots, while all roots run in order or only some of them run again.

A reused root would find the same results again, so each solution equals that of a cold start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from meshlens.axes.domain.values import Class, Function
from meshlens.axes.runs.ledger import Entry, Item, Key, Ledger, Shared, added, is_number, is_same, told
from meshlens.axes.runs.roots import RootResult
from meshlens.axes.runs.spots import same

RootKey = tuple[str, str]

_EMPTY = Ledger()
_MOST_COMPARED = 2_000


class OneAfterTheOther:
    """The combined ledgers of the roots that `solve` has run or reused so far, in the order in which the roots ended.

    Attributes:
        turns: the position of each root in that order.
        is_out_of_step: whether a reused module would find something different now.
    """

    def __init__(self, kept: Mapping[RootKey, RootResult], before: Mapping[RootKey, RootResult]) -> None:
        """Starts with only the numbers of objects; an object keeps its number whichever root creates it first.

        Args:
            kept: the previous results of the roots that read nothing that changed.
            before: all previous results.
        """
        self.turns: dict[RootKey, int] = {}
        self.is_out_of_step = False
        self._kept, self._before = kept, before
        self._waiting = {path: result for (path, name), result in kept.items() if name == ""}
        self._left: dict[Item, Entry] = {
            item: left for result in kept.values() for item, left in result.ledger.left.items() if is_number(item, left)
        }

    def find(self, item: Item, root: RootKey) -> Entry | None:
        """Returns an item's entry from the roots that have ended; None if there is none."""
        return told(item, self._left.get(item))

    def add(self, root: RootKey, ledger: Ledger) -> None:
        """Adds a root's entries; an earlier result of another root takes precedence."""
        self.turns[root] = len(self.turns)
        before = self._before.get(root)
        if before is not None and before.ledger is not ledger:
            keep_results(before.ledger, ledger)
        left = self._left
        again: list[Item] = []
        for item, one in ledger.left.items():
            kind = type(item)
            if kind is Key:
                if left.setdefault(item, one) is not one and type(one) is not int:
                    again.append(item)
            else:
                left[item] = added(left.get(item), one)
        for item in again:
            del ledger.left[item]

    def pass_module(self, path: str) -> None:
        """Adds the entries of a module that need not run again, at its place in the order."""
        result = self._waiting.pop(path, None)
        if result is not None:
            if not self._agree(result.ledger):
                self.is_out_of_step = True
            self.add((path, ""), result.ledger)

    def usable(self, key: RootKey, results: Mapping[RootKey, RootResult]) -> RootResult | None:
        """Returns a root's previous result; None if it must run again.

        Args:
            key: the root.
            results: the previous results.
        """
        found = self._kept.get(key)
        if found is None or not found.relied <= results.keys() or not self._agree(found.ledger):
            return None
        return found

    def _agree(self, ledger: Ledger) -> bool:
        """Returns whether a root would find the same entries now.

        Also adds the entries left by the modules that the root requested.
        """
        left = self._left
        for item, found in ledger.found.items():
            if type(item) is str:
                self.pass_module(item)
            elif not is_same(told(item, left.get(item)), found):
                return False
        return True


class LedgerIndex:
    """Maps each item to the roots that left an entry for it; filled on first use.

    Consecutive solutions share one index, which is updated to the current roots.
    """

    __slots__ = ("_known", "_left_by")

    def __init__(self) -> None:
        self._known: dict[RootKey, Ledger] = {}
        self._left_by: dict[Item, tuple[RootKey, ...]] = {}

    def fit(self, ledgers: Iterable[tuple[RootKey, Ledger]]) -> None:
        """Updates the index for these roots."""
        known = self._known
        for key, ledger in ledgers:
            if known.get(key) is not ledger:
                self.note(key, ledger)

    def note(self, key: RootKey, ledger: Ledger) -> None:
        """Replaces a root's entries with its current ones."""
        index, old, now = self._left_by, self._known.get(key, _EMPTY).left, ledger.left
        self._known[key] = ledger
        for item in old:
            if item not in now:
                roots = index[item] = tuple([root for root in index[item] if root != key])
                if not roots:
                    del index[item]
        for item in now:
            if item not in old:
                index[item] = (*index.get(item, ()), key)

    def left_by(self, item: Item) -> tuple[RootKey, ...]:
        """Returns the roots that left an entry for an item."""
        return self._left_by.get(item, ())


class AsOfTurn:
    """The results of earlier roots, as each root sees them while some roots run again in order.

    Attributes:
        turns: the roots, numbered in the order in which they ended when all of them ran.
    """

    def __init__(self, index: LedgerIndex, results: Mapping[RootKey, RootResult], turns: Mapping[RootKey, int]) -> None:
        self._index, self._results, self.turns = index, results, turns
        self._fits = False

    def find(self, item: Item, root: RootKey) -> Entry | None:
        """Returns the entry that roots before the given root left for an item; None if there is none."""
        # A module that runs now but did not run before ends after all others, until all of them run again.
        turn, results = self.turns.get(root, len(self.turns)), self._results
        found: Entry | None = None
        at = -1
        for key in self._fitting().left_by(item):
            left = results[key].ledger.left[item]
            if is_number(item, left):
                return left
            own = self.turns[key]
            if own >= turn:
                continue
            if type(item) is tuple:
                found = added(found, left)
            elif found is None or (own < at) == (type(item) is Key):
                found, at = left, own
        return told(item, found)

    def add(self, root: RootKey, ledger: Ledger) -> None:
        """Does nothing: a module that runs now but did not run before changes the order of all roots."""

    def pass_module(self, path: str) -> None:
        """Does nothing: all modules have ended."""

    def misled(self, root: RootKey, old: Ledger, new: Ledger) -> Iterator[RootKey]:
        """Yields the later roots that would find something different after a root ran again.

        Args:
            root: the root.
            old: its previous entries.
            new: its current entries.
        """
        keep_results(old, new)
        self._fitting().note(root, new)
        changed = [item for item in old.left.keys() | new.left.keys() if not _leave_the_same(old, new, item)]
        turn = self.turns[root]
        for key, own in self.turns.items() if changed else ():
            found = self._results[key].ledger.found
            if own > turn and any(item in found and not is_same(self.find(item, key), found[item]) for item in changed):
                yield key

    def _fitting(self) -> LedgerIndex:
        if not self._fits:
            # Modules that no longer run, but are kept until all roots run again, have no turn.
            self._index.fit([(key, self._results[key].ledger) for key in self.turns])
            self._fits = True
        return self._index


def keep_results(old: Ledger, new: Ledger) -> None:
    """Keeps a root's previous entries where the new ones are equal, so that roots that found them need not run again.

    Args:
        old: the previous entries.
        new: the new entries.
    """
    for item, one in new.left.items():
        before = old.left.get(item)
        if before is not one and isinstance(one, Shared) and isinstance(before, Shared) and _are_alike(before, one):
            new.left[item] = before


def _leave_the_same(old: Ledger, new: Ledger, item: Item) -> bool:
    return is_same(old.left.get(item), new.left.get(item))


def _are_alike(one: Shared, other: Shared) -> bool:
    """Returns whether two results are the same; large ones, whose parts may recur many times, count as different."""
    heaps = (*one.heap.values(), one.given), (*other.heap.values(), other.given)
    if one.root != other.root or one.heap.keys() != other.heap.keys():
        return False
    if any(list(held) != list(fellow) for held, fellow in zip(*heaps, strict=True)):
        return False
    parts = [tuple([value for held in every for value in held.values()]) for every in heaps]
    whole = (one.value, one.names, parts[0]), (other.value, other.names, parts[1])
    return _is_small(whole[0]) and same(*whole)


def _is_small(value: Any) -> bool:
    waiting, seen = [value], 0
    while waiting:
        value = waiting.pop()
        seen += 1
        if seen > _MOST_COMPARED:
            return False
        if isinstance(value, tuple):
            waiting.extend(value)
        elif not isinstance(value, (Function, Class)):
            waiting.extend([getattr(value, name) for name in getattr(type(value), "__match_args__", ())])
    return True
