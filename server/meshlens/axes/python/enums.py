"""Enums: their members by name, by value, and in order."""

from __future__ import annotations

from meshlens.axes.domain.classes import lineage
from meshlens.axes.domain.values import UNKNOWN, Class, Const, Ext, Function, Made, Mapped, Seq, Value, Wrapped
from meshlens.jaxapi.known_names import ENUMS, STRING_ENUMS

_NO_MEMBERS = (Function, Class, Mapped, Wrapped)


def is_enum(cls: Class) -> str | None:
    """Returns "str" for an enum whose members are strings, "plain" for another enum, None for any other class."""
    for one in lineage(cls):
        kinds = [base.dotted for base in one.bases if isinstance(base, Ext)]
        if not STRING_ENUMS.isdisjoint(kinds) or (any(kind.startswith("enum.") for kind in kinds) and "str" in kinds):
            return "str"
        if not ENUMS.isdisjoint(kinds):
            return "plain"
    return None


def number_members(cls: Class) -> None:
    """Gives enum members declared with `auto()` their values: numbers, or their names in lower case."""
    lower = any(isinstance(base, Ext) and base.dotted in STRING_ENUMS for base in cls.bases)
    plain = is_enum(cls) == "plain"
    number = 0
    for name, value in cls.frame.vars.items():
        if isinstance(value, Const) and isinstance(value.value, int):
            number = value.value
        if isinstance(value, Made) and value.dotted == "enum.auto":
            number += 1
            cls.frame.vars[name] = Const(name.lower()) if lower else Const(number) if plain else UNKNOWN


def member(cls: Class, name: str) -> Value | None:
    """Returns a member by name; None if the class is not an enum or has no such member."""
    kind = is_enum(cls)
    value = cls.frame.vars.get(name)
    if kind is None or value is None or name.startswith("_") or isinstance(value, _NO_MEMBERS):
        return None
    if kind == "str":
        return value
    return Made("enum.Enum", cls.site, (("value", value), ("name", Const(name)), ("class", cls)))


def members(cls: Class) -> Seq | None:
    """Returns an enum's members in order; None for any other class or one with aliases."""
    if is_enum(cls) is None:
        return None
    found = [value for value in [member(cls, name) for name in cls.frame.vars] if value is not None]
    own = [dict(value.arguments)["value"] if isinstance(value, Made) else value for value in found]
    return Seq("list", tuple(found)) if len(dict.fromkeys(own)) == len(own) else None


def by_value(cls: Class, value: Value) -> Value:
    """Returns the member with a value, as the enum's constructor does."""
    if is_enum(cls) == "str" or (isinstance(value, Made) and value.dotted == "enum.Enum"):
        return value
    every = members(cls)
    for one in every.items if every is not None else ():
        if isinstance(one, Made) and dict(one.arguments)["value"] == value:
            return one
    return UNKNOWN


def class_of(value: Made) -> Class | None:
    """Returns the enum that a value is a member of."""
    found = dict(value.arguments).get("class") if value.dotted == "enum.Enum" else None
    return found if isinstance(found, Class) else None


def is_same(left: Value, right: Value) -> bool | None:
    """Returns whether two values are the same member; None if they are not members of one enum."""
    if not isinstance(left, Made) or not isinstance(right, Made):
        return None
    enum = class_of(left)
    return left == right if enum is not None and enum is class_of(right) else None
