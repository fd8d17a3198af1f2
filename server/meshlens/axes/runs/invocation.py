"""A call: its callee, arguments, site and context."""

from __future__ import annotations

from meshlens.axes.domain.immutable import immutable
from meshlens.axes.domain.values import Arg, Site, Value
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame


@immutable
class Invocation:
    """A call, as an expression passes it to the code that handles the callee.

    Attributes:
        callee: the value that is called.
        args: its arguments.
        site: the site of the call.
        callee_site: the site of the callee expression.
        frame: the running frame.
        ctx: the context.
        how: the name of the step in a route: "call", "map", "jit", "grad", "run", "start".
        decorator: whether the call follows an `@` or applies a decorator.
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
        """Returns this call with another callee, for callees that wrap others."""
        return Invocation(callee, args, self.site, self.callee_site, self.frame, self.ctx, self.how, self.decorator)

    def perhaps(self, callee: Value, ctx: Context) -> Invocation:
        """Returns this call for one of several possible callees."""
        return Invocation(callee, self.args, self.site, self.callee_site, self.frame, ctx, self.how, self.decorator)

    def inside(self, callee: Value, args: tuple[Arg, ...], ctx: Context, how: str) -> Invocation:
        """Returns the call that this call makes to a function passed to it."""
        return Invocation(callee, args, self.site, self.callee_site, self.frame, ctx, how)


def from_inside(callee: Value, args: tuple[Arg, ...], call: Invocation) -> Invocation:
    """Returns a plain call to another callee at the site of the given call."""
    return Invocation(callee, args, call.site, call.site, call.frame, call.ctx)
