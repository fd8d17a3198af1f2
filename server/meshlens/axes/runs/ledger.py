"""The results that roots leave to each other: results of calls, how often functions ran, the numbers of objects.

All of it is by *item*: a `Key` for the result of a call or the number of an object, a site for the latest result of a
function, a pair of a site and circumstances for how often a function ran.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from meshlens.axes.domain.values import Const, Value

MOST_PLAIN_RUNS = 2
MOST_TELLING_RUNS = 8

RootKey: TypeAlias = tuple[str, str]


class Key:
    """Everything that a call's result depends on, hashed once: its hash goes through every value in it."""

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
    """The result of a call that other roots need not repeat.

    Attributes:
        value: what came out.
        root: the root that made the call and holds its records.
        heap: the objects that the call made.
        names: the strings among its arguments.
        given: the arguments, by parameter; empty where a key holds them.
    """

    value: Value
    root: RootKey
    heap: dict[int, dict[str, Value]]
    names: tuple[Const, ...] = ()
    given: Mapping[str, Value] = field(default_factory=dict)


Entry: TypeAlias = "Shared | int"
"""What stands in a ledger: a result, how often a function ran, or the number of an object."""


@dataclass(slots=True)
class Ledger:
    """The results that one root found of those that ran before it, and those that it leaves to later ones.

    Attributes:
        found: what stood under each item when the root first asked, in this order; None for nothing.  Between them
            stand the paths of the modules that it asked for, which may have run then.
        left: what it leaves under each.
    """

    found: dict[Any, Entry | None] = field(default_factory=dict)
    left: dict[Any, Entry] = field(default_factory=dict)


class Ledgers(Protocol):
    """The results that roots have left."""

    def find(self, item: Any, root: RootKey) -> Entry | None:
        """Returns what the roots that ended before another one left under an item; None for nothing."""
        ...


def told(item: Any, left: Entry | None) -> Entry | None:
    """Returns what a root learns of something: of how often a function ran no more than whether it may run again."""
    return min(left, most_runs(item)) if type(item) is tuple and isinstance(left, int) else left


def added(before: Entry | None, more: Entry) -> Entry:
    """Returns the entry of an item after another root: run counts add up, and of results the latest counts."""
    return before + more if isinstance(before, int) and isinstance(more, int) else more


def most_runs(item: Any) -> int:
    """How often a function runs outside every map, by what it is given: functions, names of axes, anything else."""
    return 1 if type(item[1]) is frozenset else MOST_TELLING_RUNS if item[1][0] else MOST_PLAIN_RUNS


def is_number(item: Any, left: Entry | None) -> bool:
    """Returns whether what stands under an item is the number of an object."""
    return type(item) is Key and type(left) is int


def is_same(one: Entry | None, other: Entry | None) -> bool:
    """Returns whether a root finds the same: a result of a run, not one that equals it."""
    return one is other or (type(one) is int and one == other)
