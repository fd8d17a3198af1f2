"""lsprotocol's classes without what a server never asks of them, as making them is half of what it imports."""

from __future__ import annotations

from functools import partial
from typing import Any


def import_light_types() -> None:
    """Imports `lsprotocol.types` in a process that is a server and nothing else.

    attrs 26 writes and compiles the methods of each of its 554 classes (lsprotocol 2025.0.0) while it is imported.
    Handlers take plain dictionaries and pygls structures what it knows, so nobody compares these objects, prints them
    or checks what is set on them; without that the import takes half of the time.
    """
    import attrs

    complete: Any = attrs.define
    modules: Any = attrs
    modules.define = partial(complete, eq=False, repr=False, slots=False, on_setattr=attrs.setters.NO_OP)
    try:
        import lsprotocol.types  # noqa: F401  # its being imported is what counts
    finally:
        modules.define = complete
