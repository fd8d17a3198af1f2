"""Selects the functions worth entering: those from which names lead to something related to axes.

A name represents every workspace function of that name, so nothing relevant is missed; most ordinary numerical code is
skipped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import NamedTuple

from meshlens.axes.runs.context import AxisEnv
from meshlens.axes.worth.interesting_words import (
    binding_words,
    dated_words,
    root_words,
    spec_words,
    using_words,
    words_in_maps,
)
from meshlens.facts.mentioned import CALLS_ENTRY, LOCAL_FUNCTION, MAKES_FUNCTIONS, SERVES_RELEASES, is_mark
from meshlens.facts.model import Block, FileFacts, Shape
from meshlens.facts.nodes import Assign, FunctionDef, Name
from meshlens.jaxapi.command_lines import BUILDS_PARSERS
from meshlens.jaxapi.known_names import CONFIGURATION_WORDS, OPTIMIZER_WORDS

_SMALL = 12
_SHORT = 40
_MAKE_ARRAYS = frozenset(
    "integers standard_normal randint randn normal uniform truncated_normal zeros ones full reshape einsum one_hot "
    "concatenate stack transpose split arange linspace meshgrid".split()
)
_FILL = frozenset({"pad", "resize"})
_MATCH = frozenset("search fullmatch keystr tree_map_with_path map_with_path".split())
"""The names of functions with which code picks a table entry for each path in a tree."""
_HOLD_NAMES_OR_FUNCTIONS = CONFIGURATION_WORDS | OPTIMIZER_WORDS | BUILDS_PARSERS
_NEVER = 1 << 30
_ENTRY_METHODS = ("__init__", "__call__", "setup", "__post_init__")


Facts = Mapping[str, FileFacts]
Mentions = dict[str, tuple[str, ...]]
Ranks = dict[str, int]
Row = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""The names that a changed block owned and mentioned before, and those that it owns and mentions now."""


class Reach(NamedTuple):
    """Facts that decide whether a function is entered.

    Attributes:
        is_light: whether it mentions few names, or is worth running in any case.
        binds: whether names lead from it to something that binds an axis.
        uses: whether they lead to something that binds or uses an axis.
        makes_functions: whether it creates functions.
        draws: whether it mentions what matters only inside maps, such as random numbers.
        is_short: whether it mentions so few names that it is cheap to run.
        makes_arrays: whether it is short and creates arrays.
    """

    is_light: bool
    binds: bool
    uses: bool
    makes_functions: bool
    draws: bool
    is_short: bool
    makes_arrays: bool


class Interest:
    """The interesting blocks of one state of the workspace."""

    def __init__(
        self, facts: Facts, mentioned: dict[str, Mentions], closures: list[Ranks], dated: frozenset[str]
    ) -> None:
        self._facts, self._mentioned, self._dated = facts, mentioned, dated
        self._binding, self._using = closures
        self._reach: dict[tuple[str, str], Reach | tuple[()]] = {}
        self._roots: dict[tuple[str, str, bool], bool] = {}
        self._names_axes: dict[tuple[str, str], tuple[bool, tuple[str, ...]]] = {}
        self._sorted: dict[str, list[str]] = {}

    @staticmethod
    def of(facts: Facts, before: Interest | None = None, asked: frozenset[str] = frozenset()) -> Interest:
        """Returns the interesting blocks of a workspace, reusing the results for unchanged files.

        Args:
            facts: the facts of the workspace.
            before: an earlier state.
            asked: names that are as interesting as those of axes.
        """
        mentioned: dict[str, Mentions] = {}
        users: dict[str, list[tuple[str, ...]]] = defaultdict(list)
        dated: set[str] = set()
        for path, file in facts.items():
            mentioned[path] = mentions = _mentions_in(path, file, before)
            for key, block in file.blocks.items():
                names = mentions[key]
                owns = _owns(key, block, names)
                if not dated_words().isdisjoint(names):
                    dated.update(owns)
                for name in names:
                    users[name].append(owns)
        binding = binding_words() | asked
        closures = [_closure(words, users) for words in (binding, binding | using_words())]
        return Interest(facts, mentioned, closures, frozenset(dated))

    def after(
        self,
        facts: Facts,
        changed: Iterable[tuple[str, str]],
        known: Mapping[tuple[str, str], tuple[str, ...]] | None = None,
    ) -> tuple[Interest, frozenset[str]] | None:
        """Returns the state after the given blocks changed, and the names that now lead to something of interest.

        Returns None if a name may no longer lead there, or if that cannot be decided quickly.

        Args:
            facts: the facts of the workspace now.
            changed: the blocks, by path and key, that changed, appeared or disappeared.
            known: the names that some of the changed blocks mention now.
        """
        mentioned = dict(self._mentioned)
        rows: list[Row] = []
        for path in {path for path, _ in changed}:
            mentioned[path] = dict(mentioned[path])
        for path, key in changed:
            old, new = self._facts[path].blocks.get(key), facts[path].blocks.get(key)
            was = mentioned[path].pop(key, ())
            given = known.get((path, key)) if known is not None else None
            now = given if given is not None else new.names if new is not None else ()
            if new is not None:
                mentioned[path][key] = now
            owned = _owns(key, old, was) if old is not None else ()
            rows.append((owned, was, _owns(key, new, now) if new is not None else (), now))
        closures = []
        dated = _dated_after(self._dated, rows)
        if dated is None:
            return None
        more: set[str] = set(dated - self._dated)
        for closure in (self._binding, self._using):
            grown = _grown(closure, rows, mentioned, facts)
            if grown is None:
                return None
            closures.append(grown)
            more.update(grown.keys() - closure.keys() if grown is not closure else ())
        return Interest(facts, mentioned, closures, dated), frozenset(more)

    def mentioning(self, names: frozenset[str]) -> frozenset[tuple[str, str]]:
        """Returns the blocks that mention one of these names."""
        return frozenset(
            (path, key)
            for path, mentions in self._mentioned.items()
            for key, mentioned in mentions.items()
            if not names.isdisjoint(mentioned)
        )

    def differing(
        self, before: Interest, changed: Iterable[tuple[str, str]]
    ) -> tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]:
        """Returns the blocks that are worth more than before, as roots or when called, and those that are worth less.

        Args:
            before: the previous state.
            changed: the blocks that changed, appeared or disappeared; others are judged by the names that they mention.
        """
        names = set(self._dated ^ before._dated)
        for now, was in ((self._binding, before._binding), (self._using, before._using)):
            if now is not was:
                names |= now.keys() ^ was.keys()
        more: set[tuple[str, str]] = set()
        less: set[tuple[str, str]] = set()
        blocks = {*changed}
        around = {(path, key.rpartition(".")[0]) for path, key in blocks}
        for block in {*blocks, *around, *(self.mentioning(frozenset(names)) if names else ())}:
            worths = before.reach(*block) + before.verdict(*block), self.reach(*block) + self.verdict(*block)
            came_or_went = len(worths[0]) != len(worths[1])
            if came_or_went or any(now and not was for was, now in zip(*worths, strict=True)):
                more.add(block)
            if came_or_went or any(was and not now for was, now in zip(*worths, strict=True)):
                less.add(block)
        return frozenset(more), frozenset(less)

    def verdict(self, path: str, key: str) -> tuple[bool, ...]:
        """Returns everything that decides whether a block is a root, for comparison with another state."""
        mentioned = self._mentioned_in(path, key)
        if mentioned is None:
            return ()
        starts = (self.is_worth_a_root(path, key, starts=True), self.is_worth_a_root(path, key, starts=False))
        return (*starts, "jax" in mentioned)

    def reach(self, path: str, key: str) -> Reach | tuple[()]:
        """Returns everything that `reaches` depends on; empty if there is no such block."""
        found = self._reach.get((path, key))
        if found is None:
            found = self._reach[(path, key)] = self._reach_of(path, key)
        return found

    def _reach_of(self, path: str, key: str) -> Reach | tuple[()]:
        mentioned = self._mentioned_in(path, key)
        if mentioned is None:
            return ()
        binds, uses = (not closure.keys().isdisjoint(mentioned) for closure in (self._binding, self._using))
        makes, draws = MAKES_FUNCTIONS in mentioned, not words_in_maps().isdisjoint(mentioned)
        is_light = len(mentioned) <= _SMALL or not _HOLD_NAMES_OR_FUNCTIONS.isdisjoint(mentioned)
        is_light |= CALLS_ENTRY in mentioned
        is_short = len(mentioned) <= _SHORT
        # The result of a factory that is not run is unknown, and so is all that the functions that it returns compute.
        is_light |= is_short and (makes or not (spec_words() | _MATCH).isdisjoint(mentioned))
        arrays = is_short and not _MAKE_ARRAYS.isdisjoint(mentioned)
        return Reach(is_light, binds, uses, makes, draws, is_short, arrays)

    def _mentioned_in(self, path: str, key: str) -> tuple[str, ...] | None:
        mentions = self._mentioned.get(path)
        return mentions.get(key) if mentions is not None else None

    def reaches(self, path: str, key: str, env: AxisEnv) -> bool:
        """Returns whether calling a block in an environment can reveal anything about axes.

        If unseen callers may bind any axis, a use of an axis reveals nothing. Then only binders matter, and code that
        uses axes and creates functions, because a binder may map these.
        """
        reach = self.reach(path, key)
        if not reach:
            return True
        if reach.is_light or reach.binds:
            return True
        if env.open and not env.maps and not reach.makes_functions:
            return False
        return reach.uses or (bool(env.maps) and (reach.draws or reach.is_short))

    def makes_arrays(self, path: str, key: str) -> bool:
        """Returns whether a block is short and creates arrays, judging by the names that it mentions."""
        reach = self.reach(path, key)
        return reach.makes_arrays if reach else False

    def is_short(self, path: str, key: str) -> bool:
        """Returns whether a block mentions so few names that it is cheap to run."""
        reach = self.reach(path, key)
        return reach.is_short if reach else False

    def maps_trees(self, path: str, key: str) -> bool:
        """Returns whether a block mentions `jax.tree.map`."""
        mentioned = self._mentioned_in(path, key)
        return mentioned is not None and ("tree_map" in mentioned or ("tree" in mentioned and "map" in mentioned))

    def fills_up(self, path: str, key: str) -> bool:
        """Returns whether a block mentions a function that may fill up a batch."""
        mentioned = self._mentioned_in(path, key)
        return mentioned is not None and not _FILL.isdisjoint(mentioned)

    def matches_patterns(self, path: str, key: str) -> bool:
        """Returns whether a block mentions a function that selects a table entry by path or pattern."""
        mentioned = self._mentioned_in(path, key)
        return mentioned is not None and not _MATCH.isdisjoint(mentioned)

    def is_worth_a_root(self, path: str, key: str, *, starts: bool) -> bool:
        """Returns whether a block is worth running as a root.

        Args:
            path: the file.
            key: the block.
            starts: whether Python or a test runner enters this block, as it does a module or a test, so the bound axes
                are known.
        """
        found = self._roots.get((path, key, starts))
        if found is None:
            found = self._roots[(path, key, starts)] = self._is_worth_a_root(path, key, starts)
        return found

    def _is_worth_a_root(self, path: str, key: str, starts: bool) -> bool:
        mentioned = self._mentioned_in(path, key)
        if mentioned is None or not root_words().isdisjoint(mentioned):
            return True
        if any(self.is_worth_a_root(path, inner, starts=False) for inner in self._functions_in(path, key)):
            return True
        if SERVES_RELEASES in mentioned and not self._dated.isdisjoint(mentioned):
            return True
        return not (self._using if starts else self._binding).keys().isdisjoint(mentioned)

    def names_axes(self, path: str, key: str) -> tuple[bool, tuple[str, ...]]:
        """Returns whether a block or a block inside it mentions axes, and the keys of all these blocks."""
        found = self._names_axes.get((path, key))
        if found is None:
            mentions = self._mentioned.get(path, {})
            blocks = (key, *self._inside(path, key))
            words = binding_words() | using_words()
            says = any(not words.isdisjoint(mentions.get(block, ())) for block in blocks)
            found = self._names_axes[(path, key)] = says, blocks
        return found

    def _inside(self, path: str, key: str) -> list[str]:
        """Returns the keys of the blocks inside a block."""
        keys = self._sorted.get(path)
        if keys is None:
            keys = self._sorted[path] = sorted(self._mentioned.get(path, {}))
        # "/" is the character after ".", so it ends the range of keys with this prefix.
        return keys[bisect_left(keys, key + ".") : bisect_left(keys, key + "/")]

    def _functions_in(self, path: str, key: str) -> list[str]:
        """Returns the keys of a function's nested functions with separate blocks; none for a class."""
        found = self._inside(path, key)
        return found if found and isinstance(self._facts[path].blocks[key].header, FunctionDef) else []

    def is_worth_reading(self, path: str) -> bool:
        """Returns whether the top level of a file is worth running even if nothing imports it."""
        return any(
            "jax" in mentioned or self.is_worth_a_root(path, key, starts=True)
            for key, mentioned in self._mentioned.get(path, {}).items()
        )


def _mentions_in(path: str, file: FileFacts, before: Interest | None) -> Mentions:
    if before is not None and before._facts.get(path) is file:
        return before._mentioned[path]
    return {key: block.names for key, block in file.blocks.items()}


def _closure(words: frozenset[str], users: Mapping[str, list[tuple[str, ...]]]) -> Ranks:
    """Returns the names that reach one of these words, each with the minimum number of steps."""
    found = dict.fromkeys(words, 0)
    waiting = list(words)
    for name in waiting:
        rank = found[name] + 1
        for owns in users.get(name, ()):
            for user in owns:
                if user not in found:
                    found[user] = rank
                    waiting.append(user)
    return found


def _nearest(closure: Ranks, names: tuple[str, ...]) -> int:
    """Returns the minimum number of steps from the given names to one of the words."""
    return min([closure[name] for name in names if name in closure], default=_NEVER)


def _grown(
    closure: Ranks,
    rows: list[Row],
    mentioned: Mapping[str, Mentions],
    facts: Facts,
) -> Ranks | None:
    """Returns the closure updated for changed blocks; None if a name may have dropped out of it."""
    new: Ranks = {}
    for owned, was, owns, now in rows:
        before, rank = _nearest(closure, was), _nearest(closure, now)
        for own in owned:
            held = closure.get(own)
            # A name may drop out if this block was near enough to the words to keep it in, and no longer is.
            if held and before < held and (own not in owns or rank >= held):
                return None
        for own in owns:
            if rank < _NEVER and own not in closure:
                new[own] = min(rank + 1, new.get(own, rank + 1))
    if not new:
        return closure
    grown = {**closure, **new}
    waiting = list(new)
    for name in waiting:
        for path, mentions in mentioned.items():
            for key, names in mentions.items():
                if name not in names:
                    continue
                for user in _owns(key, facts[path].blocks[key], names):
                    if user not in grown:
                        grown[user] = grown[name] + 1
                        waiting.append(user)
    return grown


def _dated_after(dated: frozenset[str], rows: list[Row]) -> frozenset[str] | None:
    """Returns the names of the blocks that mention dated words after a change; None if a block may no longer do so."""
    words = dated_words()
    for owned, was, owns, now in rows:
        if not words.isdisjoint(was) and (words.isdisjoint(now) or not set(owned) <= set(owns)):
            return None
        if not words.isdisjoint(now):
            dated |= set(owns)
    return dated


def _owns(key: str, block: Block, mentioned: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names by which others may refer to a block or to the local functions that it defines."""
    made = [name[1:] for name in takewhile(is_mark, mentioned) if name[:1] == LOCAL_FUNCTION]
    return (*_own_names(key, block.header), *made) if made else _own_names(key, block.header)


def _own_names(key: str, shape: Shape) -> tuple[str, ...]:
    name = key.split("~", 1)[0].rsplit(".", 1)[-1]
    if name in _ENTRY_METHODS and "." in key:
        return (name, key.split(".")[-2]) if name != "__init__" else (key.split(".")[-2],)
    if isinstance(shape, Assign):
        return tuple(target.name for target in shape.targets if isinstance(target, Name))
    return (name,)
