"""Code that cannot be read: what it may have changed is not known any more."""

from __future__ import annotations

from meshlens.axes.domain.values import UNKNOWN, Value
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.run import Run
from meshlens.facts.nodes import Hole


def unread(run: Run, node: Hole, frame: Frame, ctx: Context) -> Value:
    """The value of a hole, behind which the variables that it may set can be anything."""
    unsettled = node.unsettled
    for name in unsettled:
        home = frame.home(name)
        if name in home.vars:
            home.vars[name] = UNKNOWN
    if "return" in unsettled:
        frame.returned.append(UNKNOWN)
    return UNKNOWN
