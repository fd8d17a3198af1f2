"""Workspace classes: their bases and attributes, and the functions in them."""

from __future__ import annotations

from meshlens.axes.domain.values import Bound, Class, Ext, Function, Mapped, Partial, Value, Wrapped

_MOST_ABOVE = 100
"""Maximum number of workspace base classes that are followed, nearest first."""

_PLAIN = frozenset({"object", "abc.ABC", "typing.Protocol"})

_BESIDE = _PLAIN | {"typing.NamedTuple", "typing.Generic"}
"""The only bases outside the workspace that a named tuple may have."""


def above(bases: tuple[Value, ...]) -> tuple[Class, ...]:
    """Returns the workspace classes that a class with these bases inherits from.

    The order is that in which Python looks up attributes, unless two bases disagree about it:
    a shared base comes after all classes that inherit from it.
    """
    found = [member for base in bases if isinstance(base, Class) for member in lineage(base)]
    return tuple(reversed(dict.fromkeys(reversed(found))))[:_MOST_ABOVE]


def lineage(cls: Class) -> tuple[Class, ...]:
    """Returns a class and the workspace classes that it inherits from, in approximate method resolution order."""
    return (cls, *cls.above)


def names_of_fields(cls: Class) -> tuple[str, ...]:
    """Returns the names of a class's fields, those of its bases first."""
    return tuple(dict.fromkeys(field for member in reversed(lineage(cls)) for field in member.fields))


def has_unknown_base(cls: Class) -> bool:
    """Returns whether a class has a base outside the workspace, other than `object` and the like, or one too far up."""
    line = lineage(cls)
    return any(
        base not in line if isinstance(base, Class) else getattr(base, "dotted", "?") not in _PLAIN
        for member in line
        for base in member.bases
    )


def is_named_tuple(cls: Class) -> bool:
    """Returns whether a class is certainly a named tuple that does not override how it is created or iterated over."""
    line = lineage(cls)
    bases = [base for member in line for base in member.bases if base not in line]
    dotted = [getattr(base, "dotted", "?") for base in bases]
    return "typing.NamedTuple" in dotted and all(one in _BESIDE for one in dotted) and not _iterates_anew(cls)


def _iterates_anew(cls: Class) -> bool:
    return any(class_attribute(cls, name) is not None for name in ("__iter__", "__getitem__", "__len__", "__new__"))


FIELD = "dataclasses.Field"
"""The type of what `dataclasses.fields` lists."""
HASH_OF_FIELDS = Ext("dataclasses.dataclass.__hash__")
"""The `__hash__` of a class whose instances are hashable if their fields are."""


def class_attribute(cls: Class, name: str) -> Value | None:
    """Returns an attribute found on a class or its bases."""
    value = cls.frame.vars.get(name)
    if value is not None:
        return value
    for member in cls.above:
        value = member.frame.vars.get(name)
        if value is not None:
            return value
    return None


def inner_of(value: Value) -> Function | Class | None:
    """Returns the function or class that a value wraps."""
    for _ in range(6):
        if isinstance(value, (Function, Class)):
            return value
        if isinstance(value, Wrapped):
            value = value.operand
        elif isinstance(value, Mapped):
            value = value.binder.operand
        elif isinstance(value, Partial):
            value = value.callee
        elif isinstance(value, Bound):
            value = value.function
        else:
            return None
    return None
