"""The records that a run over the workspace leaves for the rules: plain data, with sites instead of positions.

A record is made each time that the interpreter passes a place, once per route; the rules compare the
records of one place with each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from meshlens.axes.domain.immutable import immutable
from meshlens.axes.domain.values import Arg, Binder, Const, Site, Value
from meshlens.axes.runs.context import Context


@immutable
class AxisUse:
    """A collective, an axis query, or a library callable that needs an axis, met on one route.

    Attributes:
        kind: the collective's name: "psum", "axis_index", "BatchNorm", …
        call: site of the call.
        axis: site of the expression that gives the axis, None if the call gives none.
        name: the axis name as a value: a Const with a str (or None), anything else is unknown.  A tuple of
            names is one record for each.
        whole: the axis argument as a value.
        arguments: all arguments by parameter name.
        context: the circumstances.
        labels: what is known of the reduced value, see `labels.py`.
    """

    kind: str
    call: Site
    axis: Site | None
    name: Value
    whole: Value
    arguments: tuple[tuple[str, Arg], ...]
    context: Context
    labels: frozenset[Any] = frozenset()


@immutable
class ApiCall:
    """A call of something outside the workspace.

    Attributes:
        dotted: its name, with aliases undone: `jax.numpy.mean`.
        call: site of the call.
        callee: site of the expression that is called.
        args: all arguments.
        result: what the analysis thinks comes out.
        context: the circumstances.
        decorator: true for `@callee(…)`, whose result is then called with the decorated function.
        guarded: behind `try/except (ImportError|AttributeError|TypeError)`, `hasattr` or a version check.
        mesh: for a sharding constraint, the mesh that is in force.
        written: its name before aliases of JAX were undone, where that is another one: `jax.experimental.pjit.pjit`.
    """

    dotted: str
    call: Site
    callee: Site
    args: tuple[Arg, ...]
    result: Value
    context: Context
    decorator: bool = False
    guarded: bool = False
    mesh: Value | None = None
    written: str = ""


@immutable
class ApiMention:
    """A name outside the workspace, evaluated or imported here.

    Attributes:
        dotted: the name with aliases undone.
        site: the expression, or the name in an import statement.
        imported: true in an import statement.
        guarded: behind `try/except (ImportError|AttributeError)`, `hasattr` or a version check; "expected" where a test
            expects the code to raise, which says nothing of other routes.
        certain: on a closed route, under no condition whose outcome is not known, along edges that certainly run.
    """

    dotted: str
    site: Site
    imported: bool
    guarded: bool | Literal["expected"]
    certain: bool


@immutable
class Binding:
    """A binder applied here.

    Attributes:
        binder: all about it.
        context: the circumstances of the application.
        decorator: true for `@partial(jax.pmap, …)` and `@jax.pmap`.
        function: qualified name of the operand if it is a function of the workspace.
        parameters: its parameters as (name, how, has a default), bound ones (`self`, a partial's) left out;
            None when the operand is not known.
    """

    binder: Binder
    context: Context
    decorator: bool
    function: str | None
    parameters: tuple[tuple[str, str, bool], ...] | None


@immutable
class MappedCall:
    """A mapped function is called.

    Attributes:
        binder: the innermost binder of what is called.
        call: site of the call.
        args: the arguments.
        exact: false when a splat hides how many there are.
        context: the circumstances of the call.
        returned: what came out of the operand, before the map stacks it.
        visible: false when the call was not seen and the analysis ran the operand with unknown arguments.
    """

    binder: Binder
    call: Site
    args: tuple[Arg, ...]
    exact: bool
    context: Context
    returned: Value
    visible: bool = True


@immutable
class RandomUse:
    """A random number is drawn with a key.

    Attributes:
        call: site of the draw.
        key: site of the key argument.
        labels: what is known of the key, or of the random numbers.
        context: the circumstances.
        how: "draw"; "noise" when random numbers that are the same on every device meet data that differ, "reduced"
            when their mean is reduced over the devices; "apply" when a model gets the key, for its dropout say.
        alike: the key is certainly the same on all devices.
    """

    call: Site
    key: Site
    labels: frozenset[Any]
    context: Context
    how: str = "draw"
    alike: bool = False


@immutable
class GradientUse:
    """Something worth knowing happened to a gradient or a reduced value.

    Attributes:
        kind: "stepped" (a gradient meets the parameters it belongs to), "divided" (a sum over devices is
            divided), "of-psum" (a function whose result is a `psum` is differentiated), "host-reduced"
            (a value that every device holds already is summed again over the devices outside the map),
            "summed-again" (the same in the map), "skipped" (a collective is left out for want of an axis name),
            "carried" (what a loop carries varies after a step, and did not at the start), "ratio-averaged" (a `pmean`
            of quotients of sums), "pairs-averaged" (a `pmean` of means over pairs of rows), "of-one-device" (a total
            over the devices is divided by a count of one of them), "divided-twice" (an average is divided by the
            count of all devices), "first-of-devices" (of each device's own mean or sum, device 0's alone is kept).
        site: the place.
        other: the place where the value came about: the `psum` that was divided or differentiated.
        context: the circumstances.
        axis: the axis over which it happened, if that is told.
    """

    kind: str
    site: Site
    other: Site | None
    context: Context
    axis: str = ""


class SameName(NamedTuple):
    """Two equal strings of which one stood where the other did, so that they name the same axis if one does.

    Attributes:
        one: the string with which the code ran.
        other: the string that it met, or that stood in the call that was not run again.
    """

    one: Const
    other: Const


@dataclass(slots=True)
class Records:
    """All records of one run, in the order in which they were made.

    Sorted by file, `calls_of_maps` are the calls, made anywhere, of the maps that this file applies.
    """

    uses: list[AxisUse] = field(default_factory=list)
    calls: list[ApiCall] = field(default_factory=list)
    mentions: list[ApiMention] = field(default_factory=list)
    bindings: list[Binding] = field(default_factory=list)
    mapped_calls: list[MappedCall] = field(default_factory=list)
    calls_of_maps: list[MappedCall] = field(default_factory=list)
    random_uses: list[RandomUse] = field(default_factory=list)
    gradient_uses: list[GradientUse] = field(default_factory=list)
    same_names: list[SameName] = field(default_factory=list)


def literal_name(value: Value) -> str | None:
    """The axis name, if the value is a string that is known."""
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None
