"""The methods of flax modules and transformed haiku functions; `modules.py` calls them."""

from __future__ import annotations

from meshlens.axes.domain.classes import lineage
from meshlens.axes.domain.values import Bound, Ext, Instance, Value, Wrapped
from meshlens.jaxapi.known_names import FLAX_METHODS
from meshlens.jaxapi.names import canonical


def library_method(instance: Instance, name: str) -> Value | None:
    """Returns the method that an object inherits from flax; None for any other name."""
    for cls in lineage(instance.cls):
        for base in cls.bases:
            kind = canonical(base.dotted) if isinstance(base, Ext) else ""
            if name in FLAX_METHODS.get(kind, ()):
                return Bound(instance, Ext(f"{kind}.{name}"))
    return None


def transformed(value: Value) -> tuple[Wrapped, bool] | None:
    """Returns the result of `haiku.transform` and whether its `apply` takes a key; None for anything else."""
    takes_key = True
    while isinstance(value, Wrapped):
        dotted = canonical(value.dotted)
        if value.how == "transform":
            return (value, takes_key) if dotted != "haiku.multi_transform" else None
        if dotted != "haiku.without_apply_rng":
            return None
        takes_key = False
        value = value.operand
    return None
