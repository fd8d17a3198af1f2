"""Classes and objects: attribute lookup along the bases, construction, what `self` holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from meshlens.axes.domain.labels import travelling
from meshlens.axes.domain.values import (
    UNKNOWN,
    Arg,
    Bound,
    Class,
    Const,
    Data,
    Ext,
    Function,
    Instance,
    Made,
    Site,
    Super,
    Value,
)
from meshlens.axes.python import enums
from meshlens.axes.python.enums import class_of, is_enum
from meshlens.axes.python.outside import from_outside
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.run import Run
from meshlens.jaxapi.libraries import APPLY


def attributes_of(run: Run, instance: Instance) -> dict[str, Value]:
    """What an object's own attributes hold in this run."""
    known = run.heap.get(instance.number)
    if known is not None:
        return known
    held = run.heap_entry(instance.number, instance.home or instance.cls.path)
    return run.heap.setdefault(instance.number, held)


def set_attribute(run: Run, instance: Instance, name: str, value: Value) -> None:
    """Sets an attribute of an object."""
    run.written.append((instance.number, False))
    if run.in_maps:
        run.of_maps.add(instance.number)
    attributes_of(run, instance)[name] = value


def lineage(cls: Class) -> list[Class]:
    """A class and its bases in the workspace, in the order in which Python looks attributes up (nearly)."""
    chain, bases = [cls], [base for base in cls.bases if isinstance(base, Class)]
    while len(bases) == 1 and bases[0] not in chain:
        chain.append(bases[0])
        bases = [base for base in bases[0].bases if isinstance(base, Class)]
    if not bases:
        return chain
    found: dict[Class, None] = {}
    waiting: list[Value] = [cls]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Class) and current not in found and len(found) < 30:
            found[current] = None
            waiting.extend(reversed(current.bases))
    return list(found)


def has_unknown_base(cls: Class) -> bool:
    """Whether some base lies outside the workspace (`object` and friends apart)."""
    return any(
        not isinstance(base, Class) and getattr(base, "dotted", "?") not in ("object", "abc.ABC", "typing.Protocol")
        for member in lineage(cls)
        for base in member.bases
    )


def class_attribute(cls: Class, name: str) -> Value | None:
    """An attribute found on a class or its bases."""
    own = cls.frame.vars.get(name)
    if own is not None or not any(type(base) is Class for base in cls.bases):
        return own
    for member in lineage(cls):
        value = member.frame.vars.get(name)
        if value is not None:
            return value
    return None


def static_attribute(run: Run, cls: Class, name: str, site: Site) -> Value:
    """What `Class.name` gives."""
    if name == "__name__":
        return Const(cls.name)
    value = class_attribute(cls, name)
    if value is None:
        from meshlens.axes.jax.train_states import creator

        return creator(cls, name) or UNKNOWN
    one = enums.member(cls, name)
    if one is not None:
        return one
    if isinstance(value, Function) and value.kind == "class":
        return Bound(cls, value)
    return value


def instance_attribute(run: Run, instance: Instance, name: str, site: Site, ctx: Context) -> Value:
    """What `object.name` gives: its own attribute, a bound method, a property's result, a class attribute."""
    from meshlens.axes.python.calls import call

    held = attributes_of(run, instance)
    if name in held:
        own = held[name]
        if ctx.env.maps and isinstance(own, Data) and instance.number not in run.of_maps:
            return from_outside(own, 0, ctx)
        return own
    if name == "__class__":
        return instance.cls
    value = class_attribute(instance.cls, name)
    if value is None and name == "_replace" and instance.cls.dataclass:
        return Bound(instance, Ext("typing.NamedTuple._replace"))
    if value is None:
        from meshlens.axes.jax.modules import library_method

        return library_method(instance, name) or UNKNOWN
    if isinstance(value, Function):
        if value.kind == "property":
            return call(run, Bound(instance, value), (), site, site, value.frame, ctx)
        if value.kind == "class":
            return Bound(instance.cls, value)
        return value if value.kind == "static" else Bound(instance, value)
    return as_method(instance, value)


def member_attribute(run: Run, value: Made, name: str, site: Site, ctx: Context) -> Value | None:
    """What an attribute of an enum's member gives that its class defines; None if there is none."""
    from meshlens.axes.python.calls import call

    cls = class_of(value)
    found = class_attribute(cls, name) if cls is not None else None
    if cls is None or found is None:
        return None
    if not isinstance(found, Function):
        return enums.member(cls, name) or found
    if found.kind == "property":
        return call(run, Bound(value, found), (), site, site, found.frame, ctx)
    if found.kind == "class":
        return Bound(cls, found)
    return found if found.kind == "static" else Bound(value, found)


def as_method(receiver: Value, value: Value) -> Value:
    """A class attribute read through an object: whatever wraps a function takes the object first."""
    from meshlens.axes.domain.values import Mapped, Partial, Union, Wrapped

    if isinstance(value, (Mapped, Wrapped)):
        return Bound(receiver, value)
    if isinstance(value, Partial) and isinstance(value.callee, (Function, Mapped, Wrapped)):
        return value
    if isinstance(value, Union):
        return replace(value, options=tuple(as_method(receiver, option) for option in value.options))
    return value


def super_attribute(run: Run, value: Super, name: str, site: Site, ctx: Context) -> Value:
    """What `super().name` gives."""
    from meshlens.axes.python.calls import call

    receiver_class = value.receiver.cls if isinstance(value.receiver, Instance) else value.cls
    line = lineage(receiver_class)
    behind = line[line.index(value.cls) + 1 :] if value.cls in line else lineage(value.cls)[1:]
    for member in behind:
        found = member.frame.vars.get(name)
        if found is not None:
            if isinstance(found, Function) and found.kind == "static":
                return found
            if isinstance(found, Function) and found.kind == "property":
                return call(run, Bound(value.receiver, found), (), site, site, found.frame, ctx)
            return Bound(value.receiver, found)
    return UNKNOWN


def construct(run: Run, cls: Class, args: tuple[Arg, ...], site: Site, frame: Any, ctx: Context) -> Value:
    """Calls a class: makes the object and runs `__init__`, or fills in a dataclass's fields."""
    if is_enum(cls):
        return enums.by_value(cls, args[0].value) if args else UNKNOWN
    number = run.number_of((cls, site, tuple((arg.label, arg.value) for arg in args)))
    instance = Instance(cls, number, site, run.path)
    if number in run.heap and site in run.stack:
        return instance
    run.written.append((number, True))
    if run.in_maps:
        run.of_maps.add(number)
    held = run.heap.setdefault(number, {})
    held.clear()
    _initialise(run, instance, args, held, frame, ctx)
    # A constructor that ran before with the same arguments is not run again.
    for name, value in run.initial.setdefault(number, dict(held)).items():
        held.setdefault(name, value)
    return instance


def _initialise(
    run: Run, instance: Instance, args: tuple[Arg, ...], held: dict[str, Value], frame: Any, ctx: Context
) -> None:
    from meshlens.axes.python.calls import call

    cls = instance.cls
    site = instance.made
    assert site is not None
    # The object of a root has all its attributes, however often others of its class were made before.
    how = "start" if site == cls.site else "call"
    initialiser = class_attribute(cls, "__init__")
    if initialiser is not None:
        call(run, Bound(instance, initialiser), args, site, site, frame, ctx, how=how)
    elif cls.dataclass:
        _fill_fields(cls, args, held)
        _make_defaults(run, instance, held, frame, ctx)
        after = class_attribute(cls, "__post_init__")
        if after is not None:
            call(run, Bound(instance, after), (), site, site, frame, ctx)
    elif has_unknown_base(cls):
        for arg in args:
            if arg.label and arg.label not in ("*", "**"):
                held[arg.label] = arg.value
    setup = class_attribute(cls, "setup")
    if isinstance(setup, Function) and has_unknown_base(cls):
        call(run, Bound(instance, setup), (), site, site, frame, ctx)


def altered(run: Run, instance: Instance, args: tuple[Arg, ...], site: Site) -> Instance:
    """A copy of an object in which some attributes have other values."""
    number = run.number_of((instance, site, tuple((arg.label, arg.value) for arg in args)))
    run.written.append((number, True))
    run.of_maps.add(number)
    given = {arg.label: _through(arg) for arg in args if arg.label is not None}
    run.heap[number] = {**attributes_of(run, instance), **given}
    return Instance(instance.cls, number, site, run.path)


def _fill_fields(cls: Class, args: tuple[Arg, ...], held: dict[str, Value]) -> None:
    fields = [field for member in reversed(lineage(cls)) for field in member.fields]
    names = list(dict.fromkeys(fields))
    splat = any(arg.label in ("*", "**") for arg in args)
    for name, arg in zip(names, [arg for arg in args if arg.label is None], strict=False):
        held[name] = _through(arg)
    for arg in args:
        if arg.label and arg.label not in ("*", "**"):
            held[arg.label] = _through(arg)
    for name in names:
        if name in held:
            continue
        default = class_attribute(cls, name)
        if splat or default is None:
            held[name] = UNKNOWN
        elif isinstance(default, Made) and default.dotted.endswith("field"):
            held[name] = dict(default.arguments).get("default", default)


def _make_defaults(run: Run, instance: Instance, held: dict[str, Value], frame: Any, ctx: Context) -> None:
    """Calls the factories of the fields that nothing was given for."""
    from meshlens.axes.python.calls import call

    site = instance.made
    assert site is not None
    for name, value in held.items():
        if isinstance(value, Made) and value.dotted.endswith("field"):
            factory = dict(value.arguments).get("default_factory")
            made = call(run, factory, (), site, site, frame, ctx) if factory is not None else UNKNOWN
            # Two fields of one class hold two objects, though one call makes both.
            held[name] = altered(run, made, (), value.site) if isinstance(made, Instance) else made


def _through(arg: Arg) -> Value:
    value = arg.value
    if isinstance(value, Const) and value.via is None:
        return Const(value.value, value.origin, arg.site)
    return value


def data_attribute(value: Data, name: str) -> Value:
    """An attribute of a value that is not followed: it travels with the value."""
    made_by = APPLY if name == "apply_fn" else None
    return Data(travelling(value.labels) | (value.labels & {"fresh"}), None, made_by, over=value.over)
