"""Which functions are worth entering: those from which something to do with axes can be reached, by names.

A name stands for every function of that name in the workspace, so nothing that matters is left out; what is
left out is the bulk of ordinary numerical code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

from meshlens.axes.records import AxisEnv
from meshlens.facts.model import FileFacts, Shape
from meshlens.jaxapi.binders import BINDERS
from meshlens.jaxapi.collectives import COLLECTIVES, PROCESS_COLLECTIVES
from meshlens.jaxapi.consumers import CONSUMERS
from meshlens.jaxapi.history import CHANGES
from meshlens.jaxapi.libraries import DEVICE_COUNTS, DEVICE_LISTS, DRAWS
from meshlens.jaxapi.meshes import DEVICE_GRIDS, MESHES, SPECS

MAKES_FUNCTIONS = "<function>"
LOCAL_FUNCTION = "="
_COMPILERS = frozenset("jit grad value_and_grad vmap filter_vmap P set_mesh use_mesh axis".split())
_HOWS = ("only", "any", "*", "key", "**")
_SMALL = 12
_ENTRY_METHODS = ("__init__", "__call__", "setup", "__post_init__")


def _last(dotted: str) -> str:
    return dotted.rsplit(".", 1)[-1]


@cache
def _binding_words() -> frozenset[str]:
    """Names that bind axes or make meshes: a function that reaches one matters wherever it is called."""
    words = {_last(dotted) for dotted, row in BINDERS.items() if row.kind != "vmap"} | {
        _last(dotted) for dotted in MESHES
    }
    return frozenset(words - {"start", "kernel", "scan"}) | {"axis_name"}


@cache
def _using_words() -> frozenset[str]:
    """Names that use axes: a function that reaches one matters where it is known what is bound."""
    return frozenset(
        {_last(dotted) for dotted in COLLECTIVES} | {row.parameter for row in CONSUMERS.values() if row.parameter}
    )


@cache
def _root_words() -> frozenset[str]:
    """Names that make a function worth running for itself."""
    tables = (CHANGES, DEVICE_LISTS, DEVICE_COUNTS, SPECS, DEVICE_GRIDS, PROCESS_COLLECTIVES)
    words = {_last(dotted) for table in tables for dotted in table}
    return frozenset(words) | _using_words() | _COMPILERS


@cache
def _words_in_maps() -> frozenset[str]:
    """Names that make a function worth entering inside a map."""
    return frozenset(_last(dotted) for dotted in DRAWS) | _root_words()


Names = dict[int, tuple[Shape, frozenset[str]]]


class Interest:
    """Which blocks are interesting, for one state of the workspace.

    Attributes:
        names: the names mentioned in every shape, by identity; handed on from one workspace to the next.
    """

    def __init__(self, facts: Mapping[str, FileFacts], before: Names | None) -> None:
        self.names: Names = {}
        self._mentioned: dict[tuple[str, str], frozenset[str]] = {}
        known = before or {}
        users: dict[str, set[str]] = defaultdict(set)
        self._keys: dict[str, tuple[str, ...]] = {}
        for path, file in facts.items():
            self._keys[path] = tuple(file.blocks)
            for key, block in file.blocks.items():
                kept = known.get(id(block.shape))
                mentioned = kept[1] if kept is not None and kept[0] is block.shape else names_of(block.shape)
                self.names[id(block.shape)] = (block.shape, mentioned)
                self._mentioned[(path, key)] = mentioned
                made_here = [name[1:] for name in mentioned if name[0] == LOCAL_FUNCTION]
                for own in (*_own_names(key, block.shape), *made_here):
                    for name in mentioned:
                        users[name].add(own)
        self._binding = _closure(_binding_words(), users)
        self._using = _closure(_binding_words() | _using_words(), users)

    def reaches(self, path: str, key: str, env: AxisEnv) -> bool:
        """Whether calling a block in an environment can tell anything about axes.

        Where unseen callers may bind any axis, a use of an axis tells nothing; what matters there is what binds
        axes, and the functions that use them being handed on.
        """
        mentioned = self._mentioned.get((path, key))
        if mentioned is None or len(mentioned) <= _SMALL or not mentioned.isdisjoint(self._binding):
            return True
        if env.open and not env.maps and MAKES_FUNCTIONS not in mentioned:
            return False
        if not mentioned.isdisjoint(self._using):
            return True
        return bool(env.maps) and not mentioned.isdisjoint(_words_in_maps())

    def is_worth_a_root(self, path: str, key: str, *, starts: bool) -> bool:
        """Whether a block is worth running for itself.

        Args:
            path: the file.
            key: the block.
            starts: whether Python starts to run code here, so that it is known what is bound.
        """
        mentioned = self._mentioned.get((path, key))
        if mentioned is None or not mentioned.isdisjoint(_root_words()):
            return True
        return not mentioned.isdisjoint(self._using if starts else self._binding)

    def is_worth_reading(self, path: str) -> bool:
        """Whether the top level of a file is worth running even if no import leads there."""
        keys = self._keys.get(path, ())
        return any(
            "jax" in self._mentioned[(path, key)] or self.is_worth_a_root(path, key, starts=True) for key in keys
        )


def _closure(words: frozenset[str], users: Mapping[str, set[str]]) -> frozenset[str]:
    """The names from which one of these words can be reached."""
    found = set(words)
    waiting = list(words)
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user not in found:
                found.add(user)
                waiting.append(user)
    return frozenset(found)


def _own_names(key: str, shape: Shape) -> tuple[str, ...]:
    name = key.split("~", 1)[0].rsplit(".", 1)[-1]
    if name in _ENTRY_METHODS and "." in key:
        return (name, key.split(".")[-2]) if name != "__init__" else (key.split(".")[-2],)
    if shape and shape[0] == "assign":
        return tuple(target[2] for target in shape[2] if target[0] == "name")
    return (name,)


def _is_local_function(value: Any) -> bool:
    """Whether an assigned expression is a function by its looks: a lambda or a partial."""
    if value[0] == "lambda":
        return True
    return value[0] == "call" and value[2][0] in ("name", "attr") and value[2][-1] == "partial"


def names_of(shape: Any) -> frozenset[str]:
    """The names and attributes that a shape mentions, annotations left out.

    Where it holds functions there is a mark, and behind "=" the local names of functions that it assigns.
    """
    found: set[str] = set()
    waiting: list[Any] = [shape]
    while waiting:
        node = waiting.pop()
        if type(node) is not tuple or not node:
            continue
        tag, size = node[0], len(node)
        if tag == "const":
            continue
        if size == 3 and tag == "name" and type(node[2]) is str:
            found.add(node[2])
        elif size == 4 and tag == "attr" and type(node[3]) is str:
            found.add(node[3])
            waiting.append(node[2])
        elif size == 5 and tag == "from":
            found.update(name[0] for name in node[4])
            found.update(part for part in node[3].split(".") if part)
        elif size == 3 and tag == "import" and type(node[1]) is int:
            found.update(part for name in node[2] for part in name[0].split(".") if part)
        elif size == 4 and tag == "assign" and type(node[1]) is int:
            if _is_local_function(node[3]):
                found.update(LOCAL_FUNCTION + target[2] for target in node[2] if target[0] == "name")
            waiting.extend(node)
        elif size == 5 and tag == "ann" and type(node[1]) is int:
            waiting.append(node[2])
            waiting.append(node[4])
        elif size == 5 and node[2] in _HOWS:
            waiting.append(node[3])
        else:
            if size == 4 and tag == "call":
                found.update(argument[0] for argument in node[3] if argument[0])
            elif (tag == "fn" and size == 3 and node is not shape) or (tag == "lambda" and size == 4):
                found.add(MAKES_FUNCTIONS)
            waiting.extend(node)
    return frozenset(found)
