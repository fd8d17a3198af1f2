"""Calls that are too deep on their route: each is made with an empty stack, after the code that led to it has ended.

The result comes too late for the caller, which treats it as unknown, but the call's own records are kept.
"""

from __future__ import annotations

from meshlens.axes.domain.values import Const, Data, Ext, Function, Mesh, Seq, Spec, Value
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run
from meshlens.axes.worth.spending import Later

_PLAIN = frozenset({Const, Data, Ext, Mesh, Spec})


def put_off(run: Run, call: Invocation) -> None:
    """Postpones a call, if making it later has the same effect."""
    callee, ctx = call.callee, call.ctx
    if not ctx.env.maps or not isinstance(callee, Function) or callee.frame.parent is not None:
        return
    if callee.owner is not None or run.ambient or run.api_guard or run.broad_guard or run.differentiating:
        return
    if not all(_is_plain(arg.value) for arg in call.args):
        return
    if sum(step.function == callee.site for step in ctx.route) > 1:
        return
    run.enters()
    given = tuple([(arg.label, arg.value) for arg in call.args])
    key = callee.site, given, ctx.env, ctx.sure, ctx.conditional, ctx.guarded
    try:
        run.later.setdefault(key, Later(callee, call, len(run.written) + len(run.altered)))
    except TypeError:
        # Unhashable arguments cannot be compared with those of postponed calls.
        return


def _is_plain(value: Value) -> bool:
    """Returns whether a value means the same at any time, independent of the heap."""
    if isinstance(value, Seq):
        return all(map(_is_plain, value.items))
    if isinstance(value, Function):
        return value.frame.parent is None
    return type(value) in _PLAIN
