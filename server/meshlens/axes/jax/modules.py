"""Modules of flax and haiku: library methods that run the user's methods or switch layers to training or inference."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any

from meshlens.axes.data.arrays import is_array, shape_of, sizes
from meshlens.axes.data.layer_shapes import is_initializer
from meshlens.axes.data.noise import given_to_model
from meshlens.axes.data.operating import of_all, of_network
from meshlens.axes.domain import variation
from meshlens.axes.domain.joining import labels_of, variations_in
from meshlens.axes.domain.labels import of_kinds, travelling
from meshlens.axes.domain.values import (
    UNKNOWN,
    Arg,
    Bound,
    Const,
    Data,
    Dict,
    Instance,
    Made,
    Seq,
    Value,
    Wrapped,
)
from meshlens.axes.jax.given_parameters import given_leaf, given_to
from meshlens.axes.jax.module_methods import transformed
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.jax.parameter_trees import note_parameter, of_init
from meshlens.axes.python.objects import instance_attribute
from meshlens.axes.python.unknown_calls import call_unknown
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.heap import MADE_LATER, MERGED_ARRAYS, attributes_of, set_attribute
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.parameter_scopes import GivenParameters
from meshlens.axes.runs.run import Run
from meshlens.jaxapi.consumers import consumer

_KEYWORDS = frozenset({"mutable", "rngs", "method", "capture_intermediates"})
_SWITCH = "use_running_average"


def call_module_method(run: Run, receiver: Instance, dotted: str, call: Invocation) -> Value:
    """Returns the result of calling a method that a module inherits from its library."""
    args, ctx = call.args, call.ctx
    name = dotted.rsplit(".", 1)[-1]
    if name == "is_initializing":
        return Const(True) if ctx.skip else Const(False) if run.given_parameters is not None else UNKNOWN
    if name == "bind":
        return receiver
    if name == "param":
        return _parameter(run, receiver, call)
    if name in ("eval", "train", "set_attributes"):
        # A loop that merges a module makes a new one in each iteration, so the call switches it every time.
        is_merged = MERGED_ARRAYS in attributes_of(run, receiver)
        _switch_layers(run, receiver, _switched(name, args, ctx._replace(loop=ctx.loop and not is_merged)), set())
        set_attribute(run, receiver, MADE_LATER, Const(True))
        return Const(None)
    return _run_module(run, receiver, name, call)


def _parameter(run: Run, receiver: Instance, call: Invocation) -> Value:
    """Returns a parameter of a module, with the shape that is passed to a library's initializer."""
    found = by_parameter(("name", "init_fn", "shape"), call.args)
    made = call_unknown(run, call)
    maker = found["init_fn"].value if "init_fn" in found else UNKNOWN
    is_known = is_initializer(maker)
    if not isinstance(made, Data):
        return made
    shape = sizes(found["shape"].value) if is_known and "shape" in found else None
    if "name" in found:
        note_parameter(run, receiver, found["name"].value, shape, call.ctx)
    given = run.given_parameters
    own = given_leaf(given, receiver, found["name"].value) if given is not None and "name" in found else None
    if own is not None:
        return replace(own, shape=shape) if shape is not None else own
    return replace(made, shape=shape, over=given.summary.over if given is not None else made.over)


def _run_module(run: Run, receiver: Instance, name: str, call: Invocation) -> Value:
    args, ctx = call.args, call.ctx
    method: Value = next((arg.value for arg in args if arg.label == "method"), UNKNOWN)
    positional = tuple(arg for arg in args if arg.label is None)[1:]
    rest = tuple(arg for arg in args if arg.label is not None and arg.label not in _KEYWORDS)
    target: Value = receiver
    if isinstance(method, Const) and isinstance(method.value, str):
        target = instance_attribute(run, receiver, method.value, call.site, ctx)
    elif not isinstance(method, (Data, Const)):
        target = method if isinstance(method, Bound) else Bound(receiver, method)
    if name == "apply":
        outer, run.given_parameters = run.given_parameters, _given_parameters(receiver, args)
        is_known = run.given_parameters is not None and run.given_parameters.tree is not None
        value = run.invoke(call.inside(target, (*positional, *rest), ctx, "run"))
        run.given_parameters = outer
        mutable = next((arg.value for arg in args if arg.label == "mutable"), Const(False))
        is_plain = isinstance(mutable, Const) and mutable.value is False
        labels = frozenset().union(*(travelling(labels_of(arg.value)) for arg in args)) if args else frozenset()
        value = _given_out(value, labels, () if is_known else args)
        return value if is_plain else Seq("tuple", (value, _state_after(value, labels, args)))
    given = (*positional, *rest)
    run.invoke(call.inside(target, given, ctx._replace(skip=True), "run"))
    is_plain_init = name == "init" and target is receiver and all(arg.label not in ("*", "**") for arg in args)
    return Data(frozenset({"fresh"}) | (of_init(receiver, given) if is_plain_init else frozenset()))


def _given_parameters(model: Instance, args: tuple[Arg, ...]) -> GivenParameters | None:
    """Returns the variables that are passed to `apply`; None if they are not its first argument."""
    if not args or args[0].label not in (None, "variables"):
        return None
    found = tuple(variations_in(args[0].value))
    of_maps = frozenset(of_kinds(labels_of(args[0].value), "argument"))
    summary = Data(of_maps, over=reduce(variation.joined, found)) if found else None
    return given_to(model, args[0].value, summary) if summary is not None else None


def _given_out(value: Value, labels: frozenset[Any], args: tuple[Arg, ...]) -> Value:
    """Returns what `apply` returns.

    Args:
        value: the result of the module's own method.
        labels: the labels of the arguments.
        args: the arguments, if the result may depend on parameters in ways that were not seen.
    """
    if isinstance(value, Seq):
        return value
    over = of_network(value, args)
    return Data(labels | travelling(labels_of(value)), shape_of(value), None, is_array(value), over)


def _state_after(value: Value, labels: frozenset[Any], args: tuple[Arg, ...]) -> Data:
    """Returns the state that comes with a model's result.

    It differs between devices if layers normalize each device's rows separately; other layers may have reduced it.
    """
    if "normed" not in labels_of(value):
        return Data(labels)
    return Data(labels | {"own-statistics"}, over=of_all(arg.value for arg in args))


def _switched(name: str, args: tuple[Arg, ...], ctx: Context) -> Value | None:
    """Returns the mode (inference or training) that a call switches the layers to; None if it does not switch them."""
    said = next((arg.value for arg in args if arg.label in (_SWITCH, "**")), None)
    if name == "set_attributes" and said is None:
        return None
    value = said if said is not None else Const(name == "eval")
    return UNKNOWN if ctx.conditional or ctx.loop else value


def _switch_layers(run: Run, instance: Instance, value: Value | None, seen: set[int]) -> None:
    if value is None or instance.number in seen:
        return
    seen.add(instance.number)

    def switched(held: Value) -> Value:
        if isinstance(held, Instance):
            _switch_layers(run, held, value, seen)
        elif isinstance(held, Made):
            row = consumer(held.dotted)
            if row is not None and _SWITCH in row.skips_when:
                return replace(held, arguments=(*held.arguments, (_SWITCH, value)))
        elif isinstance(held, Seq):
            return replace(held, items=tuple(switched(item) for item in held.items))
        elif isinstance(held, Dict):
            return replace(held, items=tuple((key, switched(item)) for key, item in held.items))
        return held

    for name, held in list(attributes_of(run, instance).items()):
        after = switched(held)
        if after is not held and after != held:
            set_attribute(run, instance, name, after)


def call_transformed(run: Run, receiver: Wrapped, name: str, call: Invocation) -> Value:
    """Returns the result of `init` or `apply` of a transformed haiku function."""
    args, ctx = call.args, call.ctx
    found = transformed(receiver)
    if found is None or any(arg.label == "*" for arg in args):
        return call_unknown(run, call.of(receiver, args))
    wrapped, takes_key = found
    has_state = wrapped.dotted.endswith("transform_with_state")
    own = ["rng"] if name == "init" else ["params", *(["state"] if has_state else []), *(["rng"] if takes_key else [])]
    by_name = {arg.label for arg in args if arg.label in own}
    positional = [arg for arg in args if arg.label is None][len(own) - len(by_name) :]
    given = (*positional, *(arg for arg in args if arg.label is not None and arg.label not in own))
    inner = ctx._replace(skip=True) if name == "init" else ctx
    key = by_parameter(tuple(own), args).get("rng") if name == "apply" else None
    outer, run.given_key = run.given_key, given_to_model(key)
    value = run.invoke(call.inside(wrapped.operand, given, inner, "run"))
    run.given_key = outer
    if name == "init":
        fresh = Data(frozenset({"fresh"}))
        return Seq("tuple", (fresh, fresh)) if has_state else fresh
    labels = frozenset().union(*(travelling(labels_of(arg.value)) for arg in args)) if args else frozenset()
    value = _given_out(value, labels, args)
    return Seq("tuple", (value, _state_after(value, labels, args))) if has_state else value
