"""Iterates over objects of the workspace: runs their `__iter__` and `__next__`."""

from __future__ import annotations

from meshlens.axes.domain.classes import class_attribute
from meshlens.axes.domain.values import Arg, Bound, Function, Instance, Seq, Site, Value
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import as_tuple


def iterated(run: Run, value: Value, site: Site, frame: Frame, ctx: Context) -> Value:
    """Returns what a loop iterates over: what an object's `__iter__` yields, or the items of a named tuple."""
    if not isinstance(value, Instance) or class_attribute(value.cls, "__iter__") is None:
        return as_tuple(run, value)
    result = _called(run, value, "__iter__", Invocation(value, (), site, site, frame, ctx))
    if isinstance(result, Instance) and class_attribute(result.cls, "__next__") is not None:
        item = _called(run, result, "__next__", Invocation(result, (), site, site, frame, ctx))
        return Seq("list", (item,), True) if item is not None else value
    return result if result is not None else value


def item_of_object(run: Run, value: Instance, index: Value, call: Invocation) -> Value | None:
    """Returns what the `__getitem__` of an object returns; None if its class has none."""
    method = class_attribute(value.cls, "__getitem__")
    if not isinstance(method, Function):
        return None
    return run.invoke(call.of(Bound(value, method), (Arg(None, index, call.site, call.site),)))


def length_of_object(run: Run, value: Instance, call: Invocation) -> Value | None:
    """Returns what the `__len__` of an object returns; None if its class has none."""
    return _called(run, value, "__len__", call)


def _called(run: Run, value: Instance, name: str, call: Invocation) -> Value | None:
    method = class_attribute(value.cls, name)
    return run.invoke(call.of(Bound(value, method), ())) if isinstance(method, Function) else None
