"""Norms and tests of a device's part of a gradient, such as the part that `psum_scatter` gives a sharded optimizer.

The same for norms of a device's part of a state, such as a wave function, whose parts exchange halos.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.data.exchanges import RECEIVED
from meshlens.axes.domain.joining import labels_of, variation_of
from meshlens.axes.domain.labels import NONE, SPLIT_ALONG, of_kinds
from meshlens.axes.domain.values import Arg, Const, Site, Value
from meshlens.axes.domain.variation import is_same
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.jaxapi.libraries import NORMS

_ROOTS = frozenset({"jax.numpy.sqrt", "jax.lax.sqrt", "jax.lax.rsqrt"})
_POWER, _HALF = "jax.numpy.power", Const(0.5)
_NORMS = NORMS | {"jax.numpy.linalg.norm"}
_OF_STATES = _NORMS | {"jax.numpy.sqrt", "jax.lax.sqrt"}
_SUM, _INNER = "jax.numpy.sum", "jax.numpy.vdot"
_STATE_SUM, STATE_NORM, _SCALED_BY = "state-sum", "state-norm", "scaled-by-own"
"""The kinds of the labels of the sum and the norm of a part of a state, and of the part divided by its norm."""
STATE_SHARE = "state-share"
"""The kind of the label of such a sum, divided by a total over the devices."""
CLIPPED = "clipped-apart"
"""The kind of the label of a device's own gradient that was scaled by a number computed from it, such as its norm."""
_MOST_CALLERS = 3
_OF_OWN_GRADIENT = frozenset({"of-gradient", "varying"})
_VERDICT = "slice-verdict"
VERDICT_APART = "verdict-apart"
"""The kind of the record of a choice by a verdict on one device's gradients, of what reduced gradients changed."""
_OF_OWN_VERDICT = frozenset({"judged-own", "varying"})
_VERDICTS = frozenset({"jax.numpy.all", "jax.numpy.any"})


def note_norm(run: Run, name: str, args: Sequence[Arg], site: Site, ctx: Context) -> frozenset[Any]:
    """Notes the norm of a device's part of a gradient; returns the labels of a norm, or of a sum of squares.

    Args:
        run: the run.
        name: the function that is called.
        args: its arguments.
        site: the call.
        ctx: the context.
    """
    if name == _POWER:
        return note_root(run, args[0].value, args[1].value, site, ctx) if len(args) == 2 else NONE
    if (name == _SUM and len(args) == 1) or (name == _INNER and len(args) == 2):
        return sum_of_state(labels_of(args[0].value).union(*(labels_of(arg.value) for arg in args[1:])))
    along_an_axis = len(args) > 2 or any(arg.label == "axis" for arg in args)
    if not args or name not in _ROOTS | _NORMS or (name in _NORMS and along_an_axis):
        return NONE
    is_norm = name in _NORMS or shape_of(args[0].value) == ()
    if is_norm and note_slices(run, args[0].value, site, ctx):
        return NONE | {("slice-norm", site)}
    return _of_state(args[0].value, site) if is_norm and name in _OF_STATES else NONE


def scaled_gradient(left: Value, right: Value, site: Site, ctx: Context) -> frozenset[Any]:
    """Returns the label of a device's own gradient that is multiplied or divided by a number computed from it.

    Gradients of single examples, which a `vmap` clips, are not meant.
    """
    if ctx.env.maps[-1].kind not in MAPS_ON_DEVICES:
        return NONE
    for gradient, number in ((left, right), (right, left)):
        if isinstance(number, Const) and (clipped := of_kinds(labels_of(gradient), CLIPPED)):
            return frozenset(clipped)
        labels, factor = labels_of(gradient), labels_of(number)
        is_of_own = factor >= _OF_OWN_GRADIENT and factor.isdisjoint({"gradient", "judged", "met"})
        if {"gradient", *_OF_OWN_GRADIENT} <= labels and "met" not in labels and is_of_own and shape_of(number) == ():
            return NONE | {(CLIPPED, ((site, ctx.function), *_callers(ctx)[:_MOST_CALLERS]))}
    return NONE


def _callers(ctx: Context) -> list[tuple[Site, Site | None]]:
    """Returns the calls that lead to a place, innermost first, each with the function that it is in."""
    around = [None, *(step.function for step in ctx.route)]
    return [(step.site, home) for step, home in zip(ctx.route, around, strict=False) if step.how == "call"][::-1]


def scaled_choice(args: Sequence[Arg]) -> frozenset[Any]:
    """Returns the label of such a gradient for `where(norm < limit, gradient, limit / norm * gradient)`."""
    return frozenset([label for arg in args[1:] for label in of_kinds(labels_of(arg.value), CLIPPED)])


def note_averaged(run: Run, labels: frozenset[Any], names: Sequence[str], site: Site, ctx: Context) -> None:
    """Notes a reduction over the devices of gradients that each of them scaled by a number of its own."""
    # If helpers scale and reduce it, the call of the first one is to blame for coming before that of the second.
    running = {ctx.function, *(step.function for step in ctx.route)}
    for _, places in of_kinds(labels, CLIPPED) if names else ():
        place = next((one for one, function in places if function in running), places[0][0])
        run.records.gradient_uses.append(GradientUse(CLIPPED, place, site, ctx, names[0]))


def note_root(run: Run, base: Value, exponent: Value, site: Site, ctx: Context) -> frozenset[Any]:
    """Notes a norm computed as a number to the power of 0.5; returns the label of such a norm."""
    if exponent != _HALF or shape_of(base) != ():
        return NONE
    return NONE | {("slice-norm", site)} if note_slices(run, base, site, ctx) else _of_state(base, site)


def _of_state(value: Value, site: Site) -> frozenset[Any]:
    """Returns the labels of the norm of a device's part, or of the root of its sum, if the parts exchange halos."""
    labels = labels_of(value)
    sums = of_kinds(labels if shape_of(value) == () else sum_of_state(labels), _STATE_SUM)
    return frozenset([(STATE_NORM, axis, site) for _, axis in sums])


def sum_of_state(labels: frozenset[Any]) -> frozenset[Any]:
    """Returns the labels of the sum of a device's part of an array whose parts exchange halos."""
    if "with-halo" not in labels or "of-gradient" in labels:
        return NONE
    split = _split(labels)
    return frozenset([(_STATE_SUM, axis) for _, axis in of_kinds(labels, RECEIVED) if axis in split])


def _split(labels: frozenset[Any]) -> frozenset[str]:
    return frozenset([axis for _, axis, _ in of_kinds(labels, SPLIT_ALONG)])


def divided_by_norm(run: Run, left: Value, right: Value, ctx: Context) -> tuple[frozenset[Any], frozenset[Any]]:
    """Notes that a device's part is divided by its own norm; returns the labels that the quotient gets and loses."""
    norms = of_kinds(labels_of(right), STATE_NORM) if shape_of(right) == () else ()
    split = _split(labels_of(left)) if norms and "with-halo" in labels_of(left) else NONE
    scaled: set[Any] = set()
    for _, axis, site in norms:
        if axis in split:
            run.records.gradient_uses.append(GradientUse("state-scaled", site, None, ctx, axis))
            scaled.add((_SCALED_BY, site))
    return frozenset(scaled), frozenset(norms) if scaled else NONE


def share_of_state(left: Value, right: Value, site: Site) -> frozenset[Any]:
    """Returns the labels of the sum of a device's part of a state, divided by a total over the devices."""
    sums = of_kinds(labels_of(left), _STATE_SUM) if shape_of(left) == () and shape_of(right) == () else ()
    totals = {axis for _, axis, _ in of_kinds(labels_of(right), "reduced-at")} if sums else ()
    over = variation_of(right)
    shares = [axis for _, axis in sums if axis in totals and is_same(over.over(axis).truth)]
    return frozenset([(STATE_SHARE, axis, site) for axis in shares])


def scaled_by_share(run: Run, left: Value, right: Value, ctx: Context) -> frozenset[Any]:
    """Notes that a device's part is multiplied by such a share; returns the labels that the product loses."""
    found: set[Any] = set()
    for part, share in ((left, right), (right, left)):
        shares = of_kinds(labels_of(share), STATE_SHARE) if shape_of(share) == () else ()
        for label in shares:
            _, axis, site = label
            if axis in _split(labels_of(part)):
                run.records.gradient_uses.append(GradientUse("state-shared-out", site, None, ctx, axis))
                found.add(label)
    return frozenset(found)


def note_restored(run: Run, left: Value, right: Value, ctx: Context) -> None:
    """Notes that what was divided by a norm, or what was computed from it, is multiplied by the norm."""
    for scaled, norm in ((left, right), (right, left)):
        norms = {site for _, _, site in of_kinds(labels_of(norm), STATE_NORM)}
        for _, site in of_kinds(labels_of(scaled), _SCALED_BY) if norms else ():
            if site in norms:
                run.records.gradient_uses.append(GradientUse("state-norm-shared", site, None, ctx))


def note_shared(run: Run, labels: frozenset[Any], ctx: Context) -> None:
    """Notes that the norm or share of a device's part of a state is sent to other devices, or reduced over them."""
    for _, _, site in of_kinds(labels, STATE_NORM, STATE_SHARE):
        run.records.gradient_uses.append(GradientUse("state-norm-shared", site, None, ctx))


def of_verdict_on(name: str, args: Sequence[Arg], site: Site) -> frozenset[Any]:
    """Returns the labels of `all` or `any` of a device's part of a gradient, as in a test that all of it is finite."""
    labels = labels_of(args[0].value) if name in _VERDICTS and len(args) == 1 else NONE
    slices = of_kinds(labels, "slice") if not of_kinds(labels, _VERDICT) else ()
    return frozenset([(_VERDICT, axis, place, site) for _, axis, place in slices])


def note_chosen(run: Run, test: Value, ctx: Context) -> None:
    """Notes that a test of a device's part of a gradient selects a value or a branch on that device alone."""
    for _, axis, scattered, site in of_kinds(labels_of(test), _VERDICT):
        run.records.gradient_uses.append(GradientUse("verdict-on-slice", site, scattered, ctx, axis))


def note_skipped(run: Run, test: Value, chosen: Sequence[Arg], site: Site, ctx: Context) -> None:
    """Notes that a device's own gradients decide whether what was computed from reduced ones is kept.

    Args:
        run: the run.
        test: the verdict.
        chosen: the values from which it chooses.
        site: the choice.
        ctx: the context.
    """
    if not labels_of(test) >= _OF_OWN_VERDICT:
        return
    over = variation_of(test)
    maps = [place for place, step in enumerate(ctx.route) if step.how == "map"]
    calls = [step.site for step in ctx.route[maps[-1] + 1 :] if step.how == "call"] if maps else []
    place = calls[0] if calls else site
    for labels in (labels_of(arg.value) for arg in chosen):
        for _, axis, reduction in of_kinds(labels, "reduced-at") if "of-gradient" in labels else ():
            if not is_same(over.over(axis).truth):
                run.records.gradient_uses.append(GradientUse(VERDICT_APART, place, reduction, ctx, axis))


def note_reduced(run: Run, labels: frozenset[Any], ctx: Context) -> None:
    """Notes that the norm of a part, perhaps squared, is later reduced over the devices."""
    for _, norm in of_kinds(labels, "slice-norm"):
        run.records.gradient_uses.append(GradientUse("slice-norm-reduced", norm, None, ctx))


def note_slices(run: Run, value: Value, site: Site, ctx: Context) -> bool:
    """Notes the norm of a value if the value is a device's part of a gradient; returns whether it is."""
    slices = list(of_kinds(labels_of(value), "slice"))
    for _, axis, scattered in slices:
        run.records.gradient_uses.append(GradientUse("norm-of-slice", site, scattered, ctx, axis))
    return bool(slices)
