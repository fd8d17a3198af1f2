"""Imports lsprotocol's classes so that each gets its methods only when first used; most are never used."""

from __future__ import annotations

from sys import modules
from types import FunctionType
from typing import Any

FIELDS = "__attrs_attrs__"
"""The attribute by which attrs, and through it cattrs, recognizes a defined class."""


def import_light_types() -> None:
    """Imports `lsprotocol.types` in a process that only runs a server.

    attrs 26 generates and compiles the methods of all 554 classes (lsprotocol 2025.0.0) at import, which takes two
    thirds of the time until `initialize` is answered. A session uses about thirty of them, so a class is defined, and
    the types of its fields are resolved, only when code creates an instance or reads its fields.
    """
    import attrs

    package: Any = attrs
    complete = package.define
    package.define = _define_later
    try:
        import lsprotocol.types  # noqa: F401
    finally:
        package.define = complete
    from lsprotocol import _hooks

    # Resolving the types of all classes would define them all.
    _hooks._resolved_forward_references = True


class _Undefined:
    """Stands in for the fields of a class that is not defined yet."""

    def __get__(self, instance: object, owner: type) -> Any:
        _define(owner)
        return getattr(owner, FIELDS)


def _define_later(cls: Any = None, **options: Any) -> Any:
    """Replaces `attrs.define`; lsprotocol passes no options that matter here."""
    if cls is None:
        return _define_later

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        _define(cls)
        self.__init__(*args, **kwargs)

    cls.__init__ = __init__
    setattr(cls, FIELDS, _Undefined())
    return cls


def _define(cls: Any) -> None:
    """Defines a class in place, without methods that compare, print or validate: a server never uses them."""
    import attrs
    from lsprotocol import types

    del cls.__init__
    delattr(cls, FIELDS)
    attrs.define(cls, eq=False, repr=False, slots=False, on_setattr=attrs.setters.NO_OP)
    attrs.resolve_types(cls, types.ALL_TYPES_MAP, {})
    _keep_what_is_used(cls)


def _keep_what_is_used(cls: type) -> None:
    """Removes unused names from the globals of a class's `__init__`, unless they are its module's; saves 9 KiB."""
    made = vars(cls).get("__init__")
    if not isinstance(made, FunctionType) or made.__globals__ is vars(modules[made.__module__]):
        return
    variables = made.__globals__
    used = {name: variables[name] for name in (*made.__code__.co_names, "__builtins__") if name in variables}
    variables.clear()
    variables.update(used)
