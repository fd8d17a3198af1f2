"""The project's functions that reduce over devices for the step that calls them, such as a training state's methods.

Each function gets the axis name from its caller, and does not reduce if it gets no name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from meshlens.facts.nodes import Call, Constant, FunctionDef, Name, last_name
from meshlens.project.trees import Node, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.kinds import OVER_DEVICES, SAME
from meshlens.refactoring.following.within import Gather, Within, within
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.functions import Target, functions_called
from meshlens.refactoring.reading.parameters import AXIS_PARAMETER
from meshlens.refactoring.reading.scopes import home_of

_OF_CLASSES = frozenset({"staticmethod", "classmethod"})
_AXES = frozenset({AXIS_PARAMETER, "pmap_axis", "pmap_axis_name"})
_WANTED = {
    "pmean": frozenset({"mean", *SAME}),
    "psum": frozenset({"total", "count"}),
    "all_gather": frozenset({"rows"}),
    "numbered": frozenset({"places"}),
}


Place: TypeAlias = "tuple[str, str, int]"
"""A function: its file, its block and its site."""


@dataclass(slots=True)
class Helper:
    """The step, or a function that it calls, which may reduce over devices.

    Attributes:
        view: its file.
        target: the function.
        within: the functions that it defines, and the statements after which assigned values are reduced.
        every: all helpers of a step, by file and site.
        gathers: the variables that each of them, and the step, gathers, by file and site.
        parameter: its parameter for the axis name, if it has one.
        is_step: whether it is the step itself.
        inside: the expressions in it to reduce, each with how to reduce it, by site.
        calls: the calls in it to other helpers.
        passing: the sites of the calls that pass on its own parameter for the axis.
        kinds: the kinds of the values to reduce each time it was followed, by site, and by name for assigned values.
    """

    view: FileView
    target: Target
    within: Within
    every: dict[Place, Helper]
    gathers: dict[Place, dict[int, Gather]]
    parameter: str | None = None
    is_step: bool = False
    inside: dict[int, tuple[Node, str]] = field(default_factory=dict)
    calls: dict[int, tuple[Call, Helper]] = field(default_factory=dict)
    passing: set[int] = field(default_factory=set)
    kinds: dict[tuple[int, str], set[str]] = field(default_factory=dict)

    def reduce(self, node: Node, how: str) -> None:
        """Records that an expression in the function must be reduced."""
        self.inside.setdefault(node.site, (node, how))

    @property
    def reductions(self) -> int:
        """Returns the number of places in the function that reduce."""
        return len(self.inside) + len(self.within.lines) + len(self.within.gathers)

    @property
    def place(self) -> Place:
        """Returns the function."""
        return place_of(self.view, self.target)

    def needs_axis(self, above: tuple[Helper, ...] = ()) -> bool:
        """Returns whether the function has an axis parameter or reduces, or calls a helper that does either."""
        if any(self is one for one in above):
            return False
        called = any(one.needs_axis((*above, self)) for _, one in self.calls.values())
        return bool(self.parameter or self.reductions or called)


def helper_called(view: FileView, function: FunctionDef, caller: Helper) -> Helper | None:
    """Returns the record of a function that a step or a helper calls; None for functions that cannot reduce.

    It may be a method, at the top level of a file, or beside its caller in a function that makes both.

    Args:
        view: the file of the called function.
        function: its node, possibly without the method's `self` among its parameters.
        caller: the function that calls it.
    """
    is_here = view.path == caller.view.path
    homes = {None, home_of(view, caller.target.at(caller.target.node.site)) if is_here else None}
    found = [
        one
        for one in functions_called(view, function.function.name)
        if one.node.function.body is function.function.body and home_of(view, one.at(one.node.site)) in homes
    ]
    if len(found) != 1 or any(last_name(one) not in _OF_CLASSES for one in found[0].node.function.decorators):
        return None
    target = found[0]
    place = place_of(view, target)
    if place not in caller.every:
        known = within(target)
        known.gathers = caller.gathers.get(place, {})
        known.wanted = {} if caller.within.wanted is not None else None
        known.is_for_losses = caller.within.is_for_losses
        parameter = _axis_parameter(target)
        caller.every[place] = Helper(view, target, known, caller.every, caller.gathers, parameter)
    return caller.every[place]


def place_of(view: FileView, target: Target) -> Place:
    """Returns where a function is."""
    return str(view.path), target.site.block, target.node.site


def _axis_parameter(target: Target) -> str | None:
    """Returns the parameter that a function's collectives get their axis from, if its default is None."""
    optional = {
        one.name
        for one in target.node.function.parameters
        if isinstance(one.default, Constant) and one.default.value is None
    }
    passed = {
        value.name
        for statement in target.body
        for node in walk(statement)
        if isinstance(node, Call)
        for place, (label, _, value) in enumerate(node.arguments)
        if isinstance(value, Name)
        and (label in _AXES or (last_name(node.callee) in OVER_DEVICES and label is None and place == 1))
    }
    found = optional & passed
    return found.pop() if len(found) == 1 else None


def is_entered(caller: Helper, call: Call, helper: Helper) -> bool:
    """Records that a function calls a helper; returns whether the helper can get the step's axis."""
    given = next((value for label, _, value in call.arguments if label == helper.parameter is not None), None)
    if given is not None and not (isinstance(given, Name) and given.name == caller.parameter):
        return False
    if given is not None:
        caller.passing.add(call.site)
    if caller.calls.setdefault(call.site, (call, helper))[1] is not helper:
        raise Obstacle("reduced-inside", f'a call to "{helper.target.name}" may also run another function')
    return True


def reducing_helpers(top: Helper) -> Iterator[Helper]:
    """Yields the functions reached from a step that need its axis name."""
    seen: list[Helper] = [top]
    waiting = [one for _, one in top.calls.values()]
    while waiting:
        one = waiting.pop()
        if any(one is other for other in seen) or not one.needs_axis():
            continue
        seen.append(one)
        yield one
        waiting += [other for _, other in one.calls.values()]


def must_reduce_alike(helper: Helper) -> None:
    """Checks that each value that a helper reduces can be reduced in the same way every time the helper runs.

    Raises:
        Obstacle: a value needs different reductions.
    """
    wanted = [((site, ""), how) for site, (_, how) in helper.inside.items()]
    wanted += [
        ((statement.site, name), "pmean" if kind == "mean" else "psum")
        for (_, kind), (statement, names) in helper.within.lines.items()
        for name in names
    ]
    ways: dict[tuple[int, str], str] = {}
    for place, how in wanted:
        if ways.setdefault(place, how) != how or helper.kinds.get(place, set()) - _WANTED.get(how, frozenset()):
            message = f'"{helper.target.name}" may need different reductions on different calls'
            raise Obstacle("reduced-inside", message)


def name_for_axis(helper: Helper) -> str:
    """Returns the name of a helper's parameter for the axis."""
    return helper.parameter or AXIS_PARAMETER
