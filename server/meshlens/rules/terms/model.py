"""Terms: what an expression computes, in the variables of the function that contains it.

A variable that is assigned once is replaced with what is assigned to it, so two expressions that compute the same value
from the same parameters, attributes and loop variables have equal terms, even in different methods of a class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from typing import Any

from meshlens.axes.domain.immutable import immutable
from meshlens.axes.domain.values import Site

MOST_NODES = 400
"""Maximum number of terms in a term; a larger value is unknown."""

RANKS = re.compile(
    r"rank|shard|host|process|worker|replica|device|world|mesh|axis_index|(^|[_.])n?_?(proc|dev)s?($|_)", re.IGNORECASE
)


@immutable
class Term:
    """A value.

    Attributes:
        kind: "root" (a parameter, an attribute of `self`, or another variable whose value is unknown), "loop" (a loop
            variable; its part is the iterable), "unknown" (equal to nothing else), "constant", "outside" (a name from
            outside the workspace), "defined" (a function, class or module of the workspace), "method", "object",
            "operation", "attribute", "call", "generator" (a random generator; its parts are the seeds), "order"
            (records in a random order; its parts are the seed and the records) or "table" (such an order in several
            equal parts).
        name: the variable, operator, attribute or dotted name.
        parts: the operands, the object of an attribute, or the arguments of a call.
        scope: the function or loop that the variable belongs to.
        value: the value of a constant, or what is defined.
        site: where it is written.
        nodes: the number of terms in it, counting a term as often as it occurs.
    """

    kind: str
    name: str = ""
    parts: tuple[Term, ...] = ()
    scope: str = ""
    value: Any = None
    site: Site | None = field(default=None, compare=False)
    nodes: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Counts the terms in it."""
        own: Any = self
        own.nodes = 1 + sum([part.nodes for part in self.parts]) if self.parts else 1

    def at(self, site: Site) -> Term:
        """Returns the same value, written at another place."""
        return Term(self.kind, self.name, self.parts, self.scope, self.value, site)

    @property
    def is_constant(self) -> bool:
        """Returns whether it is a literal."""
        return self.kind == "constant"


def walk_term(term: Term) -> Iterator[Term]:
    """Yields a term and the terms in it, each before its parts."""
    yield term
    for part in term.parts:
        yield from walk_term(part)


def mentions(term: Term, other: Term) -> bool:
    """Returns whether a term depends on another one."""
    return any(part == other for part in walk_term(term))


def counts_ranks(term: Term) -> bool:
    """Returns whether a term has to do with the numbers of devices, processes or shards, as far as its names tell."""
    return any(one.kind != "constant" and RANKS.search(one.name) is not None for one in walk_term(term))
