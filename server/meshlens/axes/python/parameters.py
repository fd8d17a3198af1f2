"""Parameter binding for calls."""

from __future__ import annotations

from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Dict, Function, Partial, Seq, Value
from meshlens.axes.python.unpacking import element

MOST_ARGUMENTS = 300


def limited(args: list[Arg]) -> tuple[Arg, ...]:
    """Returns the arguments of a call; if there are implausibly many, the rest become a splat.

    Rules compare arguments pairwise, which would take too long with more of them.
    """
    if len(args) <= MOST_ARGUMENTS:
        return tuple(args)
    return (*args[:MOST_ARGUMENTS], Arg("*", UNKNOWN, None, None), Arg("**", UNKNOWN, None, None))


def bind(function: Function, args: tuple[Arg, ...]) -> dict[str, Value]:
    """Returns the values of the parameters at the start of a call.

    A parameter without an argument has its default; after a splat of unknown length, it may be any element of the splat
    if it needs an argument, and is unknown otherwise.
    """
    positional: list[Arg] = []
    keywords: dict[str, Arg] = {}
    star = double = False
    rest: Value = UNKNOWN
    for arg in args:
        label = arg.label
        if label is None:
            # After an unknown splat, the position of an argument is unknown too.
            if not star:
                positional.append(arg)
        elif label == "*":
            rest = UNKNOWN if star else element(arg.value)
            star = True
        elif label == "**":
            double = True
        else:
            keywords[label] = arg
    values: dict[str, Value] = {}
    taken = 0
    for parameter in function.parameters:
        name: str = parameter.name
        how: str = parameter.how
        if how == "*":
            if name:
                values[name] = Seq("tuple", tuple([through(arg) for arg in positional[taken:]]), star)
                taken = len(positional)
            continue
        if how == "**":
            values[name] = Dict(tuple([(label, through(arg)) for label, arg in keywords.items()]), double)
            continue
        given: Arg | None = None
        if how != "key" and taken < len(positional):
            given = positional[taken]
            taken += 1
        elif how != "only" and keywords:
            given = keywords.pop(name, None)
        if given is not None:
            values[name] = through(given)
        elif (star and how != "key") or double:
            values[name] = rest if parameter.default is None and not double else UNKNOWN
        elif parameter.default is not None:
            values[name] = _default_of(function, name)
        else:
            values[name] = UNKNOWN
    return values


def through(arg: Arg) -> Value:
    """Returns an argument as the callee sees it: a constant remembers the argument that passed it."""
    value = arg.value
    if type(value) is Const and value.via is None and arg.site is not None:
        return Const(value.value, value.origin, arg.site, value.part, value.traced, value.counts)
    return value


def _default_of(function: Function, name: str) -> Value:
    value = next((value for known, value in function.defaults if known == name), UNKNOWN)
    if isinstance(value, Const) and value.via is None and value.origin is not None:
        return Const(value.value, value.origin, value.origin, value.part, counts=value.counts)
    return value


def with_partial(partial: Partial, args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    """Returns the arguments of a call to a partial: the partial's come first, the call's keywords win."""
    given = {arg.label for arg in args if arg.label}
    kept = tuple(arg for arg in partial.args if not (arg.label and arg.label in given))
    return tuple(arg for arg in kept if arg.label is None) + args + tuple(arg for arg in kept if arg.label is not None)
