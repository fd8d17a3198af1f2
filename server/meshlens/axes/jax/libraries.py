"""Calls to library objects: a normalization layer with an axis name uses the axis when it is called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from meshlens.axes.data import transfer
from meshlens.axes.data.arrays import shape_of, sizes
from meshlens.axes.data.layer_shapes import is_initializer, shape_of_layer
from meshlens.axes.data.noise import handed_to_dropout, on_devices
from meshlens.axes.data.operating import of_network
from meshlens.axes.data.transfer import across
from meshlens.axes.domain.joining import labels_of, variation_of, variations_in
from meshlens.axes.domain.labels import NONE, travelling
from meshlens.axes.domain.values import UNKNOWN, Arg, Class, Const, Data, Made, Seq, Value, Wrapped
from meshlens.axes.domain.variation import ANYTHING, Variation
from meshlens.axes.jax.collecting import note_uses
from meshlens.axes.jax.command_lines import call_decorator
from meshlens.axes.jax.library_calls import is_harmless
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.jax.new_variables import annotates
from meshlens.axes.jax.parameter_trees import note_layer
from meshlens.axes.jax.transparent import wraps_function
from meshlens.axes.python.unknown_calls import call_unknown
from meshlens.axes.runs import fixtures
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run
from meshlens.jaxapi.consumers import Consumer, consumer
from meshlens.jaxapi.layers import KEEP_ROWS, SEQUENTIAL
from meshlens.jaxapi.names import canonical

_LAYERS = ("flax.linen.", "flax.nnx.", "haiku.", "equinox.nn.")


def call_made(run: Run, made: Made, call: Invocation) -> Value:
    """Returns the result of calling an object that a library created."""
    args = call.args
    if run.world.by_default and (decorated := call_decorator(made, call)) is not None:
        return decorated
    row = consumer(made.dotted)
    if run.scope is not None:
        note_layer(run, made, args, call.ctx)
        if made.dotted in SEQUENTIAL:
            return UNKNOWN
    if made.dotted == "equinox.nn.Dropout":
        key, data = (next((arg for arg in args if arg.label == label), None) for label in ("key", None))
        handed_to_dropout(run, key, data, call)
    if row is not None:
        consume(run, made, row, call)
        labels = frozenset().union(*(travelling(labels_of(arg.value)) for arg in args)) if args else NONE
        own = {"normed"} if row.name == "BatchNorm" and _is_of_one_device(made, row, call) else NONE
        return Data(labels | own, shape_of_layer(made, args), over=of_layer(run, made, UNKNOWN, args))
    if made.dotted in SEQUENTIAL and (layers := _layers_of(made)):
        return _one_after_another(run, layers, call)
    if len(args) == 1 and isinstance(args[0].value, Class):
        return args[0].value
    if len(args) == 1 and wraps_function(args[0].value) and args[0].whole == args[0].site:
        if made.dotted in fixtures.MARKS:
            return fixtures.marked(made.dotted, args[0].value, call.site, made.arguments)
        if is_harmless(made.dotted):
            return args[0].value
        return Wrapped("same", "meshlens.unknown", args[0].value, call.site)
    result = call_unknown(run, call)
    if isinstance(result, Data) and is_initializer(made):
        shape = by_parameter(("key", "shape"), args).get("shape")
        return replace(result, shape=sizes(shape.value) if shape is not None else None)
    if isinstance(result, Data) and annotates(made):
        return replace(result, made_by=made.dotted)
    if isinstance(result, Data) and made.dotted.startswith(_LAYERS):
        given = run.given_parameters
        labels = result.labels | given.summary.labels if given is not None else result.labels
        return replace(result, labels=labels, shape=shape_of_layer(made, args), over=of_layer(run, made, result, args))
    return result


def _layers_of(made: Made) -> tuple[Value, ...]:
    """Returns the layers of a sequence of layers; none if they are unknown."""
    if any(key in ("*", "**") for key, _ in made.arguments):
        return ()
    given = tuple([value for key, value in made.arguments if isinstance(key, int) or key == "layers"])
    if len(given) == 1 and isinstance(given[0], Seq):
        return () if given[0].open else given[0].items
    return given


def _one_after_another(run: Run, layers: tuple[Value, ...], call: Invocation) -> Value:
    """Returns the result of calling layers in sequence, each with the previous layer's result."""
    args = call.args
    value: Value = UNKNOWN
    for layer in layers:
        value = run.invoke(call.of(layer, args))
        args = (Arg(None, value, None, None),)
    return value


_HIDE_PARAMETERS = "haiku."
"""The library whose layers get their parameters from outside, so that the parameters may differ between devices."""


def of_layer(run: Run, made: Made, result: Value, args: tuple[Arg, ...]) -> Variation:
    """Returns the variation of a layer's result; rows stay rows in a layer that works on each row."""
    over = _of_layer(made, result, args)
    if made.dotted.startswith(_HIDE_PARAMETERS):
        return across(transfer.with_parameters, over, ANYTHING)
    return across(transfer.with_parameters, over, run.given_parameters.summary.over) if run.given_parameters else over


def _of_layer(made: Made, result: Value, args: tuple[Arg, ...]) -> Variation:
    shape = shape_of(args[0].value) if args and args[0].label is None else ()
    if canonical(made.dotted) not in KEEP_ROWS or (shape is not None and len(shape) < 2):
        return of_network(result, args)
    others = dict.fromkeys(one for arg in args[1:] for one in variations_in(arg.value))
    return across(transfer.layered, variation_of(args[0].value), *others)


def _of_call(row: Consumer, args: tuple[Arg, ...]) -> Iterator[tuple[str, Value]]:
    yield from zip(row.call_parameters, (arg.value for arg in args if arg.label is None), strict=False)
    yield from ((arg.label, arg.value) for arg in args if arg.label)


def _is_of_one_device(made: Made, row: Consumer, call: Invocation) -> bool:
    """Returns whether a layer in a map over devices certainly uses only its own device's statistics in training."""
    given = {key: value for key, value in made.arguments if isinstance(key, str)}
    if not _is_none(given.get("axis", Const(None))) or call.ctx.skip or not on_devices(call.ctx):
        return False
    given.update({name: value for name, value in _of_call(row, call.args) if not _is_none(value)})
    off = [given.get(name, Const(False)) for name in row.skips_when]
    on = [given.get(name, UNKNOWN) for name in row.skips_unless]
    return all(isinstance(value, Const) and not value.value for value in off) and all(
        isinstance(value, Const) and bool(value.value) for value in on
    )


def _is_none(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


def consume(run: Run, made: Made, row: Consumer, call: Invocation) -> None:
    """Notes that an object uses the axis name that it was given, unless an argument switches that off."""
    given = dict(made.arguments)
    axis = given.get("axis")
    if axis is None or _is_none(axis):
        return
    if row.skips_in_init and call.ctx.skip:
        return
    said = {
        **{key: value for key, value in made.arguments if isinstance(key, str)},
        **{name: value for name, value in _of_call(row, call.args) if not _is_none(value)},
    }
    for name in row.skips_when:
        value = said.get(name)
        if value is not None and not (isinstance(value, Const) and not value.value):
            return
    for name in row.skips_unless:
        value = said.get(name)
        if value is not None and not (isinstance(value, Const) and value.value):
            return
        if value is None and len(call.args) > 1:
            return
    place = axis.via if isinstance(axis, Const) else None
    if place is not None:
        note_uses(run, row.name, Arg(None, axis, place, place), call)
