"""A step that is to run on all devices: what it shares, what is split, what comes out, and what it has to average."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from meshlens.assists._calls import PlainCall
from meshlens.assists._form import Form
from meshlens.assists._functions import Target, Use, dotted_name, reached
from meshlens.assists._gradients import Taken, averaging, gradients_in
from meshlens.assists._jit import Folded
from meshlens.assists._methods import must_have_a_fixed_object
from meshlens.assists._model import Wishes
from meshlens.assists._parameters import AXIS_PARAMETER, new_parameter
from meshlens.assists._pmap import Obstacle
from meshlens.assists._shared import OutAxes, in_axes_of, out_axes_of
from meshlens.assists._spelling import Spelling
from meshlens.axes.records import literal_name
from meshlens.project.trees import walk
from meshlens.project.view import FileView
from meshlens.text import FileEdit

_DEFAULT = "batch"


def axis_name_of(view: FileView, target: Target, wishes: Wishes) -> str:
    """The axis name of a new map of a function: that of the collectives inside, else the user's, else "batch".

    Raises:
        Obstacle: the collectives name several, or another one than the user.
    """
    inside = {
        literal_name(use.name)
        for use in view.records.uses
        if use.context.function == target.site or any(step.function == target.site for step in use.context.route)
    }
    if None in inside or len(inside) > 1:
        raise Obstacle("several-axes", f'the collectives of "{target.name}" do not name one axis')
    if not inside:
        name = wishes.axis_name or wishes.usual_axis_name or _DEFAULT
        if not name.isprintable() or set(name) & set('"\\'):
            raise Obstacle("axis-name", "an axis name with quotes or backslashes is better written by hand")
        return name
    (found,) = inside
    assert found is not None
    if wishes.axis_name not in (None, found):
        raise Obstacle("axis-name", f'its collectives name "{found}"')
    return found


@dataclass(frozen=True, slots=True)
class Step:
    """A function that can be mapped so that its calls give the numbers that they give now.

    Attributes:
        form: how it is mapped, with its calls.
        taken: where it takes gradients.
        axis: the axis name as it is to be written.
        axes: for every argument, 0 if it is split and None if it is shared.
        out: for every result, None if all devices hold the same, else 0.
    """

    form: Form
    taken: tuple[Taken, ...]
    axis: str
    axes: tuple[int | None, ...]
    out: OutAxes

    @property
    def folded(self) -> Folded | None:
        """The `jit` whose work the map does."""
        return self.form.folded

    @property
    def optional_axis(self) -> bool:
        """Whether the function averages only where it is given an axis name, as it runs outside the map too."""
        return self.form.others and bool(self.taken)


def read_step(view: FileView, target: Target, wishes: Wishes, form: Form) -> Step:
    """What has to be known of a function to map it.

    Raises:
        Obstacle: it is not known, or the numbers would be others.
    """
    _must_be_plain(view, target)
    must_have_a_fixed_object(view, target, form)
    taken = gradients_in(view, target)
    if not all(one.is_mean for one in taken):
        raise Obstacle("no-mean", "the loss does not say that it is a mean over its rows")
    axis = f'"{axis_name_of(view, target, wishes)}"'
    static = form.folded.static if form.folded is not None else ()
    uses = tuple(_by_position(call) for call in form.calls)
    axes = _wished(wishes.in_axes) if wishes.in_axes else in_axes_of(view, target, uses, taken, static)
    if any(len(call.values) != len(axes) for call in form.calls):
        raise Obstacle("in-axes", f"in_axes has {len(axes)} entries, a call gives another number of arguments")
    out = out_axes_of(target, axes, taken)
    if form.calls and (out == 0 or (isinstance(out, tuple) and 0 in out)):
        raise Obstacle("unreduced-output", f'"{target.name}" returns what differs between the devices')
    return Step(form, taken, axis, axes, out)


def averaged(view: FileView, target: Target, step: Step, spelling: Spelling) -> list[FileEdit]:
    """The lines that average the gradients of a step over the devices."""
    pmean = spelling.of("jax", "lax.pmean") if step.taken else ""
    if not step.optional_axis:
        return [averaging(view, target, one, pmean, step.axis) for one in step.taken]
    added = new_parameter(view, target, AXIS_PARAMETER)
    guard = f"if {AXIS_PARAMETER} is not None:"
    return [added, *(averaging(view, target, one, pmean, AXIS_PARAMETER, guard) for one in step.taken)]


def _by_position(call: PlainCall) -> Use:
    node = call.use.call
    assert node is not None
    arguments = tuple((None, given[1], value) for given, value in zip(node[3], call.values, strict=True))
    return Use(call.use.site, (*node[:3], arguments))


def _wished(text: str) -> tuple[int | None, ...]:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        found = None
    if not isinstance(found, tuple) or not all(one in (0, None) for one in found) or 0 not in found:
        raise Obstacle("in-axes", "in_axes is to be a tuple of 0 and None, with one 0 at least")
    return found


def _must_be_plain(view: FileView, target: Target) -> None:
    inside = [node for root in reached(view, target) for node in walk(root)]
    draws = any(node[0] == "attr" and dotted_name(view, node).startswith("jax.random.") for node in inside)
    keys = any(parameter[0].endswith(("key", "rng", "rngs")) for parameter in target.parameters)
    if draws or keys:
        raise Obstacle("random-numbers", f'"{target.name}" draws random numbers, of which each device needs its own')
    if "batch_stats" in {node[-1] for node in inside if node[0] in ("attr", "const", "name")}:
        raise Obstacle("batch-statistics", f'"{target.name}" updates statistics of the batch, which each device has')
