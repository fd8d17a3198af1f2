"""Assigns values to targets: names, attributes, items, and tuples of targets."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.data import fillers
from meshlens.axes.data.typed_shardings import without_sharding
from meshlens.axes.domain.joining import join, join_all, labels_of, options
from meshlens.axes.domain.keys import key_of
from meshlens.axes.domain.labels import ONES, WRITTEN
from meshlens.axes.domain.values import UNKNOWN, Class, Const, Data, Dict, Ext, Instance, Made, Mesh, Seq, Value
from meshlens.axes.jax.new_variables import may_stop_sharding, sets_sharding
from meshlens.axes.python.class_variables import change_variable, set_variable
from meshlens.axes.python.shared_tables import tell_others
from meshlens.axes.python.tables import changed, is_table, with_entry, with_unknown_entry
from meshlens.axes.python.tables_of_modules import grow, origin_of
from meshlens.axes.python.unpacking import unpack
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame, site_of
from meshlens.axes.runs.heap import attributes_of, set_attribute
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.scopes import THREAD_LOCAL, Place, put
from meshlens.axes.runs.tree_objects import as_tuple
from meshlens.facts.nodes import (
    Attribute,
    Expression,
    ListDisplay,
    Name,
    Starred,
    Subscript,
    TupleDisplay,
)
from meshlens.jaxapi.meshes import MESH_HOLDERS
from meshlens.jaxapi.names import canonical


def assign(run: Run, target: Expression, value: Value, frame: Frame, ctx: Context) -> None:
    """Assigns a value to a target; a list or tuple of targets unpacks it."""
    if isinstance(target, Name):
        home = frame.home(target.name)
        if target.name in frame.given:
            _rebind(target.name, frame, ctx)
        if target.name in frame.globals and _is_put(run, target.name, None, value, frame, ctx):
            return
        if home is frame or home.path == run.path or home.parent is not None:
            if home.parent is None and _decides(value):
                before = home.vars.get(target.name)
                # Functions that read the variable, and have already run, may now return something else.
                run.epoch += before is not None and _decides(before) and before != value
            home.vars[target.name] = value
        return
    if isinstance(target, Attribute):
        _to_attribute(run, target, value, frame, ctx)
        return
    if isinstance(target, Subscript):
        _to_item(run, target, value, frame, ctx)
        return
    if isinstance(target, (TupleDisplay, ListDisplay)):
        for item, part in zip(target.items, unpack(as_tuple(run, value), target.items), strict=False):
            assign(run, item.value if isinstance(item, Starred) else item, part, frame, ctx)


def _decides(value: Value) -> bool:
    """Returns whether a value is a mesh or a text, such as the name of an axis."""
    return type(value) is Mesh or (type(value) is Const and type(value.value) is str)


def _is_put(run: Run, name: str, before: Value | None, after: Value, frame: Frame, ctx: Context) -> bool:
    """Sets a module's variable for a `with` statement; returns False unless a context manager sets it, or has set it.

    Args:
        run: the run.
        name: the variable.
        before: its value before; None if it is not known yet.
        after: the value.
        frame: the running frame.
        ctx: the context.
    """
    if not run.scoping and not run.scoped:
        return False
    home = frame.holder(name)
    if home is frame or home.parent is not None:
        return False
    place = Place(home.path, name)
    known = before if before is not None else run.scoped.get(place) or home.vars[name]
    return put(run, place, after, known, bool(ctx.conditional))


def delete(run: Run, target: Expression, frame: Frame, ctx: Context) -> None:
    """Deletes the names in a target, or an item of a list, which may be the last."""
    if isinstance(target, Name):
        if target.name in frame.given:
            _rebind(target.name, frame, ctx)
        frame.vars.pop(target.name, None)
    elif isinstance(target, (TupleDisplay, ListDisplay)):
        for item in target.items:
            delete(run, item, frame, ctx)
    elif isinstance(target, Subscript) and isinstance(target.object, Name):
        held = frame.vars.get(target.object.name)
        if isinstance(held, Seq) and held.open and len(held.items) > 1:
            change_in_place(run, target.object, held, Seq(held.kind, (join_all(held.items),), True), frame, ctx)


def _rebind(name: str, frame: Frame, ctx: Context) -> None:
    """Notes that a parameter no longer holds, or may no longer hold, the caller's container."""
    if name in frame.altered or ctx.conditional or ctx.loop:
        frame.blurred |= {name}
    else:
        frame.given -= {name}


def _to_attribute(
    run: Run, target: Attribute, value: Value, frame: Frame, ctx: Context, before: Value | None = None
) -> None:
    """Sets an attribute, or replaces the container that it holds after a change in place.

    Args:
        run: the run.
        target: the attribute.
        value: the value, or the container after the change.
        frame: the running frame.
        ctx: the context.
        before: the container before the change; None if the attribute is set.
    """
    whole = run.evaluate(target.object, frame, ctx)
    receivers = options(whole)
    if len(receivers) > 1 and all(map(is_table, receivers)):
        after = changed(whole, lambda table: with_entry(table, target.name, value))
        if after is not None:
            change_in_place(run, target.object, whole, after, frame, ctx)
        return
    for receiver in receivers:
        if isinstance(receiver, Instance):
            held = attributes_of(run, receiver)
            known = held.get(target.name)
            set_attribute(
                run, receiver, target.name, join(known, value) if known is not None and ctx.conditional else value
            )
        elif isinstance(receiver, Class):
            if before is not None:
                change_variable(run, receiver, target.name, before, value, ctx)
            else:
                # What follows a `yield` runs after the `with` statement that a context manager was made for.
                said = UNKNOWN if frame.yielded else value
                set_variable(run, receiver, target.name, said, len(receivers) == 1 and not ctx.conditional)
        elif isinstance(receiver, Dict) and len(receivers) == 1:
            if receiver.attributes:
                change_in_place(run, target.object, receiver, with_entry(receiver, target.name, value), frame, ctx)
        elif isinstance(receiver, Ext) and canonical(receiver.dotted) in MESH_HOLDERS:
            run.may_set_mesh()
        elif isinstance(receiver, Made) and len(receivers) == 1 and isinstance(target.object, (Name, Attribute)):
            said = UNKNOWN if ctx.conditional or ctx.loop else value
            other = replace(receiver, arguments=(*receiver.arguments, (target.name, said)))
            root = target.object
            is_put = isinstance(root, Name) and _is_put(run, root.name, receiver, other, frame, ctx)
            if not is_put and receiver.dotted != THREAD_LOCAL:
                assign(run, root, other, frame, ctx)


def _to_item(run: Run, target: Subscript, value: Value, frame: Frame, ctx: Context) -> None:
    container = run.evaluate(target.object, frame, ctx)
    index = run.evaluate(target.key, frame, ctx)
    after: Value
    if isinstance(container, Dict):
        key = key_of(index)
        after = with_entry(container, key[0], value) if key is not None else with_unknown_entry(container, value)
    elif isinstance(container, Seq):
        if (
            isinstance(index, Const)
            and isinstance(index.value, int)
            and -len(container.items) <= index.value < len(container.items)
        ):
            place = index.value % len(container.items)
            after = Seq(
                container.kind, (*container.items[:place], value, *container.items[place + 1 :]), container.open
            )
        else:
            after = Seq(container.kind, tuple(join(known, value) for known in container.items), True)
    elif isinstance(container, Data):
        if container.labels:
            fillers.note_set(run, container, index, site_of(frame, target), ctx)
        labels = fillers.changed(container.labels) | (labels_of(value) - {ONES}) | {WRITTEN}
        after = without_sharding(Data(labels, container.shape, container.made_by))
    elif any(isinstance(option, (Dict, Seq)) for option in options(container)):
        key = key_of(index)
        every = changed(container, lambda one: with_entry(one, key[0], value)) if key is not None else None
        after = UNKNOWN if every is None else every
    else:
        if sets_sharding(index):
            may_stop_sharding(run)
        return
    change_in_place(run, target.object, container, after, frame, ctx)


def change_in_place(run: Run, target: Expression, before: Value, after: Value, frame: Frame, ctx: Context) -> None:
    """Replaces the container that a target refers to, which may be stored outside the running function.

    Args:
        run: the run.
        target: the expression for the container; ignored unless it is a path from a name.
        before: the container before the change.
        after: the container after it.
        frame: the running frame.
        ctx: the context.
    """
    if before is after:
        return
    if isinstance(before, Dict) and isinstance(after, Dict) and before.attributes:
        root = target
        while isinstance(root, (Attribute, Subscript)):
            root = root.object
        name = root.name if isinstance(root, Name) else ""
        tell_others(run, name, before, after, frame, bool(ctx.conditional))
    if isinstance(target, Attribute):
        _to_attribute(run, target, after, frame, ctx, before)
    elif isinstance(target, Subscript):
        _to_item(run, target, after, frame, ctx)
    if not isinstance(target, Name):
        return
    name = target.name
    home = next((one for one in frame.chain() if name in one.vars), None)
    if home is None or isinstance(before, Data):
        assign(run, target, after, frame, ctx)
        return
    if _is_put(run, name, before, after, frame, ctx):
        return
    if home is not frame and isinstance(after, Dict) and not after.attributes:
        # Other functions may also add entries to the container.
        after = replace(after, open=True)
    if ctx.conditional and home is not frame:
        after = join(before, after)
    if home.parent is None and not (home.path == run.path and run.world.is_running(home.path)):
        grow(run, origin_of(home, name), before, after)
        return
    home.vars[name] = after
    if home is not frame:
        run.epoch += 1
    elif name in frame.given:
        frame.altered |= {name}
