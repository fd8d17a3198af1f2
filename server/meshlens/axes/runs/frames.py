"""Frames: the variables of a running function, class body or module."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from meshlens.axes.domain.values import Class, Site, Value

_NO_NAMES: frozenset[str] = frozenset()
_NO_TABLES: Mapping[str, tuple[str, str]] = {}


Sites: TypeAlias = "list[Site | None]"
"""The sites of a block by number, each created only once, because nothing else is requested as often."""


class Current(NamedTuple):
    """The contexts that the `with` statements around a place have entered.

    Attributes:
        ambient, entered_meshes, unclear_contexts, scoped: as in `Run`.
    """

    ambient: tuple[Value, ...]
    entered_meshes: tuple[Value, ...]
    unclear_contexts: int
    scoped: Mapping[Hashable, Value]


NOT_CLEAR = Current((), (), 1 << 30, {})
"""Stands for contexts of which nothing is known."""


class Frame:
    """The variables of a scope and its enclosing frames; the only mutable values while code runs.

    Attributes:
        vars: current values by name.
        parent: the enclosing function's frame or the module's; None for a module.
        path: the file.
        block: the block that the running code belongs to.
        sites: the sites of that block requested so far, by number; None if the block does not run often.
        module: the module's frame.
        globals: names declared `global` here.
        nonlocals: names declared `nonlocal` here.
        parameters: names of the parameters, to distinguish values passed in from values created here.
        returned: values of the return statements passed so far.
        yielded: values of the yield expressions passed so far.
        yields_surely: whether the last of these was passed without a condition.
        yields_all: whether all of them were, in loops whose items are known one by one.
        current: what `with` statements had made current at each of these, if a context manager is running.
        given: the parameters that still hold the caller's container.
        altered: the parameters whose container was changed in place.
        blurred: the parameters that may have been rebound, after a change or on one of several paths.
        owner, receiver: the class and the object of the method that runs, for `super()`.
        tables: for each imported table, the file where it was made and its name there.
        maps: the number of maps that enclose the code.
        open_loops: the number of running loops whose iterations are not known one by one.
        exits: "conditional", "guarded" or "api" once a branch has left the function early, so that the rest runs only
            sometimes; "replaced" once a part of JAX was replaced.
    """

    __slots__ = (
        "altered",
        "block",
        "blurred",
        "current",
        "exits",
        "given",
        "globals",
        "maps",
        "module",
        "nonlocals",
        "open_loops",
        "owner",
        "parameters",
        "parent",
        "path",
        "receiver",
        "returned",
        "sites",
        "tables",
        "vars",
        "yielded",
        "yields_all",
        "yields_surely",
    )

    def __init__(self, path: str, block: str, parent: Frame | None, sites: Sites | None = None) -> None:
        self.vars: dict[str, Value] = {}
        self.parent = parent
        self.path = path
        self.block: str = block
        if sites is None and parent is not None and parent.block == block:
            sites = parent.sites
        self.sites: Sites | None = sites
        self.module: Frame = parent.module if parent is not None else self
        self.globals = _NO_NAMES
        self.nonlocals = _NO_NAMES
        self.parameters = _NO_NAMES
        self.returned: list[Value] = []
        self.yielded: list[Value] = []
        self.yields_surely = False
        self.yields_all = True
        self.current: list[Current] = []
        self.exits = _NO_NAMES
        self.given = _NO_NAMES
        self.altered = _NO_NAMES
        self.blurred = _NO_NAMES
        self.tables = _NO_TABLES
        self.open_loops = 0
        self.maps: int = parent.maps if parent is not None else 0
        self.owner: Class | None = parent.owner if parent is not None else None
        self.receiver: Value | None = parent.receiver if parent is not None else None

    def chain(self) -> Iterator[Frame]:
        """Yields this frame and the enclosing ones, innermost first."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.parent

    def find(self, name: str) -> Value | None:
        """Returns the value of a variable, searching outwards; None if no frame has it."""
        frame: Frame | None = self
        while frame is not None:
            value = frame.vars.get(name)
            if value is not None:
                return value
            frame = frame.parent
        return None

    def holder(self, name: str) -> Frame:
        """Returns the frame that has a variable."""
        for frame in self.chain():
            if name in frame.vars:
                return frame
        return self

    def home(self, name: str) -> Frame:
        """Returns the frame that an assignment to a name changes."""
        if name in self.globals:
            return self.module
        if name in self.nonlocals and self.parent is not None:
            for frame in self.parent.chain():
                if name in frame.vars:
                    return frame
        return self


def site_of(frame: Frame, node: Any) -> Site:
    """Returns the site of an expression in the frame's block."""
    return numbered(frame, node.site)


def numbered(frame: Frame, number: Any) -> Site:
    """Returns a site of the frame's block by its number."""
    known = frame.sites
    if known is None:
        return _NEW(Site, (frame.path, frame.block, number))
    place: int = number
    if place < len(known):
        site = known[place]
        if site is not None:
            return site
    else:
        known.extend([None] * (place + 16 - len(known)))
    site = known[place] = _NEW(Site, (frame.path, frame.block, number))
    return site


_NEW = tuple.__new__
