"""Items of containers, and methods that change a container in place."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.data.arrays import held_in, is_array, is_unplaced
from meshlens.axes.data.numpy_shapes import GRIDS, of_grid
from meshlens.axes.data.operating import of_picked, of_sliced
from meshlens.axes.data.shapes import indexed
from meshlens.axes.domain.joining import entry_of_table, join_all, labels_of
from meshlens.axes.domain.keys import SOME_KEY, key_of
from meshlens.axes.domain.labels import COUNTED_AT, FROM_ZERO, INTEGERS, NONE, UNPLACED, of_kinds, travelling
from meshlens.axes.domain.values import UNKNOWN, Arg, Class, Const, Data, Dict, Ext, Made, Seq, Site, Union, Value
from meshlens.axes.jax.parameter_trees import part_at
from meshlens.axes.python.assign import change_in_place
from meshlens.axes.python.enums import member
from meshlens.axes.python.tables import updated
from meshlens.axes.python.unpacking import element, made_of_row
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.run import Run
from meshlens.facts.nodes import Attribute, Expression, Name, Subscript
from meshlens.jaxapi.layers import PARAMETERS
from meshlens.jaxapi.operations import AT

_OF_ITEMS = frozenset({INTEGERS})
_OF_DEQUES = frozenset({"appendleft", "extendleft", "popleft", "rotate", "clear"})
MUTATORS = frozenset({"append", "extend", "update", "setdefault", "insert", "add", "pop"}) | _OF_DEQUES


def item(container: Value, index: Value, index_node: Expression, site: Site) -> Value:
    """Returns the value of `container[index]`."""
    if isinstance(container, Union):
        items = (item(option, index, index_node, site) for option in container.options)
        return entry_of_table(items) if container.of_table else join_all(items)
    if isinstance(container, Dict):
        key = key_of(index)
        if key is not None:
            found = container.get(key[0]) or container.get(SOME_KEY)
            return found if found is not None else UNKNOWN
        values = [value for _, value in container.items]
        return entry_of_table([*values, UNKNOWN] if container.open else values) if values else UNKNOWN
    if isinstance(container, Class) and isinstance(index, Const):
        return member(container, str(index.value)) or UNKNOWN
    if isinstance(container, Seq):
        return _of_sequence(container, index)
    if isinstance(container, Data):
        return _of_data(container, index)
    if isinstance(container, Made) and container.dotted in PARAMETERS:
        return _of_data(held_in(container), index)
    if isinstance(container, Ext) and container.dotted in GRIDS:
        return Data(shape=of_grid(index))
    if isinstance(container, Ext) and container.dotted not in ("os.environ",):
        return container
    return UNKNOWN


def _of_sequence(container: Seq, index: Value) -> Value:
    if isinstance(index, Const) and isinstance(index.value, int) and not isinstance(index.value, bool):
        if not container.open and -len(container.items) <= index.value < len(container.items):
            return container.items[index.value]
        # The last of several may be the last of all.
        if container.open and 0 <= index.value < max(len(container.items) - 1, 1) and container.items:
            return container.items[index.value]
        return element(container)
    if isinstance(index, Seq) and index.kind == "slice":
        if container.open:
            return Seq(container.kind, (element(container),), True)
        bounds = [part.value for part in index.items if isinstance(part, Const) and isinstance(part.value, int | None)]
        if len(bounds) == 3:
            return Seq(container.kind, container.items[bounds[0] : bounds[1] : bounds[2] or None])
        return Seq(container.kind, container.items, True)
    return element(container)


def _of_data(container: Data, index: Value) -> Value:
    if container is UNKNOWN:
        is_slice = isinstance(index, Seq) and index.kind == "slice"
        labels = NONE if is_slice else travelling(labels_of(index))
        return Data(labels) if labels else UNKNOWN
    if container.made_by == AT:
        return container
    kept = container.labels & UNPLACED if is_unplaced(index) else NONE
    labels = travelling(container.labels) | (container.labels & {"fresh", "devices", "keys", "same", INTEGERS}) | kept
    if isinstance(index, Seq) and index.kind == "slice":
        taken = _devices_taken(index) if "devices" in labels and container.shape == (None,) else None
        shape = (taken,) if taken is not None else indexed(container.shape, index) if container.shape else None
        return Data(labels, shape, container.made_by, over=of_sliced(container, index))
    if isinstance(index, Const) and index.value is None:
        shape = (1, *container.shape) if container.shape is not None else None
        # The new axis may be the one that a map splits.
        return Data(labels - {"fresh"}, shape, over=of_picked(container, index))
    if isinstance(index, Const) and type(index.value) is int:
        if "keys" in labels:
            labels = labels - {"keys"} | {"key"}
        if "devices" in labels and container.shape and len(container.shape) == 1:
            labels = labels - {"devices"} | {"device"}
        return Data(
            labels,
            container.shape[1:] if container.shape else None,
            made_of_row(container),
            over=of_picked(container, index),
        )
    shape = indexed(container.shape, index) if container.shape is not None else None
    labels = travelling(container.labels) | travelling(labels_of(index)) | (container.labels & _OF_ITEMS) | kept
    labels |= part_at(container.labels, index)
    labels |= container.labels & {"sharded"} if isinstance(index, Const) and isinstance(index.value, str) else NONE
    labels |= {"uniform"} if shape is not None else set()
    if FROM_ZERO in container.labels and isinstance(index, Seq) and all(map(_takes_all, index.items)):
        labels |= {FROM_ZERO, *of_kinds(container.labels, COUNTED_AT)}
    return Data(labels, shape, None, is_array(container), of_picked(container, index))


def _takes_all(index: Value) -> bool:
    """Returns whether an index is `:` or `None`."""
    if isinstance(index, Seq):
        return index.kind == "slice" and all(item == Const(None) for item in index.items)
    return index == Const(None)


def _devices_taken(index: Seq) -> int | None:
    """Returns how many devices `jax.devices()[:8]` takes; the program is meant for that many."""
    first, count, step = (part.value if isinstance(part, Const) else "?" for part in index.items)
    return count if first is None and step is None and isinstance(count, int) and count > 0 else None


def mutate(run: Run, callee: Attribute, args: tuple[Arg, ...], frame: Frame, ctx: Context) -> Value | None:
    """Runs a method in `MUTATORS`, such as `name.append(x)`, on a container; None if the container is unknown."""
    receiver = run.evaluate(callee.object, frame, ctx)
    method = callee.name
    changed: Value | None = None
    result: Value = Const(None)
    # In a loop with known iterations, a variable of this frame grows by exactly the visible items.
    own = isinstance(callee.object, Name) and callee.object.name in frame.vars and not frame.open_loops
    repeated = ctx.loop and not own
    if isinstance(receiver, Seq):
        if method in ("append", "add") and len(args) == 1:
            grown = len(receiver.items) < 32 and not repeated
            changed = (
                Seq(receiver.kind, (*receiver.items, args[0].value), receiver.open or not grown)
                if len(receiver.items) < 32
                else Seq(receiver.kind, receiver.items, True)
            )
        elif method == "extend" and len(args) == 1 and isinstance(args[0].value, Seq):
            changed = Seq(
                receiver.kind, receiver.items + args[0].value.items, receiver.open or args[0].value.open or repeated
            )
        elif method == "pop" and not (args or repeated) and _is_whole_list(receiver):
            result, changed = receiver.items[-1], Seq("list", receiver.items[:-1])
        elif method == "popleft" and not repeated and _is_whole_list(receiver):
            result, changed = receiver.items[0], Seq("list", receiver.items[1:])
        elif method in ("appendleft", "extendleft"):
            added = args[0].value if len(args) == 1 else UNKNOWN
            items = (*receiver.items, added if method == "appendleft" else element(added))
            changed = Seq(receiver.kind, (join_all(items),), True)
        else:
            result = element(receiver)
            # Of a list with others, it may be the last item that is taken out.
            is_last = method == "pop" and receiver.open
            changed = Seq(receiver.kind, (result,) if is_last else receiver.items, True)
    elif isinstance(receiver, Dict):
        changed, result = _change_dict(receiver, method, args)
    elif isinstance(receiver, Union) and any(isinstance(option, (Dict, Seq)) for option in receiver.options):
        changed, result = UNKNOWN, UNKNOWN
    if changed is None:
        return None
    if isinstance(callee.object, (Name, Attribute, Subscript)):
        change_in_place(run, callee.object, receiver, changed, frame, ctx)
    return result


def _is_whole_list(value: Seq) -> bool:
    return value.kind == "list" and bool(value.items) and not value.open


def _change_dict(receiver: Dict, method: str, args: tuple[Arg, ...]) -> tuple[Value | None, Value]:
    entries = dict(receiver.items)
    if method == "update":
        return updated(receiver, args), Const(None)
    key = key_of(args[0].value) if args else None
    if method == "pop":
        if key is not None:
            found = entries.pop(key[0], args[1].value if len(args) > 1 else UNKNOWN)
            return replace(receiver, items=tuple(entries.items())), found
        return replace(receiver, open=True), UNKNOWN
    if method == "setdefault" and key is not None and len(args) > 1:
        found = entries.setdefault(key[0], args[1].value)
        return replace(receiver, items=tuple(entries.items())), found
    return replace(receiver, open=True), UNKNOWN
