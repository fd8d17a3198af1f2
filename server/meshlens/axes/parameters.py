"""Binds the arguments of a call to the parameters of a function."""

from __future__ import annotations

from meshlens.axes.values import UNKNOWN, Arg, Const, Dict, Function, Seq, Value


def bind(function: Function, args: tuple[Arg, ...]) -> dict[str, Value]:
    """The values of the parameters at the start of a call.

    A parameter that nothing gives has its default; behind a splat that is not known it is unknown.
    """
    positional = [arg for arg in args if arg.label is None]
    keywords = {arg.label: arg for arg in args if arg.label not in (None, "*", "**")}
    star = any(arg.label == "*" for arg in args)
    double = any(arg.label == "**" for arg in args)
    defaults = dict(function.defaults)
    values: dict[str, Value] = {}
    rest = iter(positional)
    for name, _, how, default, _ in function.parameters:
        if how == "*":
            if name:
                values[name] = Seq("tuple", tuple(through(arg) for arg in rest), star)
            continue
        if how == "**":
            values[name] = Dict(
                tuple((label, through(arg)) for label, arg in keywords.items() if label is not None), double
            )
            continue
        given = next(rest, None) if how != "key" else None
        if given is None and how != "only":
            given = keywords.pop(name, None)
        if given is not None:
            values[name] = through(given)
        elif (star and how != "key") or double:
            values[name] = UNKNOWN
        elif default is not None:
            values[name] = _default(defaults.get(name, UNKNOWN))
        else:
            values[name] = UNKNOWN
    return values


def through(arg: Arg) -> Value:
    """A value as it is inside the callee: a constant remembers the argument through which it came."""
    value = arg.value
    if isinstance(value, Const) and value.via is None and arg.site is not None:
        return Const(value.value, value.origin, arg.site)
    return value


def _default(value: Value) -> Value:
    if isinstance(value, Const) and value.via is None and value.origin is not None:
        return Const(value.value, value.origin, value.origin)
    return value
