"""`grad` and `value_and_grad`: the properties of a gradient taken inside a map."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from meshlens.axes.data import transfer
from meshlens.axes.data.arrays import shape_of
from meshlens.axes.data.transfer import across
from meshlens.axes.domain.joining import labels_of, variation_of
from meshlens.axes.domain.labels import DIVIDED_BY, LOSS_DIVIDED, of_kinds, travelling
from meshlens.axes.domain.values import UNKNOWN, Arg, Binder, Const, Data, Dict, Instance, Seq, Site, Value, Wrapped
from meshlens.axes.domain.variation import (
    ANYTHING,
    DIFFERS,
    INVARIANT,
    MEAN,
    RATIO,
    VARYING,
    Along,
    Variation,
    with_axes,
)
from meshlens.axes.python.outside import device_map
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.heap import MERGED_ARRAYS, attributes_of
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run

_GRADIENTS_ARE_SUMMED_SINCE = (0, 6, 1)


def call_gradient(run: Run, wrapped: Wrapped, call: Invocation) -> Value:
    """Runs the differentiated function; returns the gradient, with the value and auxiliary data if requested."""
    args, site, ctx = call.args, call.site, call.ctx
    run.differentiating += 1
    returned = run.invoke(call.inside(wrapped.operand, args, ctx, "grad"))
    run.differentiating -= 1
    has_aux = _flag(wrapped, "has_aux")
    loss = returned.items[0] if has_aux and isinstance(returned, Seq) and returned.items else returned
    of_sum = {("of-psum", place) for place in _sums(loss)}
    run.records.gradient_uses.extend(GradientUse("of-psum", site, place, ctx) for _, place in of_sum)
    divided = {(LOSS_DIVIDED, *rest) for _, *rest in of_kinds(labels_of(loss), DIVIDED_BY)}
    gradient = _labelled(_gradients(run, wrapped, args, loss, ctx), of_sum | divided)
    rest = returned.items[1] if has_aux and isinstance(returned, Seq) and len(returned.items) == 2 else UNKNOWN
    if wrapped.how == "value_and_grad":
        return Seq("tuple", (Seq("tuple", (loss, rest)) if has_aux else loss, gradient))
    return Seq("tuple", (gradient, rest)) if has_aux else gradient


def _sums(loss: Value) -> list[Site]:
    """Returns the `psum` calls that a loss passed through; none if any part of the loss differs between devices."""
    labels = labels_of(loss)
    if "varying" in labels or "index" in labels:
        return []
    return [label[1] for label in labels if isinstance(label, tuple) and label[0] == "psum"]


def without_sums(value: Value, cotangents: Value) -> Value:
    """Returns the value of a function with a custom derivative, which transposes no `psum` but may reduce."""
    if isinstance(value, Seq):
        return Seq(value.kind, tuple(without_sums(item, cotangents) for item in value.items), value.open)
    if not isinstance(value, Data):
        return value
    kept = frozenset(label for label in value.labels if not (isinstance(label, tuple) and label[0] == "psum"))
    return replace(value, labels=kept | ({"reduced-behind"} if "met" in labels_of(cotangents) else set()))


def _labelled(gradient: Value, labels: set[Any]) -> Value:
    if isinstance(gradient, Data) and labels:
        return Data(gradient.labels | labels, gradient.shape, over=gradient.over)
    if isinstance(gradient, Seq):
        return Seq(gradient.kind, tuple(_labelled(item, labels) for item in gradient.items), gradient.open)
    if isinstance(gradient, Dict):
        return Dict(tuple((key, _labelled(item, labels)) for key, item in gradient.items), gradient.open)
    return gradient


def _flag(wrapped: Wrapped, name: str) -> bool:
    return any(
        arg.label == name and isinstance(arg.value, Const) and bool(arg.value.value) for arg in wrapped.arguments
    )


def _gradients(run: Run, wrapped: Wrapped, args: tuple[Arg, ...], loss: Value, ctx: Context) -> Value:
    argnums: Value = Const(0)
    for arg in wrapped.arguments:
        if arg.label == "argnums":
            argnums = arg.value
    if isinstance(argnums, Const):
        return _gradient(run, args, argnums, loss, ctx)
    if not isinstance(argnums, Seq):
        return UNKNOWN
    gradients = tuple(_gradient(run, args, place, loss, ctx) for place in argnums.items)
    return Seq("tuple", gradients, argnums.open)


def _gradient(run: Run, args: tuple[Arg, ...], place: Value, loss: Value, ctx: Context) -> Value:
    index = place.value if isinstance(place, Const) and isinstance(place.value, int) else 0
    return _gradient_for(run, args, args[index].value if 0 <= index < len(args) else UNKNOWN, loss, ctx)


def _gradient_for(run: Run, args: tuple[Arg, ...], value: Value, loss: Value, ctx: Context) -> Value:
    """Returns the gradient with respect to an argument: a tree of the same structure."""
    if isinstance(value, Dict) and not value.open and not value.attributes:
        return Dict(tuple([(key, _gradient_for(run, args, part, loss, ctx)) for key, part in value.items]))
    if isinstance(value, Seq) and not value.open:
        return Seq(value.kind, tuple([_gradient_for(run, args, part, loss, ctx) for part in value.items]))
    if isinstance(value, Instance):
        value = attributes_of(run, value).get(MERGED_ARRAYS, value)
    return replace(_gradient_of_array(run, args, value, loss, ctx), shape=shape_of(value))


def _gradient_of_array(run: Run, args: tuple[Arg, ...], value: Value, loss: Value, ctx: Context) -> Data:
    """Returns the gradient with respect to an array, without its shape."""
    binder = device_map(ctx)
    over = _over(run, binder, loss, value)
    loss_labels = labels_of(loss)
    labels: set[Any] = {"of-gradient", "untouched"} | ({"mean", "scaled"} & loss_labels)
    own = labels_of(value)
    # A state that was moved by random numbers, such as a sampler's momentum, is a point like any other.
    labels |= {label for label in loss_labels - own if isinstance(label, tuple) and label[0] == "alike"}
    everything = loss_labels.union(own, *(labels_of(arg.value) for arg in args))
    known = isinstance(value, Const) or any(isinstance(label, tuple) and label[0] == "argument" for label in own)
    sums = binder is not None and run.world.jax_version_of(binder.site.path) >= _GRADIENTS_ARE_SUMMED_SINCE
    if binder is None or "varying" not in everything:
        is_summed = binder is not None and binder.checked and sums and known and _is_summed(loss, value)
        labels |= {"auto-summed"} if is_summed else {"varying"} & everything
        return Data(frozenset(labels), over=over)
    # A value that was gathered earlier is differentiated as a whole.
    gathered = [label for label in of_kinds(loss_labels - own, "gathered") if label[1] in own]
    is_reduced = "varying" not in loss_labels
    is_own = is_reduced and not (binder.checked and sums) and _is_averaged(loss_labels)
    if is_own:
        labels |= {"mean"}
        means = of_kinds(loss_labels, "reduced-at")
        run.records.gradient_uses.extend(
            GradientUse("loss-averaged", place, None, ctx, axis) for _, axis, place in means
        )
    if (is_reduced and not is_own) or "reduced-behind" in loss_labels:
        labels |= {"varying", *_slices(gathered)}
        return Data(frozenset(labels), over=over if "reduced-behind" not in loss_labels else ANYTHING)
    if binder.checked and sums and not _is_varying(value):
        return Data(frozenset(labels | ({"auto-summed"} if known else set())), over=over)
    if gathered:
        return _scattered(run, loss, gathered, Data(frozenset(labels | {"varying"}), over=over), ctx)
    wrt = {("wrt", label) for label in travelling(own) if isinstance(label, tuple) and label[0] == "argument"}
    return Data(frozenset(labels | wrt | {"gradient", "varying"}), over=over)


def _is_averaged(labels: frozenset[Any]) -> bool:
    """Returns whether a loss was averaged over the devices, but never summed.

    In an unchecked map, `pmean` transposes to itself, so the gradient of such a loss is that of the device's own loss
    (measured on JAX 0.6.2, 0.10.2 and 0.12.0.1).
    """
    return bool(of_kinds(labels, "reduced-at")) and not of_kinds(labels, "psum")


def _is_summed(loss: Value, value: Value) -> bool:
    """Returns whether JAX types a loss as varying over an axis over which the value is invariant."""
    over = variation_of(value)
    return any(along.typed == VARYING and over.over(axis).typed == INVARIANT for axis, along in variation_of(loss).axes)


def _is_varying(value: Value) -> bool:
    """Returns whether JAX types a value as varying, so that its gradient is not summed automatically."""
    return "varying" in labels_of(value) or any(along.typed == VARYING for _, along in variation_of(value).axes)


def _scattered(run: Run, loss: Value, gathered: list[Any], gradient: Data, ctx: Context) -> Data:
    """Returns the gradient for parameters that `all_gather` assembled: its parts are already summed over devices."""
    axes = {axis for _, _, axis, _ in gathered}
    places = {place for _, _, _, place in gathered}
    # A mean that was divided by the number of devices is a share of the mean over all devices.
    truths = (MEAN, RATIO) if "mean" in labels_of(loss) else (RATIO,)
    means = [axis for axis in axes if variation_of(loss).over(axis).truth in truths]
    for axis in sorted(means):
        run.records.gradient_uses.append(GradientUse("scattered", min(places), None, ctx, axis))
    summed = {("summed", place) for place in places} if means else set()
    over = with_axes(gradient.over, axes, Along(DIFFERS, VARYING))
    return replace(gradient, labels=gradient.labels | summed | _slices(gathered), over=over)


def _slices(gathered: list[Any]) -> set[Any]:
    """Returns the labels of each device's part of a gradient, for parameters that were gathered."""
    return {("slice", axis, place) for _, _, axis, place in gathered}


def _over(run: Run, binder: Binder | None, loss: Value, value: Value) -> Variation:
    """Returns the variation of a gradient."""
    if binder is None:
        return ANYTHING
    sums = binder.checked and run.world.jax_version_of(binder.site.path) >= _GRADIENTS_ARE_SUMMED_SINCE
    how = transfer.differentiated_checked if sums else transfer.differentiated
    return across(how, variation_of(loss), variation_of(value))
