"""The circumstances under which a place of a program is passed: axes bound, the route, conditions."""

from __future__ import annotations

from typing import Literal, NamedTuple

from meshlens.axes.domain.immutable import immutable
from meshlens.axes.domain.values import Binder, Site


@immutable
class Bound:
    """One axis name of an environment: the name, the binder that binds it."""

    name: str
    binder: Binder


@immutable
class AxisEnv:
    """The axis names that are bound while code runs.

    Attributes:
        bound: innermost last.
        open: true when something that is not seen may bind more.
        maps: every binder on the route, innermost last, also those that bind no name.
    """

    bound: tuple[Bound, ...] = ()
    open: bool = False
    maps: tuple[Binder, ...] = ()

    def binder_of(self, name: str) -> Binder | None:
        """The innermost binder of a name."""
        for bound in reversed(self.bound):
            if bound.name == name:
                return bound.binder
        return None

    @property
    def names(self) -> tuple[str, ...]:
        """The bound names, outermost first, each once."""
        return tuple(dict.fromkeys(bound.name for bound in self.bound))


@immutable
class Step:
    """One step of a route.

    Attributes:
        site: the call, the operand of a transformation, or the binder's application.
        how: "call", "map", "jit", "grad", "run" (other transformations), "start".
        callee: qualified name of what is entered.
        function: site of the function that is entered, if it is in the workspace.
        env: the environment that the callee runs in.
    """

    site: Site
    how: str
    callee: str
    function: Site | None
    env: AxisEnv


class Context(NamedTuple):
    """Under what circumstances a place was passed.

    Attributes:
        env: the axis environment.
        route: the steps that led here, outermost first.
        conditional: under a condition whose outcome is not known, since the innermost closed map (or the start);
            "picked" where all that is not known is which entry of a table was picked.
        remote: under such a condition further out.
        guarded: behind a guard that speaks of axes: `try … except NameError`, a membership test, a probe.
        sure: every edge of the route certainly runs.
        loop: inside a loop or comprehension of the innermost function (or of a function called in one).
        host: inside the host function of a callback.
        function: site of the function that is running, None at module level.
        branch: the site of a branch on device data or a device's index, and which arm this is.
        expected: a test expects this code to raise.
        skip: consumers that skip their collective run here, as in a model's `init`.
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
        """The same under a condition whose outcome is not known, behind a guard if it speaks of axes."""
        if self.conditional is True and (self.guarded or not guarded):
            return self
        return self._replace(conditional=True, guarded=self.guarded or guarded)

    def picked(self) -> Context:
        """The same where an entry of a table was picked, and it is not known which."""
        if self.conditional:
            return self
        return self._replace(conditional="picked")

    def inside(self, step: Step, function: Site) -> Context:
        """The same in the body of a function to which a step leads."""
        return self._replace(route=(*self.route, step), function=function)

    def perhaps(self, env: AxisEnv) -> Context:
        """The same in another environment where it is not known whether the code runs at all."""
        return self._replace(env=env, conditional=True, sure=False)
