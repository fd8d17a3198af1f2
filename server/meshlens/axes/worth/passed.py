"""Records what calls pass to a function, if the analysis is asked about it."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.domain.values import (
    UNKNOWN,
    Arg,
    Bound,
    Const,
    Data,
    Dict,
    Ext,
    Function,
    Instance,
    Made,
    Seq,
    Site,
    Union,
    Value,
)
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.records import ApiCall
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import fields_of

PASSED = "meshlens.passed"
"""The name of the record of a call from the host to the function that the analysis is asked about.

The record's arguments are labeled with the parameters. Each argument is replaced by a pair for every array that it
holds: the key or field of the array, and an array of the same shape. An array of unknown shape stands for any values.
Before these, an instance of a class has a pair of its key or field and its class.
"""
CALLED = "meshlens.called"
"""The name of the record of a call that leads from the host through the function that the analysis is asked about.

Its only argument is the called library function, the class of the called object, or unknown. A call to the `apply` of a
flax model is recorded like a call to the model.
"""
RUN_MODELS = frozenset({"apply", "apply_fn", "compact", "Module"})
"""The names by which code that runs a flax model is told from other code."""
_APPLY = "flax.linen.Module.apply"
_MOST_ARRAYS = 64
"""Maximum number of arrays in an argument whose shapes are recorded."""
_TRACED = frozenset({"jit", "grad", "run"})


def note_passed(run: Run, function: Function, call: Invocation) -> None:
    """Records the shapes of the arrays that a call from the host passes to a function."""
    args, ctx = call.args, call.ctx
    if (
        ctx.env.maps
        or not _TRACED.isdisjoint(step.how for step in ctx.route)
        or any(arg.label in ("*", "**") for arg in args)
    ):
        return
    names = [name for name, *_ in function.parameters]
    labels = [arg.label or name for arg, name in zip(args, [*names, *[""] * len(args)], strict=False)]
    given = tuple(
        [
            replace(arg, label=label, value=Seq("tuple", tuple(_shapes_in(run, arg.value))))
            for arg, label in zip(args, labels, strict=True)
        ]
    )
    run.records.calls.append(ApiCall(PASSED, call.site, function.site, given, UNKNOWN, ctx))


def note_callee(run: Run, asked: Site, callee: Value, site: Site, ctx: Context) -> None:
    """Records what a call calls, except if the function that the analysis is asked about runs for no known caller.

    Args:
        run: the run.
        asked: that function.
        callee: what is called.
        site: the call.
        ctx: its context.
    """
    if not ctx.route or run.root == (asked.path, asked.block):
        return
    if ctx.route[0].how == "start" and ctx.route[0].function == asked:
        return
    if isinstance(callee, Bound) and isinstance(callee.function, Ext) and callee.function.dotted == _APPLY:
        callee = callee.receiver
    known = callee.cls if isinstance(callee, Instance) else callee if isinstance(callee, Ext) else UNKNOWN
    run.records.calls.append(ApiCall(CALLED, site, site, (Arg(None, known, None, None),), UNKNOWN, ctx))


def _shapes_in(run: Run, value: Value) -> list[Value]:
    found: dict[Value, None] = {}
    waiting: list[tuple[object, Value]] = [("", value)]
    for _ in range(_MOST_ARRAYS):
        if not waiting:
            return list(found)
        key, one = waiting.pop()
        if isinstance(one, Seq) and (one.items or not one.open):
            waiting += [(key, item) for item in one.items]
        elif isinstance(one, Dict) and (one.items or not one.open):
            waiting += one.items
        elif isinstance(one, Union):
            waiting += [(key, option) for option in one.options]
        elif isinstance(one, Instance):
            found[Seq("tuple", (Const(key if isinstance(key, str) else ""), one.cls))] = None
            waiting += (fields_of(run, one) or {}).items()
        elif not isinstance(one, (Made, Function)):
            found[Seq("tuple", (Const(key if isinstance(key, str) else ""), Data(shape=shape_of(one))))] = None
    return [*found, Seq("tuple", (Const(""), Data()))]
