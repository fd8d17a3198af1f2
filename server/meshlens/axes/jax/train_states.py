"""Flax training states, which keep the model's `apply` no matter what happens to the arrays."""

from __future__ import annotations

from meshlens.axes.domain.classes import lineage
from meshlens.axes.domain.values import Arg, Bound, Class, Ext, Function, Made, Mapped, Partial, Site, Value, Wrapped
from meshlens.jaxapi.libraries import FRESH_STATE
from meshlens.jaxapi.names import canonical

_STATE = "flax.training.train_state.TrainState"
_CREATE = f"{_STATE}.create"
METHODS = frozenset({"apply_gradients", "replace", "create", "apply_fn", "tx", "apply", "update"})
"""Attributes of a training state that are not arrays."""
_FUNCTIONS = (Bound, Function, Partial, Wrapped)


def creator(cls: Class, name: str) -> Value | None:
    """Returns `create` of a state class; None for any other name."""
    if name != "create":
        return None
    bases = (base for member in lineage(cls) for base in member.bases)
    known = any(isinstance(base, Ext) and canonical(base.dotted) == _STATE for base in bases)
    return Bound(cls, Ext(_CREATE)) if known else None


def created(dotted: str, args: tuple[Arg, ...], site: Site) -> Made | None:
    """Returns the state that `create` returns."""
    if dotted != _CREATE:
        return None
    given = tuple((arg.label if arg.label is not None else place, arg.value) for place, arg in enumerate(args))
    return Made(_CREATE, site, given, frozenset({"fresh"}))


def is_state(value: Value) -> bool:
    """Returns whether a value is a training state."""
    return isinstance(value, Made) and canonical(value.dotted) == _CREATE


def is_static(value: Value) -> bool:
    """Returns whether a field of a state holds no arrays: a function, a class, or an object such as an optimizer."""
    if isinstance(value, Made):
        return not is_state(value) and value.dotted not in FRESH_STATE
    return isinstance(value, (*_FUNCTIONS, Class, Ext, Mapped))


def optimizer_of(made: Made) -> Made | None:
    """Returns the optimizer that a state holds, if known."""
    tx = dict(made.arguments).get("tx") if is_state(made) else None
    return tx if isinstance(tx, Made) else None


def held_function(made: Made, name: str) -> Value | None:
    """Returns a function that a state holds; None if the field is unknown or not a function."""
    if not is_state(made):
        return None
    value = dict(made.arguments).get(name)
    return value if isinstance(value, _FUNCTIONS) else None
