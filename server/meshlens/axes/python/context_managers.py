"""Context managers written as generators: the meshes that they make current, and the value that `as` binds."""

from __future__ import annotations

from meshlens.axes.domain.joining import join_all
from meshlens.axes.domain.values import UNKNOWN, Function, Made, Value
from meshlens.axes.runs.frames import Current, Frame
from meshlens.axes.runs.run import Run

MANAGED = "contextlib.contextmanager"
"""The decorator of such a generator, the flag of the decorated function, and the name of what the function returns."""

_YIELDED, _SET, _ENTERED, _UNCLEAR = "yielded", "set", "entered", "unclear"


def manager(function: Function, frame: Frame, before: Current) -> Value:
    """Returns the context manager that a generator makes.

    Args:
        function: the generator.
        frame: its frame, after it has run.
        before: what was current before it ran.
    """
    if not frame.yielded:
        return UNKNOWN
    inside = frame.current[0]
    parts = [(_YIELDED, join_all(frame.yielded))]
    if any(other != inside for other in frame.current):
        parts.append((_SET, UNKNOWN))
    elif inside.unclear_contexts > before.unclear_contexts:
        parts.append((_UNCLEAR, UNKNOWN))
    else:
        parts.extend([(_SET, mesh) for mesh in inside.ambient[len(before.ambient) :]])
        parts.extend([(_ENTERED, mesh) for mesh in inside.entered_meshes[len(before.entered_meshes) :]])
    return Made(MANAGED, function.site, tuple(parts))


def enter(run: Run, made: Made) -> Value:
    """Makes the meshes of a context manager current, and returns the value that `as` binds."""
    yielded: Value = UNKNOWN
    for part, held in made.arguments:
        if part == _YIELDED:
            yielded = held
        elif part == _SET:
            run.ambient.append(held)
        elif part == _ENTERED:
            run.entered_meshes.append(held)
        else:
            run.unclear_contexts += 1
    return yielded
