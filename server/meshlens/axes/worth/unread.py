"""Code that cannot be parsed: the variables that it may set become unknown."""

from __future__ import annotations

from meshlens.axes.domain.values import UNKNOWN, Value
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.run import Run
from meshlens.facts.nodes import Hole


def unread(run: Run, node: Hole, frame: Frame, ctx: Context) -> Value:
    """Returns an unknown value for a hole, and marks as unknown the variables that it may set."""
    unsettled = node.unsettled
    for name in unsettled:
        home = frame.home(name)
        if name in home.vars:
            home.vars[name] = UNKNOWN
    if "return" in unsettled:
        frame.returned.append(UNKNOWN)
        # The condition under which it may return may involve axes.
        frame.exits |= {"guarded"}
    return UNKNOWN
