"""Imports lsprotocol's classes without parts that a server never uses, which are half of the import time."""

from __future__ import annotations

from functools import partial
from sys import modules
from types import FunctionType
from typing import Any


def import_light_types() -> None:
    """Imports `lsprotocol.types` in a process that only runs a server.

    attrs 26 generates and compiles the methods of all 554 classes (lsprotocol 2025.0.0) at import. Handlers take plain
    dictionaries and pygls structures the messages it knows, so these objects are never compared, printed or validated
    on assignment; without that code the import takes half the time. Nothing reads the types of their parameters either,
    for which each `__init__` has a copy of all names in the module: 5 MiB in total.
    """
    import attrs

    complete: Any = attrs.define
    package: Any = attrs
    package.define = partial(complete, eq=False, repr=False, slots=False, on_setattr=attrs.setters.NO_OP)
    try:
        from lsprotocol import types
    finally:
        package.define = complete
    for one in vars(types).values():
        if attrs.has(one):
            _keep_what_is_used(one)


def _keep_what_is_used(cls: type) -> None:
    """Removes unused names from the globals of a class's `__init__`, if they are its own."""
    made = vars(cls).get("__init__")
    if not isinstance(made, FunctionType) or made.__globals__ is vars(modules[made.__module__]):
        return
    variables = made.__globals__
    used = {name: variables[name] for name in (*made.__code__.co_names, "__builtins__") if name in variables}
    variables.clear()
    variables.update(used)
