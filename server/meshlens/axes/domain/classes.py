"""Workspace classes: their bases and attributes."""

from __future__ import annotations

from meshlens.axes.domain.values import Class, Value

_MOST_IN_LINE = 30
"""Number of single bases to follow before computing the whole lineage."""


def lineage(cls: Class) -> list[Class]:
    """Returns a class and its workspace bases in approximate method resolution order."""
    chain, bases = [cls], [base for base in cls.bases if isinstance(base, Class)]
    while len(bases) == 1 and bases[0] not in chain:
        chain.append(bases[0])
        bases = [base for base in bases[0].bases if isinstance(base, Class)]
    if not bases:
        return chain
    found: dict[Class, None] = {}
    waiting: list[Value] = [cls]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Class) and current not in found and len(found) < 30:
            found[current] = None
            waiting.extend(reversed(current.bases))
    return list(found)


def has_unknown_base(cls: Class) -> bool:
    """Returns whether some base is outside the workspace, not counting `object` and a few others."""
    return any(
        not isinstance(base, Class) and getattr(base, "dotted", "?") not in ("object", "abc.ABC", "typing.Protocol")
        for member in lineage(cls)
        for base in member.bases
    )


def class_attribute(cls: Class, name: str) -> Value | None:
    """Returns an attribute found on a class or its bases."""
    member = cls
    for _ in range(_MOST_IN_LINE):
        value = member.frame.vars.get(name)
        if value is not None:
            return value
        bases = [base for base in member.bases if type(base) is Class]
        if not bases:
            return None
        if len(bases) > 1:
            break
        member = bases[0]
    for member in lineage(cls):
        value = member.frame.vars.get(name)
        if value is not None:
            return value
    return None
