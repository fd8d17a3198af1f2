"""Variables and attributes that context managers of the workspace set for a `with` statement."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from meshlens.axes.domain.joining import join
from meshlens.axes.domain.values import Value
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.run import Run

CONTEXT_VARIABLE, THREAD_LOCAL = "contextvars.ContextVar", "threading.local"
"""The classes of objects whose values are known only in a `with` statement that sets them."""


class Place(NamedTuple):
    """Something that holds a value.

    Attributes:
        owner: the path of a module, an object, or the site of a context variable.
        name: the variable or the attribute; empty for a context variable.
    """

    owner: Hashable
    name: str


def put(run: Run, place: Place, value: Value, before: Value, is_conditional: bool) -> bool:
    """Sets a value for a `with` statement; returns False unless a context manager sets it now, or has set it."""
    if not run.scoping and place not in run.scoped:
        return False
    run.scoped[place] = join(before, value) if is_conditional else value
    return True


def scoped_variable(run: Run, name: str, frame: Frame) -> Value | None:
    """Returns the value of a module's variable that a context manager has set; None if none has."""
    value = run.scoped.get(Place(frame.module.path, name))
    return value if value is not None and frame.holder(name).parent is None else None
