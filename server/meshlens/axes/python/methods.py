"""Methods of values other than workspace objects: arrays, strings, dictionaries, transformed functions, modules."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from meshlens.axes.data import arrays, corners, fillers, moments, noise
from meshlens.axes.data.coordinates import of_call
from meshlens.axes.data.drawn_shapes import METHODS, drawn, integers_from
from meshlens.axes.data.fitting import note_combined
from meshlens.axes.data.gradients import note_step, note_unreduced_step, note_updated
from meshlens.axes.data.halos import set_end
from meshlens.axes.data.operating import counted, of_all, of_method
from meshlens.axes.data.parts import of_part
from meshlens.axes.data.pipelines import part_of_held, set_at
from meshlens.axes.data.running_averages import note_combined_outside
from meshlens.axes.data.shapes import shape_of_result
from meshlens.axes.data.slices import note_slices, of_verdict_on, sum_of_state
from meshlens.axes.data.typed_shardings import with_sharding
from meshlens.axes.domain.constants import joined, parts_of, tested, text_of_method
from meshlens.axes.domain.joining import entry_of_table, labels_of, variation_of
from meshlens.axes.domain.keys import SOME_KEY, as_value, key_of
from meshlens.axes.domain.labels import (
    INTEGERS,
    NONE,
    UNPLACED,
    WEIGHS_CORNERS,
    of_kinds,
    of_number,
    of_verdict,
    travelling,
)
from meshlens.axes.domain.values import (
    UNKNOWN,
    Arg,
    Class,
    Const,
    Data,
    Dict,
    Function,
    Instance,
    Made,
    Mapped,
    Seq,
    Value,
    Wrapped,
)
from meshlens.axes.domain.variation import ANYTHING
from meshlens.axes.jax import modules, optimizers, parameter_trees, traced, train_states
from meshlens.axes.jax.carrying import in_structure
from meshlens.axes.jax.collecting import note_uses
from meshlens.axes.jax.command_lines import call_parser
from meshlens.axes.jax.libraries import consume, of_layer
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.python.builtin_calls import MATCH, PATTERN, call_builtin
from meshlens.axes.python.tables import call_table
from meshlens.axes.python.unknown_calls import call_unknown
from meshlens.axes.runs.heap import altered
from meshlens.axes.runs.invocation import Invocation, from_inside
from meshlens.axes.runs.records import ApiCall, GradientUse
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.scopes import CONTEXT_VARIABLE, Place, put
from meshlens.jaxapi.collectives import NAMED_METHODS
from meshlens.jaxapi.concrete import CONCRETE_METHODS
from meshlens.jaxapi.consumers import consumer
from meshlens.jaxapi.known_names import OPTIMIZERS_IN_PLACE
from meshlens.jaxapi.layers import METHODS_OF_ROWS, PARAMETERS
from meshlens.jaxapi.libraries import CHECKPOINTERS, GENERATORS, INIT_METHODS, VERDICTS

_OPAQUE = frozenset({"opaque"})
_MAY_REPEAT = frozenset({"uniform"})
_LOWERED = "jax.stages.Lowered"


def call_method(run: Run, receiver: Value, dotted: str, call: Invocation) -> Value:
    """Returns the result of calling a method of a value."""
    args, site = call.args, call.site
    name = dotted.rsplit(".", 1)[-1]
    if name == "apply":
        noise.handed_to_model(run, receiver, call)
    if isinstance(receiver, Class):
        return train_states.created(dotted, args, site) or call_unknown(run, call.of(receiver, call.args))
    if isinstance(receiver, Instance) and dotted == "typing.NamedTuple._replace":
        is_told = all(arg.label not in (None, "*", "**") for arg in args)
        return altered(run, receiver, args, site) if is_told else call_unknown(run, call.of(receiver, args))
    if isinstance(receiver, Instance):
        return modules.call_module_method(run, receiver, dotted, call)
    if isinstance(receiver, Data) and name == "flat_state":
        state = (Arg(None, receiver, None, None),)
        return parameter_trees.flat_state(run, call.of(receiver, state)) or UNKNOWN
    if isinstance(receiver, Data):
        if name in CONCRETE_METHODS:
            traced.note_method(run, name, receiver, call)
        result = _of_array(run, receiver, name, call)
        if not isinstance(result, Data) or not (receiver.labels or call.ctx.env.maps):
            return result
        given = (Arg(None, receiver, None, None), *args)
        result = fillers.of_call(run, f"jax.numpy.{name}", given, result, site, call.ctx)
        if call.ctx.env.maps:
            verdict = of_verdict_on(f"jax.numpy.{name}", given, site)
            result = replace(result, labels=result.labels | verdict) if verdict else result
            result = of_part(run, name, given, result, site, call.ctx)
            return of_call(run, f"jax.numpy.{name}", given, result, site, call.ctx)
        result = moments.of_call(name, given, result)
        note_combined_outside(run, name, given, site, call.ctx)
        return with_sharding(run, f"jax.numpy.{name}", given, result, site, call.ctx)
    if isinstance(receiver, Dict):
        return _of_dict(run, receiver, name, call)
    if isinstance(receiver, Seq):
        return Seq("list", (*receiver.items,), True) if name in ("copy",) else UNKNOWN
    if isinstance(receiver, Const):
        return _of_string(receiver, name, args)
    if isinstance(receiver, (Mapped, Wrapped)):
        return _of_transformed(run, receiver, name, call)
    if isinstance(receiver, Made) and receiver.dotted in PARAMETERS and name == "get_value":
        return arrays.held_in(receiver)
    if isinstance(receiver, Made):
        return _of_made(run, receiver, name, call)
    return call_unknown(run, call.of(receiver, call.args))


def _of_array(run: Run, receiver: Data, name: str, call: Invocation) -> Value:
    args, site, callee_site, ctx = call.args, call.site, call.callee_site, call.ctx
    labels = of_verdict(receiver.labels) if name in VERDICTS else travelling(receiver.labels)
    for arg in args:
        labels |= travelling(labels_of(arg.value))
    over = of_method(receiver, name, args)
    if name == "reshape":
        wanted = args[0].value if len(args) == 1 else Seq("tuple", tuple(arg.value for arg in args))
        if any(arg.label == "*" for arg in args):
            before = takewhile(lambda arg: arg.label is None, args)
            wanted = Seq("tuple", tuple([arg.value for arg in before]), True)
        sizes = arrays.sizes(wanted)
        kept = receiver.labels & {"devices", "uniform", "in-order", INTEGERS} | part_of_held(receiver)
        if arrays.splits_rows(wanted) and not ctx.env.maps and "uniform" not in kept:
            kept |= {"sharded"}
        if any(arg.label == "order" for arg in args):
            kept -= {"in-order"}
        result = Data(labels | kept, arrays.reshaped(receiver.shape, sizes), over=over)
        if receiver.shape is not None and ctx.env.maps:
            given = (Arg(None, receiver, None, None), Arg("shape", wanted, None, None))
            note_combined(run, "jax.numpy.reshape", given, site, ctx)
        run.records.calls.append(
            ApiCall(
                "numpy.ndarray.reshape",
                site,
                callee_site,
                (Arg("self", receiver, None, callee_site), *args),
                result,
                ctx,
            )
        )
        return result
    if name in NAMED_METHODS:
        _named_reduction(run, receiver, name, call)
        if "replicated-result" in receiver.labels and ctx.env.maps == ():
            run.records.calls.append(
                ApiCall(
                    f"numpy.ndarray.{name}",
                    site,
                    callee_site,
                    (Arg("self", receiver, None, callee_site), *args),
                    UNKNOWN,
                    ctx,
                )
            )
        shape = () if not args else shape_of_result(f"jax.numpy.{name}", (Arg(None, receiver, None, None), *args))
        labels = labels if args else of_number(labels)
        if name == "sum" and not args:
            labels |= noise.summed_on_host(run, receiver.labels, site, ctx)
        labels |= {"mean"} if name == "mean" else NONE
        labels |= counted(over, site) if name == "sum" else NONE
        labels |= sum_of_state(receiver.labels) if name == "sum" and not args and ctx.env.maps else NONE
        labels |= _MAY_REPEAT if shape else NONE
        return Data(labels, shape, None, arrays.is_array(receiver), over)
    if name in ("copy", "flatten", "ravel", "argsort"):
        labels |= receiver.labels & {INTEGERS} | integers_from(f"numpy.{name}", args)
    if name in ("astype", "copy", "block_until_ready", "clip", "round"):
        labels |= receiver.labels & {"key", "keys", "fresh", "reduced", "same", "uniform", "unplaced", WEIGHS_CORNERS}
        return Data(labels, receiver.shape, over=over)
    if name == "at_set":
        if ctx.env.maps:
            labels |= set_at(run, receiver, args, site) | corners.set_at(receiver, args, site)
            labels |= set_end(run, receiver, args, ctx)
        return Data(labels, receiver.shape, None, receiver.array, over)
    found = _shape_of_method(receiver, name, args) if receiver.shape is not None else None
    return Data(labels | _MAY_REPEAT, found, over=over) if found is not None else Data(labels, over=over)


def _shape_of_method(receiver: Data, name: str, args: tuple[Arg, ...]) -> arrays.Sizes | None:
    if name == "transpose" and len(args) > 1:
        args = (Arg(None, Seq("tuple", tuple(arg.value for arg in args)), None, None),)
    known = {"flatten": "ravel"}.get(name, name)
    return shape_of_result(f"jax.numpy.{known}", (Arg(None, receiver, None, None), *args))


def _named_reduction(run: Run, receiver: Data, name: str, call: Invocation) -> None:
    args, site, callee_site, ctx = call.args, call.site, call.callee_site, call.ctx
    for place, arg in enumerate(args):
        if arg.label == "axis" or (arg.label is None and place == 0):
            texts = isinstance(arg.value, Const) and isinstance(arg.value.value, str)
            if texts or (
                isinstance(arg.value, Seq)
                and any(isinstance(item, Const) and isinstance(item.value, str) for item in arg.value.items)
            ):
                given = (Arg("self", receiver, None, callee_site), *args)
                run.records.calls.append(ApiCall(f"numpy.ndarray.{name}", site, callee_site, given, UNKNOWN, ctx))
                if not texts and (receiver.shape is not None or receiver.made_by is not None):
                    note_uses(run, name, arg, call, (), travelling(receiver.labels))


def _of_dict(run: Run, receiver: Dict, name: str, call: Invocation) -> Value:
    args = call.args
    values = tuple(value for _, value in receiver.items)
    if receiver.attributes:
        found = call_table(receiver, name, args)
        if found is not None:
            return found
    if name == "items":
        return Seq("list", tuple(Seq("tuple", (as_value(key), value)) for key, value in receiver.items), receiver.open)
    if name == "values":
        return Seq("list", values, receiver.open)
    if name == "keys":
        return Seq("list", tuple(as_value(key) for key, _ in receiver.items), receiver.open)
    if name == "copy":
        return receiver
    if name == "get" and args:
        fallback = args[1].value if len(args) > 1 else Const(None)
        key = key_of(args[0].value)
        if key is not None:
            found = receiver.get(key[0])
            if found is not None:
                return found
            some = receiver.get(SOME_KEY)
            return entry_of_table((some, fallback)) if some is not None else UNKNOWN if receiver.open else fallback
        return entry_of_table((*values, fallback))
    return call_unknown(run, call.of(receiver, call.args))


def _of_string(receiver: Const, name: str, args: tuple[Arg, ...]) -> Value:
    if name == "join" and isinstance(receiver.value, str) and len(args) == 1:
        return _joined(receiver.value, args[0].value)
    if not isinstance(receiver.value, str) or not all(
        isinstance(arg.value, Const) and arg.label is None for arg in args
    ):
        return UNKNOWN
    given = [arg.value.value for arg in args if isinstance(arg.value, Const)]
    if name == "split":
        parts = parts_of(receiver.value, given)
        if parts is None:
            return UNKNOWN
        return Seq("list", tuple(Const(part, receiver.origin, receiver.via) for part in parts))
    if (verdict := tested(receiver.value, name, given)) is not None:
        return Const(verdict)
    text = text_of_method(receiver.value, name, given)
    return Const(text, receiver.origin, receiver.via) if text is not None else UNKNOWN


def _joined(separator: str, parts: Value) -> Value:
    if not isinstance(parts, Seq) or parts.open:
        return UNKNOWN
    text = joined(separator, [part.value if isinstance(part, Const) else None for part in parts.items])
    return Const(text) if text is not None else UNKNOWN


def _of_transformed(run: Run, receiver: Mapped | Wrapped, name: str, call: Invocation) -> Value:
    args = call.args
    if name in ("init", "apply") and isinstance(receiver, Wrapped):
        return modules.call_transformed(run, receiver, name, call)
    if name in ("lower", "trace", "eval_shape"):
        # A plain call would donate arguments.
        run.invoke(call.inside(receiver, args, call.ctx, "run"))
        return Made(_LOWERED, call.site, (("function", receiver),)) if name == "lower" else UNKNOWN
    if isinstance(receiver, Wrapped) and name in ("defvjp", "defjvp", "defjvps"):
        rules = run.heap.setdefault(("custom", receiver.site), {})
        if name == "defvjp" and len(args) >= 2:
            rules["forward"], rules["backward"] = args[0].value, args[1].value
        elif args:
            rules["backward"] = args[0].value
        for arg in args:
            _note_named(run, arg.value)
    return Const(None)


def _note_named(run: Run, value: Value) -> None:
    if isinstance(value, Function):
        run.entered.add(value.site)


def _of_match(match: Made, name: str, args: tuple[Arg, ...]) -> Value:
    """Returns what a group of a regular expression matched, or what all of its groups matched."""
    groups = dict(match.arguments)
    if name == "groups" and not args:
        return Seq("tuple", tuple([text for group, text in groups.items() if str(group).isdigit() and group != "0"]))
    wanted = [arg.value.value for arg in args if isinstance(arg.value, Const)] if args else [0]
    if name != "group" or len(wanted) != max(len(args), 1):
        return UNKNOWN
    found = tuple([groups.get(str(group), UNKNOWN) for group in wanted])
    return found[0] if len(found) == 1 else Seq("tuple", found)


def _of_made(run: Run, receiver: Made, name: str, call: Invocation) -> Value:
    args = call.args
    if (read := call_parser(run, receiver, name, call)) is not None:
        return read
    if receiver.dotted == PATTERN:
        whole = (Arg(None, dict(receiver.arguments)["pattern"], None, None), *args)
        found = call_builtin(run, f"re.{name}", call.of(receiver, whole))
        return found if found is not None else UNKNOWN
    if receiver.dotted == MATCH:
        return _of_match(receiver, name, args)
    if receiver.dotted == _LOWERED:
        return _compiled(receiver) if name == "compile" else UNKNOWN
    if receiver.dotted == CONTEXT_VARIABLE:
        place = Place(receiver.site, "")
        known = run.scoped.get(place, UNKNOWN)
        if name == "set" and args:
            put(run, place, args[0].value, known, bool(call.ctx.conditional))
        return known if name == "get" else UNKNOWN
    if name == "save" and receiver.dotted in CHECKPOINTERS and not call.ctx.env.maps:
        parameters = CHECKPOINTERS[receiver.dotted]
        saved = by_parameter(parameters, args).get(parameters[-1])
        if saved is not None:
            noise.note_saved(run, saved, call.ctx)
    row = consumer(receiver.dotted)
    if row is not None and row.when == name:
        consume(run, receiver, row, call)
    if name == "update" and args and optimizers.clips_by_norm(receiver):
        note_slices(run, args[0].value, call.site, call.ctx)
    composed = optimizers.call_composed(run, receiver, name, call)
    if composed is not None:
        return composed
    if name == "update" and receiver.dotted in OPTIMIZERS_IN_PLACE:
        note_updated(run, args, call.ctx)
        note_step(run, args, call)
    elif name == "update" and optimizers.reduces_nothing(receiver):
        note_step(run, args[:1], call)
    elif name == "update":
        note_unreduced_step(run, args[:1], call)
    if name == "apply_gradients":
        note_step(run, args, call)
        _step_of_state(run, receiver, call)
    if name in INIT_METHODS:
        call_unknown(run, call.of(receiver, call.args))
        if receiver.dotted.startswith("optax."):
            fresh = frozenset({"fresh"}) & (labels_of(args[0].value) if args else NONE)
            return Data(fresh | optimizers.of_state(receiver, args[0].value) if len(args) == 1 else fresh)
        return Data(frozenset({"fresh"}))
    if receiver.dotted in GENERATORS and name in METHODS:
        inputs = [travelling(labels_of(arg.value)) for arg in args if type(arg.value) is not Const]
        made = UNPLACED.union(*inputs, integers_from(name, args, "drawn"))
        return Data(made, drawn(name, args), None, name not in ("choice", "permutation"))
    result = call_unknown(run, call.of(receiver, call.args))
    if train_states.is_state(receiver) and name in ("apply_gradients", "replace"):
        labels = labels_of(result) | (_stepped(run, receiver, call) if name == "apply_gradients" else NONE)
        return replace(receiver, labels=labels, over=variation_of(result))
    if name in METHODS_OF_ROWS and isinstance(result, Data):
        shape = arrays.shape_of(args[0].value) if args else None
        return replace(result, shape=(*shape[:-1], None) if shape else None, over=of_layer(run, receiver, result, args))
    if name == "update" and receiver.dotted.startswith("optax.") and isinstance(result, Data):
        came = labels_of(args[0].value) if args else NONE
        # An optimizer scales what it gets, so that a mean of its updates may be one of equal values.
        hidden = {"auto-summed"} | (_OPAQUE - came if optimizers.reduces_nothing(receiver) else NONE)
        over = ANYTHING if optimizers.may_reduce(receiver) else of_all(arg.value for arg in args)
        changed = replace(result, labels=result.labels - hidden, over=over)
        kept = [in_structure(arg.value, changed) for arg in args[:2]]
        if more := optimizers.moments_apart(receiver, args[0]):
            pairs = zip(args, more, strict=False)
            kept = [in_structure(arg.value, replace(changed, labels=changed.labels | own)) for arg, own in pairs]
        return Seq("tuple", tuple(kept)) if len(kept) > 1 else changed
    return Data(labels_of(result) | {"mean"}) if name == "mean" else result


def _compiled(lowered: Made) -> Value:
    """Returns the executable of a lowered function, called in the same way; unknown if it has static arguments."""
    function = dict(lowered.arguments)["function"]
    labels = [arg.label or "" for arg in function.arguments] if isinstance(function, Wrapped) else []
    labels += [name for name, _ in function.binder.arguments] if isinstance(function, Mapped) else []
    return UNKNOWN if any(label.startswith("static") for label in labels) else function


def _stepped(run: Run, state: Made, call: Invocation) -> frozenset[object]:
    """Returns the labels to add to a state that is updated with an unreduced gradient; records the update."""
    grads = next((arg for arg in call.args if arg.label == "grads"), None)
    if grads is None or grads.site is None or "gradient" not in labels_of(grads.value):
        return NONE
    site = grads.site
    wrt = [label[1] for label in of_kinds(labels_of(grads.value), "wrt") if label[1] in state.labels]
    if wrt:
        run.records.gradient_uses.append(GradientUse("stepped", site, None, call.ctx))
    return frozenset([("stepped", site, argument) for argument in wrt])


def _step_of_state(run: Run, state: Made, call: Invocation) -> None:
    """Runs the update of the optimizer held by a training state."""
    tx = train_states.optimizer_of(state)
    grads = next((arg for arg in call.args if arg.label == "grads"), None)
    if tx is None or grads is None:
        return
    given = (Arg(None, grads.value, grads.site, grads.site), *(Arg(None, UNKNOWN, None, None) for _ in range(2)))
    update = optimizers.own_function(tx, "update")
    if update is not None:
        run.invoke(from_inside(update, given, call))
    else:
        optimizers.call_composed(run, tx, "update", call.of(tx, given))
