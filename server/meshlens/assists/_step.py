"""A step that is to run on all devices: what it shares, what is split, what comes out, and what it has to average."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from meshlens.assists._functions import Target, Use, dotted_name, line_of, must_be_used_here_only, reached, uses_of
from meshlens.assists._gradients import Taken, averaging, gradients_in
from meshlens.assists._jit import Folded, jit_above
from meshlens.assists._model import Wishes
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
        uses: its calls.
        folded: the `jit` that decorates it.
        taken: where it takes gradients.
        axis: the axis name as it is to be written.
        axes: for every argument, 0 if it is split and None if it is shared.
        out: for every result, None if all devices hold the same, else 0.
    """

    uses: tuple[Use, ...]
    folded: Folded | None
    taken: tuple[Taken, ...]
    axis: str
    axes: tuple[int | None, ...]
    out: OutAxes


def read_step(view: FileView, target: Target, wishes: Wishes) -> Step:
    """What has to be known of a function to map it.

    Raises:
        Obstacle: it is not known, or the numbers would be others.
    """
    _must_be_plain(view, target)
    uses = uses_of(view, target)
    folded = jit_above(view, target)
    taken = gradients_in(view, target)
    if not all(one.is_mean for one in taken):
        raise Obstacle("no-mean", "the loss does not say that it is a mean over its rows")
    axis = f'"{axis_name_of(view, target, wishes)}"'
    static = folded.static if folded is not None else ()
    _must_be_called_plainly(view, target, uses)
    axes = _wished(wishes.in_axes) if wishes.in_axes else in_axes_of(view, target, uses, taken, static)
    if any(use.call is not None and len(use.call[3]) != len(axes) for use in uses):
        raise Obstacle("in-axes", f"in_axes has {len(axes)} entries, a call gives another number of arguments")
    out = out_axes_of(target, axes, taken)
    if uses and (out == 0 or (isinstance(out, tuple) and 0 in out)):
        raise Obstacle("unreduced-output", f'"{target.name}" returns what differs between the devices')
    must_be_used_here_only(view, target)
    return Step(uses, folded, taken, axis, axes, out)


def averaged(view: FileView, target: Target, step: Step, spelling: Spelling) -> list[FileEdit]:
    """The lines that average the gradients of a step over the devices."""
    pmean = spelling.of("jax", "lax.pmean") if step.taken else ""
    return [averaging(view, target, one, pmean, step.axis) for one in step.taken]


def _wished(text: str) -> tuple[int | None, ...]:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        found = None
    if not isinstance(found, tuple) or not all(one in (0, None) for one in found) or 0 not in found:
        raise Obstacle("in-axes", "in_axes is to be a tuple of 0 and None, with one 0 at least")
    return found


def _must_be_plain(view: FileView, target: Target) -> None:
    if target.is_method:
        raise Obstacle("method", f'"{target.name}" is a method, whose object pmap would map')
    inside = [node for root in reached(view, target) for node in walk(root)]
    draws = any(node[0] == "attr" and dotted_name(view, node).startswith("jax.random.") for node in inside)
    keys = any(parameter[0].endswith(("key", "rng", "rngs")) for parameter in target.parameters)
    if draws or keys:
        raise Obstacle("random-numbers", f'"{target.name}" draws random numbers, of which each device needs its own')
    if "batch_stats" in {node[-1] for node in inside if node[0] in ("attr", "const", "name")}:
        raise Obstacle("batch-statistics", f'"{target.name}" updates statistics of the batch, which each device has')


def _must_be_called_plainly(view: FileView, target: Target, uses: tuple[Use, ...]) -> None:
    for use in uses:
        line = line_of(view, use.site)
        if use.call is None:
            raise Obstacle("used-as-value", f'line {line} hands "{target.name}" on instead of calling it')
        if any(label is not None for label, _, _ in use.call[3]):
            raise Obstacle("keyword-arguments", f"the call in line {line} gives arguments by keyword")
