"""lsprotocol's classes without what a server never asks of them, as making them is half of what it imports."""

from __future__ import annotations

from functools import partial
from sys import modules
from types import FunctionType
from typing import Any


def import_light_types() -> None:
    """Imports `lsprotocol.types` in a process that is a server and nothing else.

    attrs 26 writes and compiles the methods of each of its 554 classes (lsprotocol 2025.0.0) while it is imported.
    Handlers take plain dictionaries and pygls structures what it knows, so nobody compares these objects, prints them
    or checks what is set on them; without that the import takes half of the time.  Nor does anybody ask for the types
    of their parameters, for which each `__init__` has a copy of all names of the module: 5 MiB in all.
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
    """Takes out of the variables of a class's `__init__` what it does not name, if they are its own."""
    made = vars(cls).get("__init__")
    if not isinstance(made, FunctionType) or made.__globals__ is vars(modules[made.__module__]):
        return
    variables = made.__globals__
    used = {name: variables[name] for name in (*made.__code__.co_names, "__builtins__") if name in variables}
    variables.clear()
    variables.update(used)
