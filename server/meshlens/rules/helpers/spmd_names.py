"""The mesh axes that `vmap(spmd_axis_name=…)` adds to the sharding constraints inside it."""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.values import Arg, Binder, Const
from meshlens.axes.jax.mapped_values import axis_of
from meshlens.axes.jax.naming import names_in
from meshlens.axes.runs.records import ApiCall
from meshlens.jaxapi.binders import MAPS_ON_DEVICES


def spmd_names(call: ApiCall) -> Iterator[tuple[Const, Arg]]:
    """Yields each axis that a vmap around a sharding constraint adds to the spec, with the vmap's argument.

    A vmap adds its axes if it maps the constrained value.
    """
    if call.dotted != "jax.lax.with_sharding_constraint" or not call.args:
        return
    labels = labels_of(call.args[0].value)
    for binder in reversed(call.context.env.maps):
        if binder.kind in MAPS_ON_DEVICES:
            return
        given = binder.argument("spmd_axis_name")
        if binder.kind == "vmap" and given is not None and _is_mapped(binder, labels):
            for name in names_in(given.value)[0]:
                yield name, given


def _is_mapped(binder: Binder, labels: frozenset[object]) -> bool:
    for label in labels:
        if isinstance(label, tuple) and label[0] == "argument" and label[1][0] == binder.site:
            axis = axis_of(binder, label[1][1], None)
            if isinstance(axis, Const) and type(axis.value) is int:
                return True
    return False
