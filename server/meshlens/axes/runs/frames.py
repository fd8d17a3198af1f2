"""Frames: the variables of a running function, class body or module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from meshlens.axes.domain.values import Class, Site, Value

_NO_NAMES: frozenset[str] = frozenset()


Sites: TypeAlias = "list[Site | None]"
"""The sites of a block by their number, each made once: nothing else is asked for as often."""


class Frame:
    """Variables, with the frame that encloses them; the only thing here that changes while code runs.

    Attributes:
        vars: names and values as of now.
        parent: the enclosing function's frame or the module's; None for a module.
        path: the file.
        block: the block that the running code belongs to.
        sites: the sites of that block that were asked for, by their number; None where it does not run often.
        module: the module's frame.
        globals: names declared `global` here.
        nonlocals: names declared `nonlocal` here.
        parameters: names of the parameters, to tell what came in from what is made here.
        returned: values of the return statements passed so far.
        yielded: values of the yield expressions passed so far.
        given: the parameters that hold the container that the caller gave.
        altered: those of them whose container was changed in place.
        blurred: those that may have been bound anew, after a change or on one way of several.
        owner, receiver: the class and the object of the method that runs, for `super()`.
        maps: in how many maps the code runs.
        open_loops: how many loops are running here whose turns are not known one by one.
        exits: "conditional" or "guarded" once a branch has left the function early, so that what
            follows runs only sometimes.
    """

    __slots__ = (
        "altered",
        "block",
        "blurred",
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
        "vars",
        "yielded",
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
        self.exits = _NO_NAMES
        self.given = _NO_NAMES
        self.altered = _NO_NAMES
        self.blurred = _NO_NAMES
        self.open_loops = 0
        self.maps: int = parent.maps if parent is not None else 0
        self.owner: Class | None = parent.owner if parent is not None else None
        self.receiver: Value | None = parent.receiver if parent is not None else None

    def chain(self) -> Iterator[Frame]:
        """This frame and the ones around it, innermost first."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.parent

    def find(self, name: str) -> Value | None:
        """The value of a variable, looked up outwards; None if no frame has it."""
        frame: Frame | None = self
        while frame is not None:
            value = frame.vars.get(name)
            if value is not None:
                return value
            frame = frame.parent
        return None

    def holder(self, name: str) -> Frame:
        """The frame in which a variable is found."""
        for frame in self.chain():
            if name in frame.vars:
                return frame
        return self

    def home(self, name: str) -> Frame:
        """The frame that an assignment to a name changes."""
        if name in self.globals:
            return self.module
        if name in self.nonlocals and self.parent is not None:
            for frame in self.parent.chain():
                if name in frame.vars:
                    return frame
        return self


def site_of(frame: Frame, node: Any) -> Site:
    """The site of an expression in the block that the frame runs."""
    return numbered(frame, node.site)


def numbered(frame: Frame, number: Any) -> Site:
    """A site of the block that the frame runs."""
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
