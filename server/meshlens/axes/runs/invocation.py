"""One call as the interpreter makes it: what is called with what, where, and in which circumstances."""

from __future__ import annotations

from meshlens.axes.domain.immutable import immutable
from meshlens.axes.domain.values import Arg, Site, Value
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame


@immutable
class Invocation:
    """A call, as it is handed from the expression to whatever knows the callee.

    Attributes:
        callee: what is called.
        args: its arguments.
        site: the call.
        callee_site: the expression that is called.
        frame: the running frame.
        ctx: the circumstances.
        how: how the step is named in a route: "call", "map", "jit", "grad", "run", "start".
        decorator: whether the call stands after an `@`, or applies a decorator.
    """

    callee: Value
    args: tuple[Arg, ...]
    site: Site
    callee_site: Site
    frame: Frame
    ctx: Context
    how: str = "call"
    decorator: bool = False

    def of(self, callee: Value, args: tuple[Arg, ...]) -> Invocation:
        """Returns the same call of something else: what holds a callee hands its call on."""
        return Invocation(callee, args, self.site, self.callee_site, self.frame, self.ctx, self.how, self.decorator)

    def perhaps(self, callee: Value, ctx: Context) -> Invocation:
        """Returns the same call of one of several values, which may not be the one that is called."""
        return Invocation(callee, self.args, self.site, self.callee_site, self.frame, ctx, self.how, self.decorator)

    def inside(self, callee: Value, args: tuple[Arg, ...], ctx: Context, how: str) -> Invocation:
        """Returns the call that this one makes of a function that it was given."""
        return Invocation(callee, args, self.site, self.callee_site, self.frame, ctx, how)


def from_inside(callee: Value, args: tuple[Arg, ...], call: Invocation) -> Invocation:
    """Returns a plain call of another callee at the site of a call."""
    return Invocation(callee, args, call.site, call.site, call.frame, call.ctx)
