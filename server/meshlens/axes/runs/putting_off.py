"""Calls that lie too deep on their route: each is made when what led to it has ended, with the stack empty again.

What such a call gives comes too late for its caller, to whom it is unknown; what happens in it is not.
"""

from __future__ import annotations

from meshlens.axes.domain.values import Const, Data, Ext, Function, Mesh, Seq, Spec, Value
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run
from meshlens.axes.worth.spending import Later

_PLAIN = frozenset({Const, Data, Ext, Mesh, Spec})


def put_off(run: Run, call: Invocation) -> None:
    """Makes a call later, if it would find then what it finds now."""
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
        # What cannot be hashed cannot be told from what was put off already.
        return


def _is_plain(value: Value) -> bool:
    """Returns whether a value says by itself all there is to it, at whatever time."""
    if isinstance(value, Seq):
        return all(map(_is_plain, value.items))
    if isinstance(value, Function):
        return value.frame.parent is None
    return type(value) in _PLAIN
