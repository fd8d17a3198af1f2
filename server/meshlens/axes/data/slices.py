"""Norms and tests of a device's part of a gradient, such as the part that `psum_scatter` gives a sharded optimizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import NONE, of_kinds
from meshlens.axes.domain.values import Arg, Const, Site, Value
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run
from meshlens.jaxapi.libraries import NORMS

_ROOTS = frozenset({"jax.numpy.sqrt", "jax.lax.sqrt", "jax.lax.rsqrt"})
_POWER, _HALF = "jax.numpy.power", Const(0.5)
_NORMS = NORMS | {"jax.numpy.linalg.norm"}
_VERDICT = "slice-verdict"
_VERDICTS = frozenset({"jax.numpy.all", "jax.numpy.any"})


def note_norm(run: Run, name: str, args: Sequence[Arg], site: Site, ctx: Context) -> frozenset[Any]:
    """Notes the norm of a device's part of a gradient; returns the label of such a norm.

    Args:
        run: the run.
        name: the function that is called.
        args: its arguments.
        site: the call.
        ctx: the context.
    """
    if name == _POWER:
        return note_root(run, args[0].value, args[1].value, site, ctx) if len(args) == 2 else NONE
    along_an_axis = len(args) > 2 or any(arg.label == "axis" for arg in args)
    if not args or name not in _ROOTS | _NORMS or (name in _NORMS and along_an_axis):
        return NONE
    is_norm = name in _NORMS or shape_of(args[0].value) == ()
    return NONE | {("slice-norm", site)} if is_norm and note_slices(run, args[0].value, site, ctx) else NONE


def note_root(run: Run, base: Value, exponent: Value, site: Site, ctx: Context) -> frozenset[Any]:
    """Notes a norm computed as a number to the power of 0.5; returns the label of such a norm."""
    is_norm = exponent == _HALF and shape_of(base) == () and note_slices(run, base, site, ctx)
    return NONE | {("slice-norm", site)} if is_norm else NONE


def of_verdict_on(name: str, args: Sequence[Arg], site: Site) -> frozenset[Any]:
    """Returns the labels of `all` or `any` of a device's part of a gradient, as in a test that all of it is finite."""
    labels = labels_of(args[0].value) if name in _VERDICTS and len(args) == 1 else NONE
    slices = of_kinds(labels, "slice") if not of_kinds(labels, _VERDICT) else ()
    return frozenset([(_VERDICT, axis, place, site) for _, axis, place in slices])


def note_chosen(run: Run, test: Value, ctx: Context) -> None:
    """Notes that a test of a device's part of a gradient selects a value or a branch on that device alone."""
    for _, axis, scattered, site in of_kinds(labels_of(test), _VERDICT):
        run.records.gradient_uses.append(GradientUse("verdict-on-slice", site, scattered, ctx, axis))


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
