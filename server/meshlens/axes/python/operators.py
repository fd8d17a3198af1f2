"""Operators on values, and the gradient updates that they express."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.data import arrays, corners, exchanges, fillers, moments, noise
from meshlens.axes.data.contractions import matmul
from meshlens.axes.data.coordinates import combined as coordinates_combined
from meshlens.axes.data.coordinates import quotient, unknown_quotient
from meshlens.axes.data.fitting import note_combined
from meshlens.axes.data.gradients import (
    Operation,
    by_number,
    divided,
    drift,
    gradient_step,
    note_quotient,
    one_less,
    own_mean,
    quotient_here,
    rows_less_one,
    strayed,
)
from meshlens.axes.data.numbering import note_number, note_product, of_product
from meshlens.axes.data.operating import of_operator
from meshlens.axes.data.parts import note_centred, note_scaled, of_operation
from meshlens.axes.data.positions import index_by_size, last_index, less_index, note_shifted, of_ranks
from meshlens.axes.data.rings import note_owner, of_sum
from meshlens.axes.data.running_averages import kept
from meshlens.axes.data.shapes import moved_line
from meshlens.axes.data.slices import (
    divided_by_norm,
    note_restored,
    note_root,
    scaled_by_share,
    scaled_gradient,
    share_of_state,
)
from meshlens.axes.data.typed_shardings import with_sharding
from meshlens.axes.domain.axis_sizes import as_number, counts_devices
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import AXIS_SIZE, IMAGINARY, NONE, TRACED, UNPLACED, travelling
from meshlens.axes.domain.values import Arg, Const, Data, Value
from meshlens.axes.domain.variation import ANYTHING
from meshlens.axes.jax import traced
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.run import Run
from meshlens.facts.nodes import Constant

_SCALED = frozenset({"scaled"})


def binary(run: Run, operation: Operation, frame: Frame, ctx: Context) -> Value:
    """Returns the result of a binary operation."""
    operator, left, right, sides, site = operation
    numbers = as_number(operator, left, right) or (left, right)
    known = arrays.constant_operation(operator, *numbers)
    if known is not None:
        if isinstance(known, Const):
            counts = operator == "*" and (counts_devices(numbers[0]) or counts_devices(numbers[1]))
            part = quotient(operator, right, sides[1], site) or one_less(operator, *numbers)
            known = Const(known.value, site, None, part, None, counts)
        return traced.of_operation(known, (left, right), ctx)
    left_labels, right_labels = labels_of(left), labels_of(right)
    scaled = operator == "/" and not isinstance(sides[1], Constant)
    labels = _SCALED if scaled else NONE
    if left_labels or right_labels:
        labels = travelling(left_labels) | travelling(right_labels)
        if operator in ("/", "//", "*"):
            labels -= divided(run, operation, ctx)
            labels |= {IMAGINARY} & (left_labels ^ right_labels)
            if scaled:
                labels |= _SCALED
            if operator != "*":
                labels -= AXIS_SIZE - left_labels
        if operator != "@":
            noise.meet(run, (left, right), ctx)
        labels |= gradient_step(run, labels, ((left_labels, sides[0]), (right_labels, sides[1])), frame, ctx)
        if operator in ("+", "-") and "of-gradient" in labels and ctx.env.maps:
            labels |= drift((left, right))
        elif operator in ("+", "-") and len(ctx.env.maps) > 1:
            labels |= strayed(left, right)
    if operator == "*" and (counts_devices(left) or counts_devices(right)):
        labels |= AXIS_SIZE
    if operator == "*" and (left_labels or right_labels):
        labels |= fillers.masked(left, right, site)
    if operator != "@" and (left_labels or right_labels):
        labels |= fillers.combined(left, right)
    if operator == "/" and left_labels:
        labels |= by_number(run, left, right, site, ctx)
    if operator == "/" and right_labels:
        fillers.note_counted(run, right, site, ctx)
    if operator in ("+", "-", "*"):
        labels |= moved_line(operator, sides, left, right)
    combined = matmul if operator == "@" else arrays.broadcast
    shapes = arrays.shape_of(left), arrays.shape_of(right)
    shape = combined(*shapes)
    if shapes[0] and shapes[1] and ctx.env.maps:
        note_combined(run, operator, (Arg(None, left, None, None), Arg(None, right, None, None)), site, ctx)
    is_uniform = type(left) is Const or "uniform" in left_labels
    if is_uniform and (type(right) is Const or "uniform" in right_labels):
        labels |= {"uniform"}
    if arrays.is_unplaced(left) and arrays.is_unplaced(right):
        labels |= UNPLACED
    if left_labels or right_labels:
        labels |= corners.of_operation(run, operator, (left, right), site, ctx)
    if ctx.env.maps:
        labels |= of_operation(operator, left, right, site) | unknown_quotient(operator, right, site)
        if operator != "@":
            labels |= coordinates_combined(run, operator, (left, right), ctx)
        if operator == "@":
            noise.note_multiplied(run, left, right, ctx)
        else:
            labels |= noise.noised((left, right))
        labels |= exchanges.of_operation(operator, left, right) | of_ranks(left, right)
        if operator in ("+", "-"):
            note_shifted(run, left, right, site, ctx)
            if operator == "-":
                note_centred(run, left, right, ctx)
                labels |= less_index(right, site)
            labels |= kept(left, right, site, ctx)
            labels |= of_sum(operator, left, right, site)
            labels |= last_index(left, right) | rows_less_one(operator, left, right) if operator == "-" else NONE
        elif operator == "/":
            note_quotient(run, left, right, site, ctx)
            scaled_by_own, norms = divided_by_norm(run, left, right, ctx)
            labels = labels - norms | scaled_by_own | share_of_state(left, right, site)
            labels |= own_mean(left, right) | quotient_here(left, right)
        elif operator == "%":
            note_owner(run, operator, (Arg(None, left, None, None),), ctx)
        if operator == "+":
            note_number(run, left, right, site, ctx)
        elif operator == "*":
            labels |= of_product(left, right) | index_by_size(left, right)
            note_product(run, left, right, ctx)
            note_restored(run, left, right, ctx)
            labels -= scaled_by_share(run, left, right, ctx)
        elif operator == "**":
            labels |= note_root(run, left, right, site, ctx)
        if operator in ("*", "/"):
            note_scaled(run, operator, (left, right), site, ctx)
            labels |= scaled_gradient(left, right, site, ctx)
    elif left_labels or right_labels:
        labels |= moments.of_operation(run, operator, (left, right), site, ctx)
    is_number = isinstance(sides[1], Constant)
    over = of_operator(operator, left, right, is_number, ctx.env) if ctx.env.maps else ANYTHING
    result = Data(labels, shape, None, arrays.gives_array(operator, left, right), over)
    if TRACED in left_labels or TRACED in right_labels:
        result = replace(result, labels=result.labels | {TRACED}, array=True)
    if ctx.env.maps or not (left_labels or right_labels):
        return result
    return with_sharding(run, operator, (Arg(None, left, None, None), Arg(None, right, None, None)), result, site, ctx)
