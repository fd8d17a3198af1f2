"""The budget of a run: each call and loop leaves something to what follows it, so that none hides the code below it.

At the top of a root, what runs is as much as there is text; only calls and loops there are limited, each to three
quarters of what is left, and in the functions that they enter first each call to three quarters of that.
"""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.axes.domain.values import Function
from meshlens.axes.runs.invocation import Invocation

MOST_CALLS = 20_000
MOST_WORK = 40_000
MOST_BODIES = 1_500
MOST_BODIES_OUTSIDE = 300
"""How many functions have run when none is entered any more outside of all maps."""

LEVELS_THAT_SHARE = 3
"""In so many functions inside each other, a call leaves a quarter of what there is to what follows it."""


@dataclass(frozen=True, slots=True)
class Share:
    """The budget of the outermost loop that runs, which leaves something for the code after it.

    Attributes:
        work: the work of the run at which it has spent all.
        iterations: those of loops inside it count as well.
        bodies: the functions that have run by then.
        limit: what was limited before it began.
    """

    work: int
    iterations: int
    bodies: int
    limit: Limit | None


@dataclass(frozen=True, slots=True)
class Limit:
    """An upper limit on what may be spent, or on what may have been spent by the end of a call.

    Attributes:
        work, calls, bodies: as in `Run`.
    """

    work: int
    calls: int
    bodies: int


ALL = Limit(MOST_WORK, MOST_CALLS, MOST_BODIES)
"""What the calls and loops of a root may spend together."""

_LEAST = Limit(500, 250, 20)
"""What each of them may spend at the top of the root, whatever came before: the work still grows with the text."""


@dataclass(frozen=True, slots=True)
class Later:
    """A call that lies too deep on its route, and is made when what led to it has ended.

    Attributes:
        function: the function that is called.
        call: the call.
        written: how many attributes had been set, and containers changed.
    """

    function: Function
    call: Invocation
    written: int


def at_the_top(left: Limit, spent: Limit) -> Limit:
    """Returns the limit of a call or loop at the top of a root.

    Args:
        left: what is left for all of them.
        spent: what has been spent so far.
    """
    return Limit(
        spent.work + max(left.work - left.work // 4, _LEAST.work),
        spent.calls + max(left.calls - left.calls // 4, _LEAST.calls),
        spent.bodies + max(left.bodies - left.bodies // 4, _LEAST.bodies),
    )


def most_of(limit: Limit, spent: Limit) -> Limit:
    """Returns a limit that leaves a quarter of what another one still allows."""
    return Limit(
        limit.work - (limit.work - spent.work) // 4,
        limit.calls - (limit.calls - spent.calls) // 4,
        limit.bodies - (limit.bodies - spent.bodies) // 4,
    )


def without(left: Limit, begun: Limit, ended: Limit) -> Limit:
    """Returns what is left after something was spent."""
    return Limit(
        left.work - (ended.work - begun.work),
        left.calls - (ended.calls - begun.calls),
        left.bodies - (ended.bodies - begun.bodies),
    )
