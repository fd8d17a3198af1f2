"""Evaluates `isinstance` as true, false or unknown."""

from __future__ import annotations

import collections.abc

from meshlens.axes.domain.classes import class_attribute, has_unknown_base, lineage
from meshlens.axes.domain.joining import options
from meshlens.axes.domain.values import (
    Bound,
    Class,
    Const,
    Data,
    Dict,
    Ext,
    Function,
    Instance,
    Mapped,
    Mesh,
    Partial,
    Seq,
    Value,
    Wrapped,
)

_NUMBERS = frozenset({"int", "float", "bool", "complex"})
_CONTAINERS = frozenset({"tuple", "list", "dict", "set", "frozenset"})
_BUILT_IN = _NUMBERS | _CONTAINERS | {"str", "bytes"}
_OF_TRACERS = frozenset({"jax.Array", "jax.core.Tracer", "jax.numpy.ndarray"})
_OF_ITERABLES = {"Iterable": True, "Mapping": False, "MutableMapping": False, "Callable": False}
_CALLABLE = (Function, Bound, Partial, Mapped, Wrapped)


def is_instance(value: Value, kind: Value) -> bool | None:
    """Returns the result of `isinstance(value, kind)`.

    Args:
        value: the object.
        kind: the class, or a tuple of classes.

    Returns:
        The result; None if unknown. In this analysis, a list may represent any iterable, and a number may represent
            a number of another type.
    """
    verdicts = {_of_one(option, kind) for option in options(value)}
    return verdicts.pop() if len(verdicts) == 1 else None


def is_plain_data(value: Value) -> bool:
    """Returns whether a value is known data: constants, and containers of these."""
    if isinstance(value, (Seq, Dict)):
        parts = [part[1] if isinstance(part, tuple) else part for part in value.items]
        return not value.open and all(map(is_plain_data, parts))
    return isinstance(value, Const)


def is_tracer_instance(kind: Value) -> bool | None:
    """Returns whether a tracer is an instance of a class: it is an array of JAX; None if unknown."""
    kinds = kind.items if isinstance(kind, Seq) else (kind,)
    names = [one.dotted for one in kinds if isinstance(one, Ext)]
    if any(name in _OF_TRACERS for name in names):
        return True
    return False if len(names) == len(kinds) and (_BUILT_IN | {"numpy.ndarray"}).issuperset(names) else None


def _of_one(value: Value, kind: Value) -> bool | None:
    if isinstance(kind, Seq):
        verdicts = [_of_one(value, one) for one in kind.items]
        if True in verdicts:
            return True
        return None if None in verdicts or kind.open or not verdicts else False
    if isinstance(kind, Class):
        return _of_class(value, kind)
    return _of_library(value, kind.dotted) if isinstance(kind, Ext) else None


def _of_class(value: Value, kind: Class) -> bool | None:
    if isinstance(value, (Seq, Dict)):
        # A container may represent an object that can be iterated over, but no other.
        iterates = has_unknown_base(kind) or class_attribute(kind, "__iter__") is not None
        return None if iterates else False
    if not isinstance(value, Instance):
        return None
    if kind in lineage(value.cls):
        return True
    return None if has_unknown_base(value.cls) else False


def _of_library(value: Value, dotted: str) -> bool | None:
    name = dotted.rsplit(".", 1)[-1]
    if dotted.startswith(("collections.abc.", "typing.")):
        return _of_abstract(value, name)
    if isinstance(value, Const):
        return _constant(value.value, dotted, name)
    if dotted not in _BUILT_IN:
        return None
    if isinstance(value, Seq):
        if name in _CONTAINERS - {"dict"} or value.kind == "slice":
            return True if value.kind == name == "tuple" else None
        return False
    if isinstance(value, Dict):
        # A tree of arrays may be a flax `FrozenDict`, which is not a subclass of `dict`.
        return (True if is_plain_data(value) and not value.attributes else None) if name == "dict" else False
    if isinstance(value, Data):
        return False if value.array and name not in _NUMBERS else None
    return False if isinstance(value, (*_CALLABLE, Mesh)) else None


def _constant(value: object, dotted: str, name: str) -> bool | None:
    if dotted == "types.NoneType":
        return value is None
    if dotted not in _BUILT_IN:
        return None
    if value is None:
        return False
    if isinstance(value, str):
        return name == "str"
    return None if name in _NUMBERS else False


def _of_abstract(value: Value, name: str) -> bool | None:
    """Returns the result of `isinstance` for a class of `collections.abc`, tested on a sample value."""
    kind = getattr(collections.abc, name, None)
    if kind is None:
        return None
    if isinstance(value, Const) and isinstance(value.value, str | None):
        return isinstance(value.value, kind)
    if isinstance(value, Seq) and value.kind == "tuple":
        return isinstance((), kind)
    if isinstance(value, Seq) and value.kind != "slice":
        return _OF_ITERABLES.get(name)
    return isinstance({}, kind) if isinstance(value, Dict) else None
