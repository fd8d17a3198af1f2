"""Runs the rules of functions with custom derivatives (`custom_vjp`, `custom_jvp`) when these are differentiated."""

from __future__ import annotations

from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Function, Seq, Value, Wrapped
from meshlens.axes.jax.differentiation import without_sums
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run
from meshlens.jaxapi.names import canonical


def run_rules(run: Run, wrapped: Wrapped, value: Value, call: Invocation) -> Value:
    """Returns the value of a function with custom derivatives, and runs its rules if it is being differentiated."""
    rules = run.heap_entry(("custom", wrapped.site), wrapped.site.path)
    if not rules or not run.differentiating:
        return value
    forward = rules.get("forward")
    residuals: Value = UNKNOWN
    if forward is not None:
        came = run.invoke(call.inside(forward, call.args, call.ctx, "grad"))
        residuals = came.items[1] if isinstance(came, Seq) and len(came.items) == 2 else UNKNOWN
    backward = rules.get("backward", UNKNOWN)
    given = _given(wrapped, call.args, residuals)
    cotangents = run.invoke(call.inside(backward, given, call.ctx, "grad"))
    return without_sums(value, cotangents)


def _given(wrapped: Wrapped, args: tuple[Arg, ...], residuals: Value) -> tuple[Arg, ...]:
    """Returns the arguments of a backward rule: undifferentiated arguments, residuals and cotangents."""
    if canonical(wrapped.dotted) not in ("jax.custom_vjp", "jax.custom_jvp"):
        return (Arg("*", UNKNOWN, None, None),)
    said = next((arg.value for arg in wrapped.arguments if arg.label == "nondiff_argnums"), Seq("tuple", ()))
    kept = [_argument(wrapped.operand, args, place) for place in _places(said)]
    if None in kept or any(arg.label in ("*", "**") for arg in args):
        return (Arg("*", UNKNOWN, None, None),)
    tail = (residuals if canonical(wrapped.dotted) == "jax.custom_vjp" else UNKNOWN, UNKNOWN)
    return (*(arg for arg in kept if arg is not None), *(Arg(None, value, None, None) for value in tail))


def _places(said: Value) -> list[int]:
    items = said.items if isinstance(said, Seq) else (said,)
    return [item.value if isinstance(item, Const) and isinstance(item.value, int) else -1 for item in items]


def _argument(operand: Value, args: tuple[Arg, ...], place: int) -> Arg | None:
    """Returns the argument for one parameter, given by position or name; None if unknown."""
    positional = [arg for arg in args if arg.label is None]
    if 0 <= place < len(positional):
        return Arg(None, positional[place].value, positional[place].whole, positional[place].site)
    if not isinstance(operand, Function) or not 0 <= place < len(operand.parameters):
        return None
    name = operand.parameters[place].name
    named = next((arg for arg in args if arg.label == name), None)
    if named is not None:
        return Arg(None, named.value, named.whole, named.site)
    default = dict(operand.defaults).get(name)
    return Arg(None, default, None, None) if default is not None else None
