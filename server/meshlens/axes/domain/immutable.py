"""How values and records are declared: frozen to the type checker, and as quick to make as any other object.

A frozen dataclass sets each of its fields by a call of its own.  The interpreter makes values by the million, so that
nothing but the type checker keeps them from being changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_):
        """Says something to type checkers only."""
        return lambda decorator: decorator


T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def immutable(cls: type[T]) -> type[T]:
    """Makes a slotted dataclass that is compared and hashed by its fields, if it does not say how itself."""
    own = "__hash__" in cls.__dict__
    return dataclass(slots=True, eq=not own, unsafe_hash=not own)(cls)
