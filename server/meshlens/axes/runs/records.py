"""The records that a run leaves for the rules: plain data, with sites instead of positions.

The interpreter adds a record each time it reaches a place, one per route; the rules compare the records of one place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from meshlens.axes.domain.immutable import immutable
from meshlens.axes.domain.values import Arg, Binder, Const, Site, Value
from meshlens.axes.runs.context import Context

DEFAULTS = "meshlens.defaults"
"""The name of the calls that record options with their defaults: the arguments, each with the site of its default."""


@immutable
class AxisUse:
    """A collective, an axis query, or a library callable that needs an axis, reached on one route.

    Attributes:
        kind: the collective's name: "psum", "axis_index", "BatchNorm", …
        call: site of the call.
        axis: site of the expression that gives the axis, None if the call gives none.
        name: the axis name as a value: a Const with a str (or None), or unknown. A tuple of names gives one
            record per name.
        whole: the axis argument as a value.
        arguments: all arguments by parameter name.
        context: the context.
        labels: labels of the reduced value, see `labels.py`.
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
    """A call to something outside the workspace.

    Attributes:
        dotted: its name, with aliases resolved: `jax.numpy.mean`.
        call: site of the call.
        callee: site of the expression that is called.
        args: all arguments.
        result: the value that the analysis assigns to the call.
        context: the context.
        decorator: whether this is `@callee(…)`, whose result is then called with the decorated function.
        guarded: whether it is under `try/except (ImportError|AttributeError|TypeError)`, `hasattr` or a version check.
        mesh: for a call with specs, the current mesh; `NO_MESH` if there certainly is none.
        written: its name before JAX's aliases were resolved, if different: `jax.experimental.pjit.pjit`.
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
    """A name outside the workspace that is evaluated or imported.

    Attributes:
        dotted: the name with aliases resolved.
        site: the expression, or the name in an import statement.
        imported: whether it is in an import statement.
        guarded: whether it is under `try/except (ImportError|AttributeError)`, `hasattr` or a version check; "expected"
            if a test expects the code to raise, which says nothing about other routes.
        certain: whether it is certainly reached, unconditionally, and no unseen code may bind axes on the way.
    """

    dotted: str
    site: Site
    imported: bool
    guarded: bool | Literal["expected"]
    certain: bool


@immutable
class Binding:
    """An application of a binder.

    Attributes:
        binder: the applied binder.
        context: the context of the application.
        decorator: whether it is `@partial(jax.pmap, …)` or `@jax.pmap`.
        function: qualified name of the operand if it is a function of the workspace.
        parameters: its parameters as (name, how, has a default), without bound ones (`self`, a partial's); None if the
            operand is unknown.
    """

    binder: Binder
    context: Context
    decorator: bool
    function: str | None
    parameters: tuple[tuple[str, str, bool], ...] | None


@immutable
class MappedCall:
    """A call to a mapped function.

    Attributes:
        binder: the innermost binder of the callee.
        call: site of the call.
        args: the arguments.
        exact: whether their number is known, not hidden by a splat.
        context: the context of the call.
        returned: the operand's result, before the map stacks it.
        visible: false if no call was seen and the analysis ran the operand with unknown arguments.
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
    """A use of a PRNG key.

    Attributes:
        call: site of the draw.
        key: site of the key argument.
        labels: labels of the key or of the random numbers.
        context: the context.
        how: "draw"; "noise" if random numbers that are the same on every device are combined with data that differs;
            "reduced" if their mean is reduced over the devices; "apply" if a model gets the key, for example for
            dropout; "dropped" if a layer uses the key to drop parts of each device's data; "along" for noise that is
            the same only along some axes; "noised" for rows that all devices along an axis hold, combined with noise
            that differs along it and multiplied by split parameters; "laid" if results that are computed only from
            random numbers that are the same on every device are laid side by side; "beside" if they are the same only
            along some axes, and laid side by side along one of these; "exchanged" if two devices send each other a
            value, and each decides with a number of its own whether to keep its own value.
        alike: whether the key is certainly the same on all devices.
        made: the call that folded an index into the key, the spec that gave all keys to every device, or the call that
            asked for the index of the process; None if there are several of these, or none.
    """

    call: Site
    key: Site
    labels: frozenset[Any]
    context: Context
    how: str = "draw"
    alike: bool = False
    made: Site | None = None


@immutable
class GradientUse:
    """A noteworthy operation on a gradient or a reduced value.

    Attributes:
        kind: "stepped" (parameters are updated with a gradient), "updated" (an optimizer of flax.nnx updates its model
            with a gradient), "divided" (a sum over devices is divided), "of-psum" (a function whose result is a `psum`
            is differentiated), "host-reduced" (a value that every device already holds is summed over the devices
            outside the map), "summed-again" (such a value is summed again in the map), "same-summed" (a `psum` of a
            value that is the same on every device and was computed from such a value), "gathered-summed" (of a total
            over rows that every device has gathered), "skipped" (a collective is
            skipped because there is no axis name), "carried" (a loop's carry is varying after a step, but not at the
            start), "carried-reduced" (at the start, but not after a step), "branch-alike" (this branch returns what is
            the same on all devices, but `other` returns what varies), "ratio-averaged" (a `pmean` of quotients of
            sums), "pairs-averaged" (a `pmean` of means over pairs of rows), "curved-averaged" (a `pmean` of nonlinear
            functions of means, sums or quotients), "pieces-averaged" (a `pmean` of a value that is zero on all devices
            but those that pass a test), "of-one-device" (a total over the devices is divided by the count of one
            device), "of-size-here" (a total is divided by the number of rows of one device), "divided-twice" (an
            average is divided by the count of all devices), "first-of-devices" (only device 0's mean or sum is kept),
            "other-of-devices" (another device's is taken),
            "share-averaged" (a `pmean` of sums already divided by a total), "shifted-summed" (a `psum` of sums to which
            each device added a value common to all), "mean-summed" (a `psum` of gradients of means), "means-summed" (a
            `psum` of other means), "scattered" (`all_gather` is differentiated, which sums gradients of means over the
            devices), "positions-picked" (positions in the parts of all devices are picked by another array),
            "positions-shifted" (a value is added to such positions), "offset-of-part" (their offset is not computed
            with the size of a part), "offset-by-size" (it is computed with the number of devices, and each device has
            more positions), "own-rows-of-all" (class labels 0, 1, 2, … count a
            device's own rows, but the columns represent the rows of all devices), "norm-of-slice" (a norm of a device's
            part of a gradient), "slice-norm-reduced" (such a norm is reduced), "state-scaled" (a device's part of a
            state whose parts exchange halos is divided by the norm of the part), "state-shared-out" (it is multiplied
            by the sum of one device's part divided by a total), "state-norm-shared" (such a norm or factor is sent to
            other devices, or multiplied with what was divided by it), "step-reduced" (parameters are updated
            with gradients that were reduced over this axis), "step-apart" (parameters are updated with gradients that
            were reduced over other axes, but not over this one), "step-alone" (parameters are updated with gradients
            that were not reduced), "copies-saved" (a state with a copy on every device is saved whole), "copies-listed"
            (code lists the shards of an array, some of which are copies), "copies-summed" (a `psum` of a copy to which
            each device added a value), "reduced-over-fewer" (what is subtracted from rows was reduced over only some of
            the axes that split them), "divided-again" (a gradient is divided by the number by which its loss was
            divided at `other`), "divided-by-all" (a sum of gradients over some axes of a map is divided by the number
            of all its devices), "carried-sum" (one device's sum becomes the carry of the loop at `other`, which began
            with a reduced value), "of-fewer-axes" (a total is divided by a sum over only some of its axes),
            "fillers-counted" (weights of 1 are filled up with 1 and summed), "fillers-cleared" (entries of such weights
            are set), "length-of-filled" (rows count up to the length of a filled array), "masked-sum" (a sum
            without the rows that fill up a batch), "all-rows-counted" (a count that includes them), "all-rows-summed"
            (a sum or mean that does), "mask-in-batch" (the weights of the rows, stored under the key `axis`,
            next to filled arrays), "ranks-reduced" (what is computed from ranks of one device's rows is reduced),
            "moments-apart" (an optimizer, or a link of one, gets gradients of which only the updates are reduced),
            "moments-met" (moments of such gradients, which an optimizer got here, are reduced), "verdict-apart" (a
            verdict on a device's own gradients chooses whether to keep what reduced gradients changed),
            "clipped-apart" (a device's own gradient is scaled by a number computed from it before it is reduced),
            "slices-overlap" (each device takes several rows, starting at the row of its index),
            and for values that each device computes from its part alone: "own-maxima-summed" (a `psum` of exponentials
            from which each device subtracted its own maximum), "picked-summed" (a `psum` of entries that devices picked
            for indices that may be in another part), "picked-elsewhere-summed" (a `psum` of entries that devices picked
            by their index along another axis), "centred-summed" (a `psum` of values that each device centered on its
            own mean); "halo-at-front", "halo-at-back" (another device's rows are joined to the wrong end),
            "ghost-sent" (an edge consists of the rows that a halo replaces), "halo-past-gap" (the rows that are sent
            are not those at the edge), "logarithms-reduced" (a `psum` or `pmean` of logarithms of sums over each
            device's part), "corners-read" (a stencil reads corners that no exchange fills),
            "index-tested" (a Python condition depends on the device index), "mean-scattered" (a `psum_scatter` of
            gradients of means), "scaled-by-own", "scaled-by-averaged" (rows minus the mean of all devices are scaled by
            one device's variance, or by the mean of the variances around each device's own mean), "verdict-on-slice" (a
            verdict on a device's part of a gradient chooses between values), "parts-mixed", "stack-mixed",
            "sent-stack-mixed", "joined-mixed", "pieces-mixed" (parts that are not moved before a reshape or split, see
            `mixing.py`), "moved-on", "moved-back" (blocks move to the next or previous device), "owner-ahead",
            "owner-before" (a loop's counter is added to or subtracted from the device's index), "ring-closed" (the loop
            whose body is at `other` has as many steps as there are devices, and each step moves blocks by one device),
            "place-in-ring" (a known number is added to the device's index in a loop), "own-coordinates" (coordinates
            computed from the size of a device's part are combined with the part), "index-never", "index-always",
            "index-met" (a comparison with the device's index that is true on no device, on every device, or perhaps on
            some), "range-of-size" (pairs of numbers are computed for each number below the size of an axis),
            "number-shared" (several devices have the same number, because an index is multiplied by a number below the
            size of the other axis), "part-of-another" (an index is multiplied by a quotient by the size of another
            axis), "left-apart" (a `while_loop` has a collective, and its condition differs between
            devices), "average-combined" (the running averages that the devices keep at `other` are put together),
            "loss-averaged" (an average of a loss that is then differentiated in an unchecked map),
            "stacked-stages-summed" (`other` sums stacked values that each device also sends on).
        site: the site.
        other: the site that produced the value: the `psum` that was divided or differentiated.
        context: the context.
        axis: the axis, if known.
        offset: the number that is added, for "place-in-ring"; the factor, for "number-shared"; the divisor, for
            "part-of-another".
    """

    kind: str
    site: Site
    other: Site | None
    context: Context
    axis: str = ""
    offset: int = 0


class SameName(NamedTuple):
    """Two equal strings that were compared, or one of which replaced the other; both name an axis if either does.

    Attributes:
        one: the string that the code ran with.
        other: the string that it was compared with, or that was passed to a call that was not run again.
    """

    one: Const
    other: Const


@dataclass(slots=True)
class Records:
    """All records of one run, in the order in which they were added.

    Once sorted by file, `calls_of_maps` contains the calls, in any file, of the maps that the file applies.
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
    """Returns the axis name if the value is a known string."""
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else None
