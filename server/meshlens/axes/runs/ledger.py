"""The results that roots share: results of calls, run counts of functions, numbers of objects.

Each is stored by *item*: a `Key` for the result of a call or the number of an object, a site for the latest result of a
function, and a pair of a site and a context for a run count.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from meshlens.axes.domain.values import Const, Value

MOST_PLAIN_RUNS = 2
MOST_TELLING_RUNS = 8

RootKey: TypeAlias = tuple[str, str]


class Key:
    """Everything that a call's result depends on, hashed once because its hash visits every value."""

    __slots__ = ("_hash", "_parts")

    def __init__(self, parts: tuple[object, ...]) -> None:
        self._parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self._hash == other._hash and self._parts == other._parts


@dataclass(frozen=True, slots=True)
class Shared:
    """A call's result that other roots can reuse.

    Attributes:
        value: the result.
        root: the root that made the call and has its records.
        heap: the objects that the call created.
        names: the strings among its arguments.
        given: the arguments, by parameter; empty if they are part of the key.
        is_for_any_number: whether a call that got other numbers had the same result.
    """

    value: Value
    root: RootKey
    heap: dict[int, dict[str, Value]]
    names: tuple[Const, ...] = ()
    given: Mapping[str, Value] = field(default_factory=dict)
    is_for_any_number: bool = False


Item: TypeAlias = Hashable
"""The key of a ledger's entry: a `Key`, a site, or a pair of a site and a context."""
Entry: TypeAlias = "Shared | int"
"""A ledger entry: a result, a run count, or an object's number."""


@dataclass(slots=True)
class Ledger:
    """The entries that one root found from earlier roots, and those that it leaves to later ones.

    Attributes:
        found: the entry of each item when the root first requested it, in order of requests; None if there was none.
            The items include the paths of the modules that the root requested, which may have run at that point.
        left: its own entry of each item.
    """

    found: dict[Item, Entry | None] = field(default_factory=dict)
    left: dict[Item, Entry] = field(default_factory=dict)


class Ledgers(Protocol):
    """The entries of all roots."""

    def find(self, item: Item, root: RootKey) -> Entry | None:
        """Returns an item's entry after all roots before the given one; None if there is none."""
        ...


def told(item: Item, left: Entry | None) -> Entry | None:
    """Returns an entry as far as it matters to a root: a run count above the function's limit becomes the limit."""
    return min(left, most_runs(item)) if type(item) is tuple and isinstance(left, int) else left


def added(before: Entry | None, more: Entry) -> Entry:
    """Returns an item's entry after another root: run counts add up, and the latest result wins."""
    return before + more if isinstance(before, int) and isinstance(more, int) else more


def most_runs(item: tuple[Any, ...]) -> int:
    """Returns how many times a function may run outside any map, depending on the functions and axis names it gets."""
    return 1 if type(item[1]) is frozenset else MOST_TELLING_RUNS if item[1][0] else MOST_PLAIN_RUNS


def is_number(item: Item, left: Entry | None) -> bool:
    """Returns whether an item's entry is the number of an object."""
    return type(item) is Key and type(left) is int


def is_same(one: Entry | None, other: Entry | None) -> bool:
    """Returns whether two entries are the same: numbers are compared by value, results by identity."""
    return one is other or (type(one) is int and one == other)
