"""Calls of jitted functions with sharded arguments or results."""

from __future__ import annotations

from meshlens.axes.domain.values import UNKNOWN, Arg, Seq, Site, Value, Wrapped
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import ApiCall
from meshlens.axes.runs.run import Run

CALLED = "jax.jit()"
"""The name under which such a call is recorded, with its arguments as a tuple and the shardings."""

RETURNED = "jax.jit() results"
"""The name under which the result of such a call is recorded, with the value and the shardings."""


def note_results(run: Run, wrapped: Wrapped, returned: Value, site: Site, ctx: Context) -> None:
    """Records the result of a call if the function was jitted with `out_shardings`."""
    given = next((arg for arg in wrapped.arguments if arg.label == "out_shardings"), None)
    if given is None:
        return
    recorded = (Arg(None, returned, site, site), Arg(None, given.value, given.whole, given.site))
    guarded = run.api_guard > 0 or ctx.expected
    run.records.calls.append(ApiCall(RETURNED, site, site, recorded, UNKNOWN, ctx, False, guarded))


def note_shardings(run: Run, wrapped: Wrapped, args: tuple[Arg, ...], site: Site, ctx: Context) -> None:
    """Records a call if the function was jitted with `in_shardings`.

    Args:
        run: the run.
        wrapped: the jitted function.
        args: the arguments of the call.
        site: the call.
        ctx: the circumstances.
    """
    given = next((arg for arg in wrapped.arguments if arg.label == "in_shardings"), None)
    labels = {arg.label for arg in wrapped.arguments}
    if given is None or labels & {"static_argnums", "static_argnames", "*", "**"} or any(arg.label for arg in args):
        return
    values = Arg(None, Seq("tuple", tuple(arg.value for arg in args)), site, site)
    recorded = (values, Arg(None, given.value, given.whole, given.site))
    mesh = run.ambient[-1] if run.ambient else None
    guarded = run.api_guard > 0 or ctx.expected
    run.records.calls.append(ApiCall(CALLED, site, site, recorded, UNKNOWN, ctx, False, guarded, mesh))
