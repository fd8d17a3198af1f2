"""Arguments of library callables by parameter name, and the axis names in values."""

from __future__ import annotations

from meshlens.axes.domain.joining import options
from meshlens.axes.domain.values import UNKNOWN, Arg, Bound, Const, Dict, Function, Made, Partial, Seq, Value, Wrapped


def by_parameter(parameters: tuple[str, ...], args: tuple[Arg, ...]) -> dict[str, Arg]:
    """Returns the arguments of a call by parameter name.

    Leaves out positional arguments beyond the known parameters; an unknown splat appears as "*" or "**".
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
    """Returns the axis names in a value, and whether there may be others.

    A string is one name, a tuple, list or set contains several, None contains none.
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
    """Returns the value given for a parameter; unknown after a splat, None if it is not given."""
    arg = found.get(name)
    if arg is not None:
        return arg.value
    return UNKNOWN if "**" in found or "*" in found else None


def underlying(value: Value) -> tuple[str, tuple[tuple[str, str, bool], ...]] | None:
    """Returns the name and free parameters of the function that an operand resolves to."""
    if isinstance(value, Function):
        return value.name, tuple((name, how, default is not None) for name, _, how, default, _ in value.parameters)
    if isinstance(value, Bound):
        inner = underlying(value.function)
        return (inner[0], inner[1][1:]) if inner is not None else None
    if isinstance(value, Partial):
        inner = underlying(value.callee)
        if inner is None or any(arg.label in ("*", "**") for arg in value.args):
            return None
        positional = sum(arg.label is None for arg in value.args)
        given = {arg.label for arg in value.args}
        rest = inner[1][positional:]
        return inner[0], tuple(
            (name, "key" if name in given else how, default or name in given) for name, how, default in rest
        )
    if isinstance(value, Wrapped) and value.how in ("same", "grad", "value_and_grad", "jacobian"):
        return underlying(value.operand)
    return None
