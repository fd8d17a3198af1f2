"""Callables that pad and shard their arguments before passing them to a mapped function."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import travelling
from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Data, Seq, Value, Wrapped

_OWN_KEYWORD = "min_device_batch"


def padded(wrapped: Wrapped, args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    """Returns the arguments of the mapped function: static ones unchanged, the others reduced to their labels."""
    given = next((arg.value for arg in wrapped.arguments if arg.label == "static_argnums"), Const(0))
    static = given.items if isinstance(given, Seq) else (given,)
    return tuple(
        arg if arg.label is None and Const(place) in static else replace(arg, value=_sharded(arg.value))
        for place, arg in enumerate(args)
        if arg.label != _OWN_KEYWORD
    )


def unpadded(wrapped: Wrapped, value: Value) -> Value:
    """Returns the caller's result: unchanged if requested, otherwise with one row for each row of the arguments."""
    static = next((arg.value for arg in wrapped.arguments if arg.label == "static_return"), Const(False))
    if static == Const(True):
        return value
    return Data(travelling(labels_of(value))) if static == Const(False) else UNKNOWN


def _sharded(value: Value) -> Value:
    return Data(travelling(labels_of(value)))
