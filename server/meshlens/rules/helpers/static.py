"""The static arguments of a map."""

from __future__ import annotations

from meshlens.axes.domain.values import Binder, Const, Seq, Value

STATIC = "static_broadcasted_argnums"


def static_places(binder: Binder) -> tuple[int, ...]:
    """The positions in `static_broadcasted_argnums`; () where there are none or they are not known."""
    given = binder.argument(STATIC)
    return integers(given.value) or () if given is not None else ()


def integers(value: Value) -> tuple[int, ...] | None:
    """An int or a tuple of ints as numbers; None where one is not known."""
    items = value.items if isinstance(value, Seq) else (value,)
    if isinstance(value, Seq) and value.open:
        return None
    numbers = tuple(item.value for item in items if isinstance(item, Const) and type(item.value) is int)
    return numbers if len(numbers) == len(items) else None
