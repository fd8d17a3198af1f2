"""The state of following a function as `jit` would trace it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from meshlens.facts.nodes import AnyFunction
from meshlens.project.trees import Node
from meshlens.project.view import FileView

Kind: TypeAlias = str
"""\"python\": known during tracing; \"value\": unknown; \"=x\": unknown unless argument `x` is static."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Code that `jit` cannot trace.

    Attributes:
        code: the name of the reason.
        message: the predicate of a sentence about the function, such as "prints".
        cure: the argument to make static so that the code works; None if that does not help.
        changed: the name of the value that is changed in place.
    """

    code: str
    message: str
    cure: str | None = None
    changed: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """A function or lambda, with its location and the variables that it sees."""

    view: FileView
    block: str
    node: AnyFunction
    around: Trace | None


@dataclass
class Seen:
    """Everything noted while following a function.

    Attributes:
        problems: the code that cannot be traced, in order.
        outside: the names taken from outside the function, each with its file and the outermost function that reads it.
        objects: the arguments that are called, or whose methods are called.
        scanned: the arguments that a scan iterates over along their first axis.
        results: the expressions that the function returns, with their kinds.
        done: the functions that were followed, with their arguments.
    """

    problems: list[Problem] = field(default_factory=list)
    outside: set[tuple[str, str, str | None]] = field(default_factory=set)
    objects: set[str] = field(default_factory=set)
    scanned: set[str] = field(default_factory=set)
    results: list[tuple[Node, Kind]] = field(default_factory=list)
    done: dict[tuple[int, tuple[tuple[str, Kind], ...]], Kind] = field(default_factory=dict)


@dataclass
class Trace:
    """A function that is being followed.

    Attributes:
        view: its file.
        block: its block.
        names: the kinds of its variables.
        around: the enclosing function.
        depth: the call depth.
    """

    view: FileView
    block: str
    names: dict[str, Kind | Function]
    around: Trace | None
    depth: int

    def found(self, name: str) -> Kind | Function | None:
        """Returns what a name refers to in the function or its enclosing functions."""
        scope: Trace | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.around
        return None
