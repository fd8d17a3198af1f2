"""Classes and objects: attribute lookup along the bases, construction, attributes of `self`."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.domain.classes import (
    class_attribute,
    has_unknown_base,
    inner_of,
    is_named_tuple,
    lineage,
    names_of_fields,
)
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
    Mapped,
    Partial,
    Seq,
    Site,
    Super,
    Union,
    Value,
    Wrapped,
)
from meshlens.axes.domain.variation import is_same
from meshlens.axes.jax.module_methods import library_method
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.jax.train_states import creator
from meshlens.axes.python import enums
from meshlens.axes.python.class_variables import variable
from meshlens.axes.python.enums import class_of, is_enum
from meshlens.axes.python.outside import axes_of, device_map, from_outside
from meshlens.axes.python.tables import is_table_class, make_table
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.heap import GIVEN, MADE_LATER, MERGED_ARRAYS, altered, attributes_of, set_attribute, through
from meshlens.axes.runs.invocation import Invocation, from_inside
from meshlens.axes.runs.run import MOST_FOLLOWED, Run
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.jaxapi.layers import PARAMETERS
from meshlens.jaxapi.libraries import APPLY

_TYPED = "typing.NamedTuple"
NAMED_TUPLES = frozenset({"collections.namedtuple", _TYPED})
"""Functions that return a class of named tuples."""
_TABLE = "ml_collections.ConfigDict"
"""The library class that behaves like the workspace's own dictionaries with attributes."""


def static_attribute(run: Run, cls: Class, name: str, site: Site) -> Value:
    """Returns the value of `Class.name`."""
    if name == "__name__":
        return Const(cls.name)
    if name == "_fields" and is_named_tuple(cls):
        return Seq("tuple", tuple([Const(field) for field in names_of_fields(cls)]))
    value = variable(run, cls, name)
    if value is None:
        return creator(cls, name) or UNKNOWN
    one = enums.member(cls, name)
    if one is not None:
        return one
    if isinstance(value, Function) and value.kind == "class":
        return Bound(cls, value)
    return value


def instance_attribute(run: Run, instance: Instance, name: str, site: Site, ctx: Context) -> Value:
    """Returns the value of `object.name`: its own attribute, a bound method, a property or a class attribute."""
    held = attributes_of(run, instance)
    if name in held:
        own = _as_merged(held, held[name], ctx)
        is_known = instance.number in run.of_maps or MERGED_ARRAYS in held
        return from_outside(own, 0, ctx) if ctx.env.maps and not is_known else own
    if name == "__class__":
        return instance.cls
    if name == "_fields":
        return static_attribute(run, instance.cls, name, site)
    value = variable(run, instance.cls, name)
    if value is None and name in ("_replace", "replace") and instance.cls.dataclass:
        # Named tuples have `_replace`, structs of flax and chex `replace`.
        return Bound(instance, Ext("typing.NamedTuple._replace"))
    if value is None:
        return library_method(instance, name) or _made_later(run, instance, name, site, ctx)
    if isinstance(value, Function):
        if value.kind == "property":
            return run.invoke(Invocation(Bound(instance, value), (), site, site, value.frame, ctx))
        if value.kind == "class":
            return Bound(instance.cls, value)
        return value if value.kind == "static" else Bound(instance, value)
    return as_method(instance, value)


def _as_merged(held: dict[str, Value], own: Value, ctx: Context) -> Value:
    """Returns an array of a module after a merge, which may have given each device a different array, or a part."""
    merged = held.get(MERGED_ARRAYS) if ctx.env.maps else None
    if not isinstance(merged, Data):
        return own
    if isinstance(own, Made) and own.dotted in PARAMETERS:
        return replace(own, labels=travelling(own.labels), over=merged.over)
    if not isinstance(own, Data):
        return own
    binder = device_map(ctx)
    axes = axes_of(binder) if binder is not None and binder.kind in ("shard_map", "smap") else ()
    if not all(is_same(merged.over.over(axis).truth) for axis in axes):
        return Data(travelling(own.labels), None, None, own.array, merged.over)
    return replace(own, labels=travelling(own.labels), over=merged.over)


def _made_later(run: Run, instance: Instance, name: str, site: Site, ctx: Context) -> Value:
    """Returns a layer that a module's constructor creates; runs the constructor if it was skipped as not worth running.

    The constructor then runs with unknown arguments, which still reveals the kinds of its layers.
    """
    held = attributes_of(run, instance)
    on_devices = not ctx.env.maps or any(binder.kind in MAPS_ON_DEVICES for binder in ctx.env.maps)
    if not on_devices or held.get(MADE_LATER) or run.followed >= MOST_FOLLOWED or not has_unknown_base(instance.cls):
        return UNKNOWN
    run.followed += 1
    known = dict(held)
    set_attribute(run, instance, MADE_LATER, Const(True))
    unknown = (Arg("*", UNKNOWN, None, None), Arg("**", UNKNOWN, None, None))
    for maker, args in (("__init__", unknown), ("setup", ())):
        method = class_attribute(instance.cls, maker)
        if isinstance(method, Function):
            # While parameters are collected, flax certainly runs it.
            bound, inner = Bound(instance, method), ctx if run.scope is not None else ctx.perhaps(ctx.env)
            run.invoke(Invocation(bound, args, site, site, method.frame, inner, "start"))
    held.update(known)
    return _as_merged(held, held.get(name, UNKNOWN), ctx)


def member_attribute(run: Run, value: Made, name: str, site: Site, ctx: Context) -> Value | None:
    """Returns an attribute of an enum member that its class defines; None if there is none."""
    cls = class_of(value)
    found = class_attribute(cls, name) if cls is not None else None
    if cls is None or found is None:
        return None
    if not isinstance(found, Function):
        return enums.member(cls, name) or found
    if found.kind == "property":
        return run.invoke(Invocation(Bound(value, found), (), site, site, found.frame, ctx))
    if found.kind == "class":
        return Bound(cls, found)
    return found if found.kind == "static" else Bound(value, found)


def as_method(receiver: Value, value: Value) -> Value:
    """Returns a class attribute read through an object; a wrapped function gets the object as its first argument."""
    inner = inner_of(value)
    if isinstance(inner, Function) and inner.kind == "static":
        return value
    if isinstance(value, (Mapped, Wrapped)):
        return Bound(receiver, value)
    if isinstance(value, Partial) and isinstance(value.callee, (Function, Mapped, Wrapped)):
        return value
    if isinstance(value, Union):
        return replace(value, options=tuple(as_method(receiver, option) for option in value.options))
    return value


def super_attribute(run: Run, value: Super, name: str, site: Site, ctx: Context) -> Value:
    """Returns the value of `super().name`."""
    receiver = value.receiver
    receiver_class = receiver.cls if isinstance(receiver, Instance) else receiver
    if not isinstance(receiver_class, Class):
        receiver_class = value.cls
    line = lineage(receiver_class)
    behind = line[line.index(value.cls) + 1 :] if value.cls in line else lineage(value.cls)[1:]
    for member in behind:
        found = member.frame.vars.get(name)
        if found is not None:
            inner = inner_of(found)
            if isinstance(inner, Function) and inner.kind == "static":
                return found
            if isinstance(found, Function) and found.kind == "property":
                return run.invoke(Invocation(Bound(value.receiver, found), (), site, site, found.frame, ctx))
            return Bound(value.receiver, found)
    return UNKNOWN


def construct(run: Run, cls: Class, call: Invocation) -> Value:
    """Calls a class: creates the object and runs `__init__`, or sets a dataclass's fields."""
    args, site = call.args, call.site
    if is_enum(cls):
        return enums.by_value(cls, args[0].value) if args else UNKNOWN
    if is_table_class(cls) and (table := make_table(_TABLE, args)) is not None:
        return table
    number = run.number_of((cls, site, tuple((arg.label, arg.value) for arg in args)))
    instance = Instance(cls, number, site, run.path)
    if number in run.heap and site in run.stack:
        return instance
    run.written.append((number, True))
    if run.in_maps:
        run.of_maps.add(number)
    held = run.heap.setdefault(number, {})
    held.clear()
    _initialise(run, instance, held, call)
    # A constructor does not run again with the same arguments, so restore the attributes that it set.
    for name, value in run.initial.setdefault(number, dict(held)).items():
        held.setdefault(name, value)
    return instance


def _initialise(run: Run, instance: Instance, held: dict[str, Value], call: Invocation) -> None:
    cls, args, site = instance.cls, call.args, call.site
    # A root's object has all its attributes, however often its class was instantiated before.
    how = "start" if site == cls.site else "call"
    initialiser = class_attribute(cls, "__init__")
    if initialiser is not None:
        if library_method(instance, "set_attributes") is not None:
            held[GIVEN] = Partial(cls, args, site)
        run.invoke(Invocation(Bound(instance, initialiser), args, site, site, call.frame, call.ctx, how))
    elif cls.dataclass:
        _fill_fields(cls, args, held)
        _make_defaults(run, held, call)
        after = class_attribute(cls, "__post_init__")
        if after is not None:
            run.invoke(from_inside(Bound(instance, after), (), call))
    elif has_unknown_base(cls):
        for arg in args:
            if arg.label and arg.label not in ("*", "**"):
                held[arg.label] = arg.value
    setup = class_attribute(cls, "setup")
    if isinstance(setup, Function) and has_unknown_base(cls):
        run.invoke(from_inside(Bound(instance, setup), (), call))


def _fill_fields(cls: Class, args: tuple[Arg, ...], held: dict[str, Value]) -> None:
    names = names_of_fields(cls)
    splat = any(arg.label in ("*", "**") for arg in args)
    for name, arg in zip(names, [arg for arg in args if arg.label is None], strict=False):
        held[name] = through(arg)
    for arg in args:
        if arg.label and arg.label not in ("*", "**"):
            held[arg.label] = through(arg)
    for name in names:
        if name in held:
            continue
        default = class_attribute(cls, name)
        if splat or default is None:
            held[name] = UNKNOWN
        elif isinstance(default, Made) and default.dotted.endswith("field"):
            held[name] = dict(default.arguments).get("default", default)


def _make_defaults(run: Run, held: dict[str, Value], call: Invocation) -> None:
    """Calls the factories of fields that were not given."""
    for name, value in held.items():
        if isinstance(value, Made) and value.dotted.endswith("field"):
            factory = dict(value.arguments).get("default_factory")
            made = run.invoke(from_inside(factory, (), call)) if factory is not None else UNKNOWN
            # Two fields of one class hold two objects, although a single call creates both.
            held[name] = altered(run, made, (), value.site) if isinstance(made, Instance) else made


def data_attribute(value: Data, name: str) -> Value:
    """Returns an attribute of a value that is not followed; it keeps the value's labels."""
    made_by = APPLY if name == "apply_fn" else None
    return Data(travelling(value.labels) | (value.labels & {"fresh"}), None, made_by, over=value.over)


def named_tuple(run: Run, call: Invocation) -> Class | None:
    """Returns the class of named tuples that a call defines; None if its fields are unknown."""
    found = by_parameter(("typename", "field_names"), call.args)
    name = found["typename"].value if "typename" in found else None
    fields = _names_in(found["field_names"].value) if "field_names" in found else None
    if not isinstance(name, Const) or not isinstance(name.value, str) or fields is None or "rename" in found:
        return None
    inner = Frame(call.frame.path, call.frame.block, call.frame)
    defaults = found["defaults"].value if "defaults" in found else None
    if isinstance(defaults, Seq) and not defaults.open and len(defaults.items) <= len(fields):
        inner.vars.update(zip(fields[len(fields) - len(defaults.items) :], defaults.items, strict=True))
    made = Class(name.value, call.frame.path, call.site, (Ext(_TYPED),), inner, fields, True)
    inner.owner = made
    run.own_classes.add(made)
    return made


def _names_in(value: Value) -> tuple[str, ...] | None:
    """Returns the names in a text, in a list of texts, or in a list of pairs of a text and a type."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return tuple(value.value.replace(",", " ").split())
    if not isinstance(value, Seq) or value.open:
        return None
    first = [item.items[0] if isinstance(item, Seq) and item.items else item for item in value.items]
    names = tuple([one.value for one in first if isinstance(one, Const) and isinstance(one.value, str)])
    return names if len(names) == len(first) else None
