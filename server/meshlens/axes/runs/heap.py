"""Objects: the values of their attributes during a run."""

from __future__ import annotations

from meshlens.axes.domain.joining import options
from meshlens.axes.domain.values import STATIC, Arg, Const, Instance, Site, Value
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.scopes import Place, put

_NUMBERS = (int, float)

MERGED_ARRAYS = "<arrays>"
"""The attribute for the arrays of a module that was merged inside a map."""
MADE_LATER = "<made later>"
"""Marks a module whose constructor has run late to find a layer, or must not run because its layers were switched."""

GIVEN = "<given>"
"""The attribute for the constructor's arguments of an nnx module, as a partial of its class."""


def attributes_of(run: Run, instance: Instance) -> dict[str, Value]:
    """Returns an object's own attributes in this run."""
    known = run.heap.get(instance.number)
    if known is not None:
        return known
    held = run.heap_entry(instance.number, instance.home or instance.cls.path)
    return run.heap.setdefault(instance.number, held)


def set_attribute(run: Run, instance: Instance, name: str, value: Value) -> None:
    """Sets an attribute of an object; a counter of iterations whose number is unknown gets an unknown number."""
    run.written.append((instance.number, False))
    if run.in_maps:
        run.of_maps.add(instance.number)
    held = attributes_of(run, instance)
    known = held.get(name)
    held[name] = STATIC if run.open_loops and is_counted(known, value) else value
    if run.scoping or run.scoped:
        put(run, Place(instance, name), held[name], known or held[name], False)


def is_counted(before: Value | None, after: Value) -> bool:
    """Returns whether a number has become another one, as a counter does in each iteration of a loop."""
    if type(before) is not Const or type(before.value) not in _NUMBERS:
        return False
    return any(type(one) is Const and type(one.value) in _NUMBERS and one != before for one in options(after))


def altered(run: Run, instance: Instance, args: tuple[Arg, ...], site: Site) -> Instance:
    """Returns a copy of an object with some attributes replaced."""
    number = run.number_of((instance, site, tuple((arg.label, arg.value) for arg in args)))
    run.written.append((number, True))
    run.of_maps.add(number)
    given = {arg.label: through(arg) for arg in args if arg.label is not None}
    run.heap[number] = {**attributes_of(run, instance), **given}
    return Instance(instance.cls, number, site, run.path)


def through(arg: Arg) -> Value:
    """Returns the value of an argument; a constant records the argument that passed it."""
    value = arg.value
    if isinstance(value, Const) and value.via is None:
        return Const(value.value, value.origin, arg.site, value.part, value.traced, value.counts)
    return value
