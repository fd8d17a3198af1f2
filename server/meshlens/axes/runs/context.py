"""The context in which code runs: bound axes, the route, conditions."""

from __future__ import annotations

from typing import Literal, NamedTuple

from meshlens.axes.domain.immutable import immutable
from meshlens.axes.domain.values import Binder, Site


@immutable
class Bound:
    """An axis name of an environment and the binder that binds it."""

    name: str
    binder: Binder


@immutable
class AxisEnv:
    """The axis names that are bound while code runs.

    Attributes:
        bound: the bound names, innermost last.
        open: whether unseen code may bind more names.
        maps: every binder on the route, innermost last, including those that bind no name.
    """

    bound: tuple[Bound, ...] = ()
    open: bool = False
    maps: tuple[Binder, ...] = ()

    def binder_of(self, name: str) -> Binder | None:
        """Returns the innermost binder of a name."""
        for bound in reversed(self.bound):
            if bound.name == name:
                return bound.binder
        return None

    @property
    def names(self) -> tuple[str, ...]:
        """Returns the bound names, outermost first, without duplicates."""
        return tuple(dict.fromkeys(bound.name for bound in self.bound))


@immutable
class Step:
    """One step of a route.

    Attributes:
        site: the call, the operand of a transformation, or the binder's application.
        how: "call", "map", "jit", "grad", "run" (other transformations), "start".
        callee: qualified name of the function that is entered.
        function: site of that function, if it is in the workspace.
        env: the environment that the callee runs in.
    """

    site: Site
    how: str
    callee: str
    function: Site | None
    env: AxisEnv


class Context(NamedTuple):
    """The context in which a place was reached.

    Attributes:
        env: the axis environment.
        route: the steps that led here, outermost first.
        conditional: whether it is under a condition with an unknown outcome in the innermost map over devices, or
            anywhere if there is none; "picked" if only the choice of a table's entry is unknown.
        remote: whether there is such a condition further out.
        guarded: whether it is under a guard that mentions axes: `try … except NameError`, a membership test, a probe.
        sure: whether every edge of the route certainly runs.
        loop: whether it is in a loop or comprehension of the innermost function, or called from one.
        host: whether it is in the host function of a callback.
        function: site of the running function; None at module level.
        branch: the site and arm of the enclosing branch on device data or a device index.
        expected: whether a test expects this code to raise.
        skip: whether layers skip their collectives here, as in a model's `init`.
    """

    env: AxisEnv
    route: tuple[Step, ...]
    conditional: bool | Literal["picked"] = False
    remote: bool = False
    guarded: bool = False
    sure: bool = True
    loop: bool = False
    host: bool = False
    function: Site | None = None
    branch: tuple[Site, int] | None = None
    expected: bool = False
    skip: bool = False

    def under_condition(self, guarded: bool) -> Context:
        """Returns the context under a condition with an unknown outcome, guarded if the condition mentions axes."""
        if self.conditional is True and (self.guarded or not guarded):
            return self
        return self._replace(conditional=True, guarded=self.guarded or guarded)

    def picked(self) -> Context:
        """Returns the context in which an unknown entry of a table was picked."""
        if self.conditional:
            return self
        return self._replace(conditional="picked")

    def inside(self, step: Step, function: Site) -> Context:
        """Returns the context in the body of a function that a step leads to."""
        return self._replace(route=(*self.route, step), function=function)

    def perhaps(self, env: AxisEnv) -> Context:
        """Returns the context in another environment, for code that might not run at all."""
        return self._replace(env=env, conditional=True, sure=False)
