"""Arguments of library callables by parameter name, and axis names out of values."""

from __future__ import annotations

from meshlens.axes.domain.joining import options
from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Dict, Made, Seq, Value


def by_parameter(parameters: tuple[str, ...], args: tuple[Arg, ...]) -> dict[str, Arg]:
    """The arguments of a call by the names of the callee's parameters.

    Positional arguments beyond the known parameters are left out; a splat that is not known appears as "*" or "**".
    """
    found: dict[str, Arg] = {}
    place = 0
    for arg in args:
        if arg.label is not None:
            found[arg.label] = arg
            continue
        if "*" not in found and place < len(parameters):
            found[parameters[place]] = arg
        place += 1
    return found


def names_in(value: Value) -> tuple[tuple[Const, ...], bool]:
    """The axis names that a value gives, and whether there may be others.

    A string is one name, a tuple, list or set is several, None is none.
    """
    names: list[Const] = []
    is_open = False
    for option in options(value):
        if isinstance(option, Const):
            if isinstance(option.value, str):
                names.append(option)
        elif isinstance(option, Seq):
            is_open |= option.open
            for item in option.items:
                inner, inner_open = names_in(item)
                names.extend(inner)
                is_open |= inner_open
        elif isinstance(option, Dict):
            is_open |= option.open
            names.extend(Const(key) for key, _ in option.items if isinstance(key, str))
        elif isinstance(option, Made) and option.dotted == "enum.Enum":
            is_open = True
        else:
            is_open = True
    return tuple(names), is_open


def value_of(found: dict[str, Arg], name: str) -> Value | None:
    """The value given for a parameter; unknown behind a splat, None if it is not given."""
    arg = found.get(name)
    if arg is not None:
        return arg.value
    return UNKNOWN if "**" in found or "*" in found else None
