"""Calls to JAX and library functions that neither bind nor use an axis: randomness, devices, arrays, state."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from functools import lru_cache

from meshlens.axes.data import arrays, exchanges, fillers, noise
from meshlens.axes.data.drawn_shapes import drawn_by_jax
from meshlens.axes.data.gradients import drift, gradient_step, note_step
from meshlens.axes.data.shapes import shape_of_result, split_in
from meshlens.axes.domain.constants import as_size, counted
from meshlens.axes.domain.joining import labels_of, variation_of
from meshlens.axes.domain.labels import AXIS_SIZE, COUNT, NONE, ON_DEVICES, of_kinds, of_number, of_verdict, travelling
from meshlens.axes.domain.values import (
    UNKNOWN,
    Arg,
    Class,
    Const,
    Data,
    Dict,
    Ext,
    Instance,
    Made,
    Seq,
    Site,
    Union,
    Value,
    Wrapped,
)
from meshlens.axes.jax.compiled_calls import as_arrays, place_of
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.jax.parameter_trees import made_plain
from meshlens.axes.jax.train_states import is_state, is_static
from meshlens.axes.jax.transparent import wraps_function
from meshlens.axes.jax.tree_maps import is_whole
from meshlens.axes.python.unknown_calls import call_unknown
from meshlens.axes.runs import fixtures
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.records import RandomUse
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import DEEPEST, fields_of, with_fields
from meshlens.jaxapi import known_names, libraries
from meshlens.jaxapi.layers import INITIALIZERS
from meshlens.jaxapi.meshes import CONSTRAINT
from meshlens.jaxapi.operations import ELEMENTWISE, OPERATIONS

_TABLES: tuple[Container[str], ...] = (
    libraries.DRAWS,
    libraries.KEY_MAKERS,
    libraries.DEVICE_COUNTS,
    libraries.DEVICE_LISTS,
    libraries.PROCESS_QUERIES,
    libraries.REPLICATES,
    libraries.SHARDS,
    libraries.UNREPLICATES,
    libraries.FRESH_STATE,
    libraries.SHAPED,
    libraries.MEANS,
    libraries.SUMS,
    libraries.PLACES,
    libraries.RESTORES,
    libraries.PLAIN_TREES,
)
_TYPED_KEY = "jax.random.key"
_RAW_KEY = "jax.random.PRNGKey"
_RAVEL = "jax.flatten_util.ravel_pytree"
_UNRAVEL = "meshlens.unravel"


_MAY_REPEAT = frozenset({"uniform"})


def call_library(run: Run, name: str, call: Invocation) -> Value | None:
    """Returns the result of a known library function; None for any other."""
    args, site, frame, ctx = call.args, call.site, call.frame, call.ctx
    if name == libraries.HAIKU_DROPOUT:
        found = by_parameter(("rng", "rate", "x"), args)
        noise.handed_to_dropout(run, found.get("rng"), found.get("x"), call)
    how = _how(name)
    if how != "special":
        if how == "":
            return None
        labels = of_verdict(_labels(args)) if name.rsplit(".", 1)[-1] in libraries.VERDICTS else _labels(args)
        if how != "array":
            noise.meet(run, tuple([arg.value for arg in args]), ctx)
        return _array(run, name, args, labels, frame, ctx) if how != "elementwise" else None
    if name in libraries.RESTORES:
        parameters = libraries.RESTORES[name]
        to_fill = by_parameter(parameters, args).get(parameters[-1])
        like = to_fill.value if to_fill is not None else UNKNOWN
        return replace(like, labels=travelling(like.labels)) if isinstance(like, Made) and is_state(like) else None
    if name in libraries.DRAWS:
        return _draw(run, name, args, site, ctx)
    if name in libraries.HAIKU_KEYS and run.given_key is not None:
        return run.given_key
    if name in libraries.KEY_MAKERS:
        key = _make_key(libraries.KEY_MAKERS[name], args, site, ctx)
        if name == _TYPED_KEY and isinstance(key, Data):
            return replace(key, made_by=name, shape=())
        # A raw key is an array of words, two of them by default.
        return replace(key, shape=(None,)) if name == _RAW_KEY and isinstance(key, Data) else key
    if name in libraries.DEVICE_COUNTS:
        count = _device_count(run, libraries.DEVICE_COUNTS[name], site)
        return Const(count, counts=True) if count is not None else Data(AXIS_SIZE, ())
    if name in libraries.DEVICE_LISTS:
        count = _device_count(run, libraries.DEVICE_LISTS[name], site)
        return Data(frozenset({"devices", "in-order"}), (count,), "jax.devices")
    if name in libraries.PROCESS_QUERIES:
        is_index = libraries.PROCESS_QUERIES[name] == "index"
        return Data(_of_process(run, site, ctx) if is_index else _process_count(run, site), ())
    if name in ("jax.experimental.mesh_utils.create_device_mesh",):
        found = by_parameter(("mesh_shape",), args)
        return Data(
            frozenset({"device-grid"}), arrays.sizes(found["mesh_shape"].value) if "mesh_shape" in found else None
        )
    if name in libraries.REPLICATES or name in libraries.UNREPLICATES:
        state = args[0].value if args else UNKNOWN
        if name in libraries.TAKES_FIRST:
            noise.note_first_device(run, state, site, ctx)
        if name in libraries.REPLICATES:
            return _on_devices(run, state, frozenset({("copies", site, 1), ON_DEVICES}), site)
        if isinstance(state, (Instance, Made)):
            return _on_devices(run, state, NONE, site)
    if name in libraries.SHARDS:
        return _sharded(name, args[0].value if args else UNKNOWN, _device_count(run, "local", site))
    if name in libraries.FRESH_STATE:
        first = labels_of(args[0].value) if args else frozenset()
        fresh = frozenset({"fresh"}) & first if name in libraries.KEEPS_FRESH else frozenset({"fresh"})
        return Made(name, site, _labelled(args), fresh)
    if name in libraries.PLAIN_TREES and args:
        tree = args[0].value
        if isinstance(tree, Data) and (plain := made_plain(tree.labels)):
            return replace(tree, labels=travelling(tree.labels) | (tree.labels & {"fresh"}) | plain)
        return tree if isinstance(tree, (Dict, Seq)) or is_whole(tree) else None
    if name == _RAVEL and args:
        tree = args[0].value
        flat = Data(travelling(labels_of(tree)), (None,), None, True, variation_of(tree))
        return Seq("tuple", (flat, Ext(_UNRAVEL)))
    if name == _UNRAVEL and args:
        return Data(travelling(labels_of(args[0].value)), over=variation_of(args[0].value))
    shaped = libraries.SHAPED.get(name)
    labels = _labels(args)
    if name in libraries.MEANS:
        labels |= {"mean"}
    if (
        name in libraries.PLACES
        and args
        and (isinstance(args[0].value, (Data, Dict, Seq, Instance, Union)) or is_state(args[0].value))
    ):
        target = next((arg.value for arg in args[1:] if arg.label in (None, "device")), None)
        return as_arrays(run, args[0].value, site, place_of(target) if name != CONSTRAINT else NONE)
    if name == "jax.device_get" and args:
        return args[0].value
    if name in libraries.SUMS and len(args) == 1:
        labels |= noise.summed_on_host(run, labels_of(args[0].value), site, ctx)
    short = name.rsplit(".", 1)[-1]
    if short in ("zeros_like", "ones_like", "empty_like"):
        labels = frozenset()
    if shaped is not None:
        result = split_in(name, args) or _shaped(shaped, args, labels)
        if isinstance(result, Data) and result.shape is None:
            shape = shape_of_result(name, args)
            repeats = NONE if _joins_others(args) else _MAY_REPEAT
            result = replace(result, shape=shape, labels=result.labels | repeats) if shape is not None else result
        alike = short in libraries.MAY_REPEAT and isinstance(result, Data)
        if alike and (count := _copies(shaped.how, args)) and isinstance(result, Data):
            result = replace(result, labels=result.labels | {("copies", site, count)})
        return replace(result, labels=result.labels | {"uniform"}) if alike and isinstance(result, Data) else result
    if short in ELEMENTWISE:
        noise.meet(run, tuple([arg.value for arg in args]), ctx)
    return _array(run, name, args, labels, frame, ctx) if name.startswith(known_names.MODULES_OF_ARRAYS) else None


def _on_devices(run: Run, value: Value, made: frozenset[object], site: Site, depth: int = 0) -> Value:
    """Returns a state with a copy on each device, or one of the copies; functions and static fields stay unchanged.

    Args:
        run: the run.
        value: the state.
        made: the labels that its arrays get.
        site: the call.
        depth: the number of states around it.
    """
    if isinstance(value, Seq):
        items = tuple([_on_devices(run, item, made, site, depth) for item in value.items])
        return Seq(value.kind, items, value.open)
    if isinstance(value, Dict):
        entries = tuple([(key, _on_devices(run, item, made, site, depth)) for key, item in value.items])
        return Dict(entries, value.open)
    if isinstance(value, Instance) and depth < DEEPEST and fields_of(run, value):
        return with_fields(run, value, lambda _, held: _on_devices(run, held, made, site, depth + 1), site)
    if isinstance(value, Made) and is_state(value):
        return replace(value, labels=travelling(value.labels) | made)
    if is_static(value) or (isinstance(value, Const) and isinstance(value.value, str)):
        return value
    shape = arrays.shape_of(value)
    if not made or shape is None:
        return Data(travelling(labels_of(value)) | made, shape[1:] if shape else None)
    return Data(travelling(labels_of(value)) | made | _MAY_REPEAT, (_device_count(run, "local", site), *shape))


def _joins_others(args: tuple[Arg, ...]) -> bool:
    """Returns whether concatenated arrays differ, and at least one of them is not uniform."""
    items = args[0].value.items if args and isinstance(args[0].value, Seq) and not args[0].value.open else ()
    differ = len(items) > 1 and len({*items}) == len(items)
    return differ and any(isinstance(item, Data) and item.shape and "uniform" not in item.labels for item in items)


def _sharded(name: str, value: Value, count: int | None) -> Value:
    """Returns arrays with a new leading axis, along which each device gets its part; trees keep their structure.

    Args:
        name: the function that splits them.
        value: the tree.
        count: the number of devices, if it is known.
    """
    if name in libraries.SPLITS_ROWS and isinstance(value, Seq) and not value.open:
        return Seq(value.kind, tuple([_sharded(name, item, count) for item in value.items]))
    if name in libraries.SPLITS_ROWS and isinstance(value, Dict) and not value.open:
        return Dict(tuple([(key, _sharded(name, item, count)) for key, item in value.items]))
    given = labels_of(value)
    shape = value.shape if name in libraries.SPLITS_ROWS and isinstance(value, Data) else None
    labels = travelling(given) | fillers.moved(given) | _split_over_devices(name, given)
    if not shape:
        return Data(labels)
    rows = shape[0] // count if count and shape[0] is not None and shape[0] % count == 0 else None
    return Data(labels, (count, rows, *shape[1:]))


def _split_over_devices(name: str, given: frozenset[object]) -> frozenset[object]:
    """Returns the label of rows that are split over devices, unless they may all be equal."""
    return NONE if "uniform" in given or name not in libraries.SPLITS_ROWS else NONE | {"sharded"}


def _device_count(run: Run, which: str, site: Site) -> int | None:
    """Returns the number of devices that the file targets, in all processes or in one."""
    target = run.world.devices_of(site.path)
    if target is None:
        return None
    return target.local_count if which == "local" else target.count


def _process_count(run: Run, site: Site) -> frozenset[object]:
    """Returns the label of the number of processes that the file targets.

    It counts in arithmetic and in shapes, but decides no condition: programs for many processes are also tried on one.
    """
    target = run.world.devices_of(site.path)
    return NONE | {(COUNT, target.hosts)} if target is not None else NONE


@lru_cache(maxsize=2_000)
def _how(name: str) -> str:
    """Returns how a library function is handled: "special" if a table lists it, otherwise by the form of its name."""
    short = name.rsplit(".", 1)[-1]
    if (
        any(name in table for table in _TABLES)
        or name in (_RAVEL, _UNRAVEL)
        or name in ("jax.experimental.mesh_utils.create_device_mesh", "jax.device_get")
        or short in ("zeros_like", "ones_like", "empty_like")
    ):
        return "special"
    of_arrays = name.startswith(known_names.MODULES_OF_ARRAYS) and INITIALIZERS not in name
    if short in ELEMENTWISE:
        return "elementwise array" if of_arrays else "elementwise"
    return "array" if of_arrays else ""


def _array(run: Run, name: str, args: tuple[Arg, ...], labels: frozenset[object], frame: Frame, ctx: Context) -> Value:
    known = name.rsplit(".", 1)[-1] in libraries.GIVES_ARRAY
    shape = _elementwise(name, args)
    labels |= _step(run, args, labels, frame, ctx)
    is_whole = len(args) == 1 and args[0].label is None and name in libraries.MEANS | libraries.SUMS
    if is_whole:
        labels = of_number(labels)
    if shape is None and ctx.env.maps and is_whole:
        # Without an axis the result is one number, whatever the shape was.
        shape = ()
    if shape is None and (shape := shape_of_result(name, args)) is not None:
        labels |= _MAY_REPEAT
    return Data(labels, shape, name if known else None, known)


def call_elsewhere(run: Run, name: str, call: Invocation) -> Value:
    """Returns the result of an unknown callable."""
    args, site, decorator = call.args, call.site, call.decorator
    if decorator and len(args) == 1 and isinstance(args[0].value, Class):
        return args[0].value
    if decorator and len(args) == 1 and wraps_function(args[0].value):
        if name in fixtures.MARKS:
            return fixtures.marked(name, args[0].value, site, ())
        if is_harmless(name):
            return args[0].value
        return Wrapped("same", "meshlens.unknown", args[0].value, site)
    if name in libraries.GENERATORS or name in libraries.CHECKPOINTERS:
        return Made(name, site)
    if name in known_names.OBJECTS_OF_PYTEST:
        return Made(name, site, _labelled(args))
    if INITIALIZERS in name and name.endswith((".zeros", ".ones")) and len(args) > 1:
        return Data(_labels(args), arrays.sizes(args[1].value))
    if name.startswith(known_names.MODULES_WITHOUT_CALLS):
        return Data(_labels(args), shape_of_result(name, args))
    if name in libraries.UPDATES:
        note_step(run, args[1:], call)
    result = call_unknown(run, call.of(Ext(name), args))
    labels = result.labels if isinstance(result, Data) else frozenset()
    if name in libraries.NORMS:
        return Data(of_number(labels), ())
    is_maker = INITIALIZERS in name and not name.endswith((".zeros", ".ones"))
    makes_objects = is_maker or name.split(".")[0] in known_names.LIBRARIES_WITH_OBJECTS
    if (decorator or makes_objects) and name not in OPERATIONS:
        return Made(name, site, _labelled(args), labels)
    return Data(labels, shape_of_result(name, args))


def is_harmless(name: str) -> bool:
    """Returns whether a decorator with this name leaves the function's use of axes unchanged."""
    return name.split(".")[0] in known_names.HARMLESS_DECORATORS and ".mock." not in name


def _labelled(args: tuple[Arg, ...]) -> tuple[tuple[str | int, Value], ...]:
    return tuple((arg.label if arg.label is not None else place, arg.value) for place, arg in enumerate(args))


def _labels(args: tuple[Arg, ...]) -> frozenset[object]:
    labels = NONE
    for arg in args:
        if type(arg.value) is not Const and arg.value is not UNKNOWN:
            labels |= travelling(labels_of(arg.value))
    return labels


def _step(run: Run, args: tuple[Arg, ...], labels: frozenset[object], frame: Frame, ctx: Context) -> frozenset[object]:
    if "of-gradient" not in labels:
        return NONE
    parts = tuple((labels_of(arg.value), arg.site) for arg in args if arg.site is not None)
    drifted = drift([arg.value for arg in args]) if ctx.env.maps else NONE
    return gradient_step(run, labels, parts, frame, ctx) | drifted


def _elementwise(name: str, args: tuple[Arg, ...]) -> arrays.Sizes | None:
    short = name.rsplit(".", 1)[-1]
    if short in ELEMENTWISE and args and (short != "where" or len(args) == 3):
        shape = arrays.shape_of(args[0].value)
        for arg in args[1:]:
            shape = arrays.broadcast(shape, arrays.shape_of(arg.value))
        return shape
    return None


def _draw(run: Run, name: str, args: tuple[Arg, ...], site: Site, ctx: Context) -> Value:
    key = by_parameter(("key",), args).get("key")
    # A key that is None belongs to a branch that does not run.
    is_alike = key is not None and not isinstance(key.value, Const) and noise.is_alike(key.value, ctx)
    if key is not None and key.site is not None:
        made = noise.maker_of(labels_of(key.value))
        run.records.random_uses.append(RandomUse(site, key.site, labels_of(key.value), ctx, alike=is_alike, made=made))
    labels = travelling(labels_of(key.value)) if key is not None else frozenset()
    place = noise.place_of_key(key) if key is not None and is_alike else None
    if place is not None:
        # Mapping over copies of one key gives the same numbers on each device.
        labels -= {"varying", "data", "index"} if of_kinds(labels, noise.OF_PROCESS) else {"varying", "data"}
        labels |= {
            ("drawn", site, place),
            ("alike", site, place),
        }
        if name.rsplit(".", 1)[-1] not in ("permutation", "choice", "shuffle"):
            others = tuple([arg.value for arg in args if arg is not key])
            noise.meet(run, (Data(labels), *others), ctx)
    elif key is not None and key.site is not None:
        labels |= noise.of_draw(key, site, ctx) | exchanges.of_chance(key, args, site)
    shaped = libraries.SHAPED.get(name)
    return _shaped(shaped, args, labels) if shaped is not None else Data(labels, drawn_by_jax(name, args))


def _of_process(run: Run, site: Site, ctx: Context) -> frozenset[object]:
    """Returns the labels of a process's index; within a map, all devices of the process have the same one."""
    count = _device_count(run, "local", site) if noise.on_devices(ctx) else None
    return frozenset({"index", (noise.OF_PROCESS, site)} if count is not None and count > 1 else {"index"})


def _make_key(how: str, args: tuple[Arg, ...], site: Site, ctx: Context) -> Value:
    labels = _labels(args)
    if how in ("folded", "key") and args:
        # If only a number comes from copies, such as the step, the copies are not the key that devices have in common.
        given = args[:1] if how == "folded" else ()
        labels -= frozenset(of_kinds(_labels(args) - _labels(given), "copied"))
        if how == "folded" and len(args) > 1:
            labels |= noise.of_folding(args[1].value, site, ctx) | exchanges.of_folding(args[1].value)
            if all(noise.is_shared(arg.value, ctx) for arg in args):
                # Of copies, such as the step, each device has its own, but all are equal.
                labels -= {"varying"}
    if not noise.on_devices(ctx) or all(isinstance(arg.value, Const) or "same" in labels_of(arg.value) for arg in args):
        labels |= {"same"}
    if how == "same":
        return args[0].value if args else UNKNOWN
    if how == "several":
        return Data(labels | {"keys"})
    if how == "keys":
        count = by_parameter(("key", "num"), args).get("num")
        sizes = (2,) if count is None else arrays.sizes(count.value)
        if sizes is None and count is not None and arrays.shape_of(count.value) != ():
            # The number may be a shape.
            return Data(labels | {"keys"})
        sizes = sizes or (None,)
        is_typed = bool(args) and _is_typed(args[0].value)
        # The last axis of a raw key holds its words.
        return Data(labels | {"keys"}, sizes if is_typed else (*sizes, None))
    first = args[0].value if how == "folded" and args else None
    if isinstance(first, Data) and "keys" not in first.labels:
        return Data(labels | {"key"}, first.shape, first.made_by)
    return Data(labels | {"key"})


def _is_typed(key: Value) -> bool:
    """Returns whether a value is one typed key, an array without axes; a raw key is a row of words."""
    return isinstance(key, Data) and (key.made_by == _TYPED_KEY or (key.shape == () and "key" in key.labels))


def _copies(how: str, args: tuple[Arg, ...]) -> int:
    """Returns the number of leading axes along which an array certainly repeats one array."""
    positional = [arg.value for arg in args if arg.label is None]
    if how == "stack" and positional and isinstance(positional[0], Seq) and not positional[0].open:
        items = positional[0].items
        return int(len(items) > 1 and all(item is items[0] for item in items))
    if how in ("repeat", "tile"):
        return _repeated(how, args)
    if how != "broadcast" or len(positional) != 2 or not isinstance(positional[1], Seq):
        return 0
    first, shape = positional
    if not isinstance(shape, Seq) or shape.items[:1] == (Const(1),):
        return 0
    if shape.open:
        return len(shape.items)
    rank = arrays.shape_of(first)
    return max(len(shape.items) - len(rank), 0) if rank is not None else 0


def _repeated(how: str, args: tuple[Arg, ...]) -> int:
    """Returns the number of leading axes along which `repeat` or `tile` certainly repeats one array."""
    shape = arrays.shape_of(args[0].value) if args else None
    if shape is None:
        return 0
    if how == "tile":
        times = by_parameter(("A", "reps"), args).get("reps")
        count = arrays.sizes(times.value) if times is not None else None
        return max(len(count) - len(shape), 0) if count is not None else 0
    axis = by_parameter(("a", "repeats", "axis"), args).get("axis")
    return int(axis is not None and axis.value == Const(0) and shape[:1] == (1,))


def _shaped(row: libraries.Shaped, args: tuple[Arg, ...], labels: frozenset[object]) -> Value:
    positional = [arg for arg in args if arg.label is None]
    if len(positional) < len(args) and any(arg.label in ("*", "**") for arg in args):
        return Data(labels)
    said = next((arg for arg in args if arg.label == row.parameter), None)
    if said is None and row.index < len(positional):
        said = positional[row.index]
    value = said.value if said is not None else None
    first = positional[0].value if positional else UNKNOWN
    if row.how == "shape":
        return Data(labels, arrays.sizes(value) if value is not None else () if not positional else None)
    if row.how == "length":
        if row.parameter == "start" and (len(positional) != 1 or _says_range(args)):
            return Data(labels, _counted(positional) if not _says_range(args) else (None,))
        if row.parameter == "num" and not _is_between_numbers(args):
            return Data(labels)
        only = isinstance(value, Const) and isinstance(value.value, (int, float))
        if row.parameter == "num" and said is None:
            return Data(labels, (50,))
        return Data(labels, (as_size(value.value),) if only and isinstance(value, Const) else (None,))
    if row.how == "like":
        return Data(labels, arrays.shape_of(first))
    if row.how == "array":
        if isinstance(first, Data) and first.labels & {"devices", "replicated-result"}:
            return first
        return Data(labels, arrays.literal_shape(first) if all(arg.label != "ndmin" for arg in args) else None)
    if row.parameter == "sizes":
        more, own = arrays.sizes(value) if value is not None else None, arrays.shape_of(first)
        return Data(labels, (*more, *own) if more is not None and own is not None else None)
    if row.how in ("reshape", "broadcast"):
        wanted = arrays.sizes(value) if value is not None else None
        kept = first.labels & {"devices", "device-grid", "in-order"} if isinstance(first, Data) else frozenset()
        if any(arg.label == "order" for arg in args):
            kept -= {"in-order"}
        if (
            row.how == "reshape"
            and value is not None
            and arrays.splits_rows(value)
            and "uniform" not in labels_of(first)
        ):
            kept |= {"sharded"}
        return Data(labels | kept, arrays.reshaped(arrays.shape_of(first), wanted))
    if row.how == "stack":
        axis = by_parameter(("arrays", "axis"), args).get("axis")
        return Data(labels, _stacked(first) if axis is None or axis.value == Const(0) else None)
    return Data(labels)


def _says_range(args: tuple[Arg, ...]) -> bool:
    return any(arg.label in ("start", "stop", "step") for arg in args)


def _is_between_numbers(args: tuple[Arg, ...]) -> bool:
    """Returns whether `linspace` gets two numbers, and so returns one array with one axis."""
    found = by_parameter(("start", "stop"), args)
    if "retstep" in found or "axis" in found:
        return False
    return all(name in found and arrays.shape_of(found[name].value) == () for name in ("start", "stop"))


def _counted(positional: list[Arg]) -> arrays.Sizes | None:
    """Returns the shape of `arange(start, stop, step)`, one axis whose size may be known."""
    numbers = [arg.value.value for arg in positional if isinstance(arg.value, Const)]
    whole = [number for number in numbers if type(number) is int]
    if len(positional) not in (2, 3) or len(whole) < len(positional) or whole[2:] == [0]:
        return (None,) if positional else None
    return (counted(range(*whole)),)


def _stacked(first: Value) -> arrays.Sizes | None:
    if isinstance(first, Seq) and not first.open and first.items:
        inner = arrays.shape_of(first.items[0])
        return (len(first.items), *inner) if inner is not None else None
    return None
