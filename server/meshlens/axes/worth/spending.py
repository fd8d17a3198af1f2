"""The budget of a run: each call and loop leaves a part for the code after it, so that this code runs too.

The work at the top of a root is proportional to its text. Calls and loops there are limited, each to three quarters of
what is left, and so are calls in the first functions that they enter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from meshlens.axes.domain.values import Arg, Const, Data, Function, Value
from meshlens.axes.runs.invocation import Invocation

MOST_CALLS = 20_000
MOST_WORK = 40_000
MOST_BODIES = 1_500
MOST_BODIES_OUTSIDE = 320
"""Number of functions run after which no more are entered outside maps."""

LEVELS_THAT_SHARE = 3
"""Depth of nested functions up to which a call leaves a quarter of the budget to the code after it."""


_ORDINARY_WEIGHT = 100
_WEIGHT_OF_A_STATEMENT = 4


@dataclass(frozen=True, slots=True)
class Share:
    """The budget of the outermost running loop, which leaves a part for the code after it.

    Attributes:
        work: the run's amount of work at which the share is used up.
        iterations: the run's number of iterations, including those of inner loops, at which the share is used up.
        bodies: the run's number of functions run at which the share is used up.
        limit: the limit before the loop began.
    """

    work: int
    iterations: int
    bodies: int
    limit: Limit | None


@dataclass(frozen=True, slots=True)
class Limit:
    """A budget, an amount spent, or the amount that may be spent by the end of a call.

    Attributes:
        work, calls, bodies: as in `Run`.
    """

    work: int
    calls: int
    bodies: int


ALL = Limit(MOST_WORK, MOST_CALLS, MOST_BODIES)
"""The budget for all calls and loops of a root."""

_LEAST = Limit(500, 250, 20)
"""The minimum budget of each call and loop at the top of the root, so that the work grows with the text."""


@dataclass(frozen=True, slots=True)
class Later:
    """A call that is too deep on its route, postponed until the code that led to it has ended.

    Attributes:
        function: the function that is called.
        call: the call.
        written: the number of attributes set and containers changed before it was postponed.
    """

    function: Function
    call: Invocation
    written: int


def walked(value: Value, args: Iterable[Arg]) -> int:
    """Returns the work of walking a value and arguments part by part, as a call does; zero for ordinary values."""
    weight: int = getattr(value, "weight", 0)
    for arg in args:
        if type(arg.value) is not Data and type(arg.value) is not Const:
            weight += getattr(arg.value, "weight", 0)
    return (weight - _ORDINARY_WEIGHT) // _WEIGHT_OF_A_STATEMENT if weight > _ORDINARY_WEIGHT else 0


def at_the_top(left: Limit, spent: Limit) -> Limit:
    """Returns the limit of a call or loop at the top of a root.

    Args:
        left: the remaining budget for all calls and loops there.
        spent: the amount spent so far.
    """
    return Limit(
        spent.work + max(left.work - left.work // 4, _LEAST.work),
        spent.calls + max(left.calls - left.calls // 4, _LEAST.calls),
        spent.bodies + max(left.bodies - left.bodies // 4, _LEAST.bodies),
    )


def most_of(limit: Limit, spent: Limit) -> Limit:
    """Returns a limit that leaves a quarter of the given limit's remaining budget."""
    return Limit(
        limit.work - (limit.work - spent.work) // 4,
        limit.calls - (limit.calls - spent.calls) // 4,
        limit.bodies - (limit.bodies - spent.bodies) // 4,
    )


def without(left: Limit, begun: Limit, ended: Limit) -> Limit:
    """Returns the remaining budget after an amount was spent."""
    return Limit(
        left.work - (ended.work - begun.work),
        left.calls - (ended.calls - begun.calls),
        left.bodies - (ended.bodies - begun.bodies),
    )
