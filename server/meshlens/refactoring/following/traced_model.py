"""The state of a function while it is followed as `jit` would trace it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from meshlens.project.trees import Node
from meshlens.project.view import FileView

Kind: TypeAlias = str
"""\"python\": known while a function is traced; \"value\": not; \"=x\": not, unless the argument `x` is static."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that `jit` cannot trace.

    Attributes:
        code: names the reason.
        message: says what the function does, without its name: "prints".
        cure: the argument that has to be static for it to work; None if that does not help.
        changed: what is changed in place.
    """

    code: str
    message: str
    cure: str | None = None
    changed: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """A function or lambda, with where it is written and what it sees around it."""

    view: FileView
    block: str
    node: Node
    around: Trace | None


@dataclass
class Seen:
    """Everything met on the way.

    Attributes:
        problems: what cannot be traced, in order.
        outside: the names that are taken from outside of the function, by the file.
        objects: the arguments that are called, or whose methods are.
        scanned: the arguments that a scan takes apart along their first axis.
        results: the expressions that the function itself returns, with what each is.
        done: the functions that were followed, with what they were given.
    """

    problems: list[Problem] = field(default_factory=list)
    outside: set[tuple[str, str, str | None]] = field(default_factory=set)
    objects: set[str] = field(default_factory=set)
    scanned: set[str] = field(default_factory=set)
    results: list[tuple[Node, Kind]] = field(default_factory=list)
    done: dict[tuple[int, tuple[tuple[str, Kind], ...]], Kind] = field(default_factory=dict)


@dataclass
class Trace:
    """A function while it is followed.

    Attributes:
        view: its file.
        block: the block that it is written in.
        names: what its variables hold.
        around: the function around it.
        depth: how many calls led to it.
    """

    view: FileView
    block: str
    names: dict[str, Kind | Function]
    around: Trace | None
    depth: int

    def found(self, name: str) -> Kind | Function | None:
        """Returns what a name means in it or around it."""
        scope: Trace | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.around
        return None
