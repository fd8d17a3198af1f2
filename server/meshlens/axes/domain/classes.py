"""Classes of the workspace: their bases, and what is found on them."""

from __future__ import annotations

from meshlens.axes.domain.values import Class, Value


def lineage(cls: Class) -> list[Class]:
    """A class and its bases in the workspace, in the order in which Python looks attributes up (nearly)."""
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
    """Whether some base lies outside the workspace (`object` and friends apart)."""
    return any(
        not isinstance(base, Class) and getattr(base, "dotted", "?") not in ("object", "abc.ABC", "typing.Protocol")
        for member in lineage(cls)
        for base in member.bases
    )


def class_attribute(cls: Class, name: str) -> Value | None:
    """An attribute found on a class or its bases."""
    own = cls.frame.vars.get(name)
    if own is not None or not any(type(base) is Class for base in cls.bases):
        return own
    for member in lineage(cls):
        value = member.frame.vars.get(name)
        if value is not None:
            return value
    return None
