"""The decorator for values and records, which are frozen for the type checker but as fast to create as any object.

A frozen dataclass sets each field with a separate call. The interpreter makes millions of values, so only the type
checker prevents changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_):
        """Marks `immutable` as a dataclass decorator for type checkers."""
        return lambda decorator: decorator


T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def immutable(cls: type[T]) -> type[T]:
    """Makes a slotted dataclass whose instances are compared and hashed by field unless it defines `__hash__`."""
    own = "__hash__" in cls.__dict__
    return dataclass(slots=True, eq=not own, unsafe_hash=not own)(cls)
