"""Context managers written as generators: what they make current or set, and the value that `as` binds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from meshlens.axes.domain.joining import join_all
from meshlens.axes.domain.values import UNKNOWN, Dict, Function, Instance, Made, Value
from meshlens.axes.runs.frames import Current, Frame
from meshlens.axes.runs.heap import attributes_of
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.scopes import Place

MANAGED = "contextlib.contextmanager"
"""The decorator of such a generator, the flag of the decorated function, and the name of what the function returns."""

_YIELDED, _SET, _ENTERED, _UNCLEAR, _SCOPED = "yielded", "set", "entered", "unclear", "scoped"


class Held(NamedTuple):
    """An attribute of an object during a `with` statement, and before it."""

    instance: Instance
    name: str
    value: Value
    before: Value


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
    scoped = [one.scoped for one in frame.current]
    changed = [place for one in scoped for place, value in one.items() if before.scoped.get(place) is not value]
    places = dict.fromkeys(changed)
    if places:
        held = [(place, _agreed([one.get(place, UNKNOWN) for one in scoped])) for place in places]
        parts.append((_SCOPED, Dict(tuple(held))))
    if any(other[:-1] != inside[:-1] for other in frame.current):
        parts.append((_SET, UNKNOWN))
    elif inside.unclear_contexts > before.unclear_contexts:
        parts.append((_UNCLEAR, UNKNOWN))
    else:
        parts.extend([(_SET, mesh) for mesh in inside.ambient[len(before.ambient) :]])
        parts.extend([(_ENTERED, mesh) for mesh in inside.entered_meshes[len(before.entered_meshes) :]])
    return Made(MANAGED, function.site, tuple(parts))


def _agreed(values: list[Value]) -> Value:
    return values[0] if all(value == values[0] for value in values) else UNKNOWN


def enter(run: Run, made: Made, held: list[Held]) -> Value:
    """Makes the meshes of a context manager current, sets its values, and returns the value that `as` binds.

    Args:
        run: the run.
        made: the context manager.
        held: gets the attributes to reset after the `with` statement.
    """
    yielded: Value = UNKNOWN
    for part, value in made.arguments:
        if part == _YIELDED:
            yielded = value
        elif part == _SCOPED and isinstance(value, Dict):
            held += begin(run, dict(value.items))
        elif part == _SET:
            run.ambient.append(value)
        elif part == _ENTERED:
            run.entered_meshes.append(value)
        else:
            run.unclear_contexts += 1
    return yielded


def begin(run: Run, scoped: Mapping[Hashable, Value]) -> list[Held]:
    """Sets the values of a context manager, and returns the attributes to reset after the `with` statement."""
    run.scoped = {**run.scoped, **scoped}
    # A watched statement would run again without these values.
    run.moments = None
    held: list[Held] = []
    for place, value in scoped.items():
        if isinstance(place, Place) and isinstance(place.owner, Instance):
            attributes = attributes_of(run, place.owner)
            held.append(Held(place.owner, place.name, value, attributes.get(place.name, UNKNOWN)))
            attributes[place.name] = value
    return held


def end(run: Run, held: list[Held], before: dict[Hashable, Value]) -> None:
    """Resets what was set for a `with` statement, except attributes that its body has set to something else."""
    for one in reversed(held):
        attributes = attributes_of(run, one.instance)
        if attributes.get(one.name) is one.value:
            attributes[one.name] = one.before
    run.scoped = before
