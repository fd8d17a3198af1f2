"""Which functions are worth entering: those from which something to do with axes can be reached, by names.

A name stands for every function of that name in the workspace, so nothing that matters is left out; what is
left out is the bulk of ordinary numerical code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

from meshlens.facts.model import FileFacts, Shape
from meshlens.jaxapi.binders import BINDERS
from meshlens.jaxapi.collectives import COLLECTIVES, PROCESS_COLLECTIVES
from meshlens.jaxapi.consumers import CONSUMERS
from meshlens.jaxapi.history import CHANGES
from meshlens.jaxapi.libraries import DEVICE_COUNTS, DEVICE_LISTS, DRAWS
from meshlens.jaxapi.meshes import DEVICE_GRIDS, MESHES, SPECS

_SMALL = 12
_ENTRY_METHODS = ("__init__", "__call__", "setup", "__post_init__")


@cache
def _words() -> frozenset[str]:
    """Names that make a function interesting wherever it is called."""
    tables = (COLLECTIVES, MESHES)
    words = {dotted.rsplit(".", 1)[-1] for table in tables for dotted in table}
    words |= {dotted.rsplit(".", 1)[-1] for dotted, row in BINDERS.items() if row.kind != "vmap"}
    words |= {row.parameter for row in CONSUMERS.values()}
    return frozenset(words - {"start", "kernel", "scan"}) | {"axis_name"}


@cache
def _words_here() -> frozenset[str]:
    """Names that make a function interesting as a root or inside a map only."""
    tables = (CHANGES, DRAWS, DEVICE_LISTS, DEVICE_COUNTS, SPECS, DEVICE_GRIDS, PROCESS_COLLECTIVES)
    words = {dotted.rsplit(".", 1)[-1] for table in tables for dotted in table}
    return frozenset(words) | {"jit", "grad", "value_and_grad", "vmap", "filter_vmap", "P", "set_mesh", "use_mesh"}


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
        waiting: list[str] = []
        words = _words()
        for path, file in facts.items():
            for key, block in file.blocks.items():
                kept = known.get(id(block.shape))
                mentioned = kept[1] if kept is not None and kept[0] is block.shape else names_of(block.shape)
                self.names[id(block.shape)] = (block.shape, mentioned)
                self._mentioned[(path, key)] = mentioned
                for own in _own_names(key, block.shape):
                    for name in mentioned:
                        users[name].add(own)
        interesting: set[str] = set()
        waiting.extend(words)
        while waiting:
            name = waiting.pop()
            for user in users.get(name, ()):
                if user not in interesting:
                    interesting.add(user)
                    waiting.append(user)
        self._words = words | interesting

    def reaches(self, path: str, key: str) -> bool:
        """Whether something to do with axes can be reached from a block."""
        mentioned = self._mentioned.get((path, key))
        return mentioned is None or len(mentioned) <= _SMALL or not mentioned.isdisjoint(self._words)

    def matters_here(self, path: str, key: str) -> bool:
        """Whether a block is worth running for itself."""
        mentioned = self._mentioned.get((path, key))
        return mentioned is None or not (mentioned.isdisjoint(self._words) and mentioned.isdisjoint(_words_here()))


def _own_names(key: str, shape: Shape) -> tuple[str, ...]:
    name = key.split("~", 1)[0].rsplit(".", 1)[-1]
    if name in _ENTRY_METHODS and "." in key:
        return (name, key.split(".")[-2]) if name != "__init__" else (key.split(".")[-2],)
    if shape and shape[0] == "assign":
        return tuple(target[2] for target in shape[2] if target[0] == "name")
    return (name,)


def names_of(shape: Any) -> frozenset[str]:
    """The names and attributes that a shape mentions."""
    found: set[str] = set()
    waiting: list[Any] = [shape]
    while waiting:
        node = waiting.pop()
        if type(node) is not tuple or not node:
            continue
        tag, size = node[0], len(node)
        if tag == "name" and size == 3 and type(node[2]) is str:
            found.add(node[2])
        elif tag == "attr" and size == 4 and type(node[3]) is str:
            found.add(node[3])
            waiting.append(node[2])
        elif tag == "from" and size == 5:
            found.update(name[0] for name in node[4])
        else:
            if tag == "call" and size == 4:
                found.update(argument[0] for argument in node[3] if argument[0])
                if any(argument[0] == "axis" and _is_text(argument[2]) for argument in node[3]):
                    found.add("axis_name")
            waiting.extend(node)
    return frozenset(found)


def _is_text(node: Any) -> bool:
    return type(node) is tuple and node[0] == "const" and type(node[2]) is str
