"""Runtime support for compiled modules; it is installed beside them as `meshlens/_written_out.py`."""

from __future__ import annotations

import dataclasses
from typing import Any


def known_to_dataclasses(cls: Any, names: tuple[str, ...]) -> None:
    """Registers the fields of a class that was written out, for `dataclasses.replace`, `fields` and `match`."""
    twin = dataclasses.make_dataclass(cls.__name__, names)
    for name in ("__dataclass_fields__", "__dataclass_params__", "__match_args__", "__repr__"):
        setattr(cls, name, getattr(twin, name))
