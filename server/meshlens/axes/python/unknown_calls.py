"""Calls to unknown values: the effects that such a callee may have on its arguments."""

from __future__ import annotations

from meshlens.axes.data.gradients import drift, gradient_step, may_reduce, without_gradient
from meshlens.axes.data.layer_shapes import is_initializer
from meshlens.axes.data.operating import of_network
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import travelling
from meshlens.axes.domain.values import (
    UNKNOWN,
    Arg,
    Bound,
    Const,
    Data,
    Dict,
    Ext,
    Function,
    Made,
    Mapped,
    Mesh,
    Partial,
    Seq,
    Site,
    Union,
    Value,
    Wrapped,
)
from meshlens.axes.runs.context import AxisEnv, Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run
from meshlens.jaxapi.known_names import LIBRARIES_WITHOUT_REDUCTIONS
from meshlens.jaxapi.libraries import APPLY


def call_unknown(run: Run, call: Invocation) -> Value:
    """Returns an unknown callee's result: the callee may call functions that are passed to it and bind unseen names."""
    if type(call.callee) is Data and is_initializer(call.callee):
        return run.invoke(call.of(_AN_INITIALIZER, call.args))
    frame, ctx = call.frame, call.ctx
    labels = travelling(labels_of(call.callee))
    for arg in call.args:
        value = arg.value
        if type(value) is Const or value is UNKNOWN:
            continue
        if type(value) is not Data:
            labels |= travelling(labels_of(value))
            maybe_run(run, value, arg.site, frame, ctx)
            if type(value) is Mesh and _may_set_meshes(call.callee):
                run.may_set_mesh()
        elif value.labels:
            labels |= travelling(value.labels)
    if not labels:
        return UNKNOWN
    if may_reduce(call.callee):
        labels = without_gradient(labels)
    elif not isinstance(call.callee, (Ext, Made)):
        labels -= {"untouched"}
    parts = [(labels_of(arg.value), arg.site) for arg in call.args if arg.site is not None]
    labels |= gradient_step(run, labels, tuple(parts), frame, ctx)
    if "of-gradient" in labels and ctx.env.maps:
        labels |= drift([arg.value for arg in call.args])
    if "varying" in labels:
        labels |= {"opaque"}
    if type(call.callee) is Data and call.callee.made_by == APPLY:
        return Data(labels, over=of_network(UNKNOWN, call.args))
    if ctx.env.maps and type(call.callee) is Data and not call.callee.labels.isdisjoint(_OF_ARGUMENTS):
        # The callee is a model passed to the map, such as an Equinox module.
        return Data(labels, over=of_network(UNKNOWN, (Arg(None, call.callee, None, None), *call.args)))
    return Data(labels)


_AN_INITIALIZER = Ext("jax.random.normal")
"""A function that makes an array from a key, a shape and a type, as initializers do."""
_OF_ARGUMENTS = frozenset({"entered", "same"})


def _may_set_meshes(callee: Value) -> bool:
    """Returns whether unseen code may make a mesh current that it is given."""
    if not isinstance(callee, (Ext, Made)):
        return True
    library, dot, _ = callee.dotted.partition(".")
    return bool(dot) and library not in LIBRARIES_WITHOUT_REDUCTIONS


def maybe_run(run: Run, value: Value, site: Site | None, frame: Frame, ctx: Context) -> None:
    """Runs a function passed to unknown code, which may call it with more axis names bound."""
    if isinstance(value, Seq):
        for item in value.items:
            maybe_run(run, item, site, frame, ctx)
        return
    if isinstance(value, Dict):
        for _, item in value.items:
            maybe_run(run, item, site, frame, ctx)
        return
    if site is None or not isinstance(value, (Function, Bound, Partial, Mapped, Wrapped, Union)):
        return
    if isinstance(value, Bound) and not isinstance(value.function, (Function, Mapped, Wrapped)):
        return
    env = AxisEnv(ctx.env.bound, True, ctx.env.maps)
    inner = ctx.perhaps(env)
    splat = (Arg("*", UNKNOWN, None, None), Arg("**", UNKNOWN, None, None))
    run.invoke(Invocation(value, splat, site, site, frame, inner, "run"))
