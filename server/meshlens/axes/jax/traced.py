"""Values that JAX traces, in places where Python or JAX needs plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from meshlens.axes.data.arrays import is_array, shape_of
from meshlens.axes.domain.joining import variation_of
from meshlens.axes.domain.labels import TRACED
from meshlens.axes.domain.values import Arg, Binder, Const, Data, Dict, Seq, Site, Value, Wrapped
from meshlens.axes.domain.variation import VARYING, is_different
from meshlens.axes.jax.compiled_calls import chosen_by
from meshlens.axes.jax.mapped_values import axis_of, is_shared
from meshlens.axes.jax.naming import by_parameter, underlying
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame, site_of
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run
from meshlens.facts.nodes import Expression
from meshlens.jaxapi.concrete import CONCRETE, CONCRETE_METHODS
from meshlens.jaxapi.names import canonical

_NUMBERS = (bool, float, int)
_MAPS = frozenset({"jax.pmap", "jax.vmap", "jax.shard_map"})
_REQUIRED = frozenset({"any", "only", "key"})
STAGED = frozenset(
    f"jax.numpy.{name}"
    for name in "all any isfinite isnan isinf isclose allclose array_equal sum mean prod max min".split()
)
"""Functions that JAX stages out when it traces, even if their arguments are constants."""
_ORDERED = frozenset({"<", "<=", ">", ">="})
_EQUAL = frozenset({"==", "!="})


def as_traced(value: Value, site: Site) -> Value:
    """Returns an argument as code sees it that JAX traces: its arrays and numbers are tracers.

    Args:
        value: the argument.
        site: the call whose arguments are traced.
    """
    if type(value) is Data:
        return replace(value, labels=value.labels | {TRACED})
    if type(value) is Const:
        return replace(value, traced=site) if type(value.value) in _NUMBERS else value
    if type(value) is Seq:
        return Seq(value.kind, tuple([as_traced(item, site) for item in value.items]), value.open)
    if type(value) is Dict and not value.attributes:
        return Dict(tuple([(key, as_traced(item, site)) for key, item in value.items]), value.open)
    return value


def arguments_of_jit(wrapped: Wrapped, args: tuple[Arg, ...], site: Site) -> tuple[Arg, ...]:
    """Returns the arguments of a jitted function as it sees them: those that are not static are traced.

    Args:
        wrapped: the jitted function.
        args: the arguments.
        site: the call.
    """
    if canonical(wrapped.dotted) != "jax.jit" or any(arg.label in ("*", "**") for arg in (*args, *wrapped.arguments)):
        return args
    said = [given.value for given in wrapped.arguments if given.label in ("static_argnums", "static_argnames")]
    known = underlying(wrapped.operand)
    if not _fits(known[1] if known is not None else None, args, said):
        return args
    static = [id(arg) for arg in chosen_by(said, wrapped.operand, args)]
    return tuple([arg if id(arg) in static else replace(arg, value=as_traced(arg.value, site)) for arg in args])


def _fits(parameters: tuple[tuple[str, str, bool], ...] | None, args: tuple[Arg, ...], said: Sequence[Value]) -> bool:
    """Returns whether a call passes every required argument, and it is known which of its arguments are static.

    Args:
        parameters: the name, kind and presence of a default of each parameter; None if they are unknown.
        args: the arguments.
        said: the positions and names of static parameters. JAX takes each from the other.
    """
    labels = [arg.label for arg in args]
    if parameters is None:
        return not said
    rest = parameters[labels.count(None) :]
    if any(not has_default and how in _REQUIRED and name not in labels for name, how, has_default in rest):
        return False
    items = [item for value in said for item in (value.items if isinstance(value, Seq) else (value,))]
    told = [item.value for item in items if isinstance(item, Const)]
    names = [name for name, _, _ in parameters]
    if len(told) < len(items) or any(isinstance(value, Seq) and value.open for value in said):
        return False
    # A wrapper that takes any arguments may have another signature, and a position may also be passed by name.
    is_open = any(how in ("*", "**") for _, how, _ in parameters)
    by_position = any(type(one) is int for one in told)
    positions = [one for one in told if type(one) is int and not 0 <= one < len(names)]
    unknown = [one for one in told if type(one) is str and one not in names]
    return not said or not (is_open or positions or unknown or (by_position and any(labels)))


def arguments_of_map(binder: Binder, args: tuple[Arg, ...], entered: tuple[Arg, ...], site: Site) -> tuple[Arg, ...]:
    """Returns the arguments as a mapped function sees them: `pmap` traces those that are not static, others their rows.

    Outside `jit`, `shard_map` and `vmap` hand on what they do not split: `shard_map` as an array whose value is known.

    Args:
        binder: the map.
        args: the arguments of the call.
        entered: what each device gets of them.
        site: the call.
    """
    if canonical(binder.dotted) not in _MAPS or any(arg.label in ("*", "**") for arg in args):
        return entered
    static = binder.argument("static_broadcasted_argnums")
    items: tuple[Value, ...] = ()
    if static is not None:
        items = static.value.items if isinstance(static.value, Seq) else (static.value,)
    numbers = [item.value for item in items if isinstance(item, Const) and type(item.value) is int]
    if len(numbers) < len(items) or any(number >= len(args) for number in numbers):
        return entered
    return tuple(
        [
            replace(arg, value=as_traced(arg.value, site))
            if (
                place not in numbers if binder.kind == "pmap" else is_shared(axis_of(binder, place, arg.label)) is False
            )
            else arg
            for place, arg in enumerate(entered)
        ]
    )


def is_traced(value: Value, ctx: Context) -> bool:
    """Returns whether a value is certainly a tracer here, or a tree of tracers; callbacks get arrays."""
    if ctx.host:
        return False
    if type(value) is Const:
        return value.traced is not None and any(step.site == value.traced for step in ctx.route)
    return type(value) is Data and TRACED in value.labels


def is_traced_array(value: Value, ctx: Context) -> bool:
    """Returns whether a value is certainly one tracer."""
    return is_traced(value, ctx) and (type(value) is Const or is_array(value) or shape_of(value) is not None)


def of_operation(result: Value, values: tuple[Value, ...], ctx: Context) -> Value:
    """Returns the result of an operation, which is a tracer if one of its operands is."""
    traced = next((value for value in values if is_traced(value, ctx)), None)
    if traced is None:
        return result
    if type(result) is Const:
        return replace(result, traced=traced.traced) if type(traced) is Const else result
    return replace(result, labels=result.labels | {TRACED}, array=True) if type(result) is Data else result


def of_function(result: Data, name: str, ctx: Context) -> Data:
    """Returns the result of a function of `jax.numpy`, which is a tracer in compiled code, whatever it is given."""
    is_staged = name in STAGED and _is_compiled(ctx)
    return replace(result, labels=result.labels | {TRACED}, array=True) if is_staged else result


def _is_compiled(ctx: Context) -> bool:
    """Returns whether JAX certainly compiles the code that runs here; outside `jit`, `shard_map` computes at once."""
    if ctx.host:
        return False
    is_mapped = any(one.kind == "pmap" or one.compiled for one in ctx.env.maps)
    return is_mapped or any(step.how == "jit" for step in ctx.route)


def of_reduction(result: Value, operand: Value, names: Sequence[str], ctx: Context) -> Value:
    """Returns a collective's result, a tracer in compiled code if its operand is one, as a device's own value is.

    Args:
        result: the result.
        operand: what is reduced.
        names: the axes.
        ctx: the context.
    """
    if not _is_compiled(ctx) or type(result) is not Data or TRACED in result.labels:
        return result
    over = variation_of(operand)
    is_of_device = any(is_different(along.truth) or along.typed == VARYING for along in map(over.over, names))
    if not is_of_device and not is_traced(operand, ctx):
        return result
    return replace(result, labels=result.labels | {TRACED}, array=True)


def of_comparison(result: Value, operator: str, values: list[Value], ctx: Context) -> Value:
    """Returns the result of a comparison, which is a tracer if a tracer is compared with a number or an array."""
    if operator in _ORDERED or (operator in _EQUAL and any(is_traced_array(value, ctx) for value in values)):
        return of_operation(result, tuple(values), ctx)
    return result


def note_needed(run: Run, value: Value, site: Site, ctx: Context) -> None:
    """Notes that the plain value of a tracer is needed, unless unseen code or a handler decides whether it is."""
    if is_traced(value, ctx) and not (run.api_guard or ctx.conditional):
        run.records.gradient_uses.append(GradientUse("value-needed", site, None, ctx))


def note_condition(run: Run, value: Value, node: Expression, frame: Frame, ctx: Context) -> None:
    """Notes that Python decides by the truth of an expression whose value is a tracer."""
    if is_traced_array(value, ctx) and not (run.api_guard or ctx.conditional):
        run.records.gradient_uses.append(GradientUse("truth-needed", site_of(frame, node), None, ctx))


def note_call(run: Run, name: str, call: Invocation) -> None:
    """Notes the arguments of a call that are traced, although the function needs their values."""
    row = CONCRETE[name]
    given = by_parameter(row.parameters, call.args)
    needed = call.args if "*" in row.needed else [given[name] for name in row.needed if name in given]
    for arg in needed:
        _note_in(run, arg, call)


def note_method(run: Run, name: str, array: Value, call: Invocation) -> None:
    """Notes a call of a method of an array that needs the value of the array or of an argument."""
    if CONCRETE_METHODS[name] == "array":
        note_needed(run, array, call.site, call.ctx)
        return
    for arg in call.args:
        if arg.label not in ("axis", "order", "copy"):
            _note_in(run, arg, call)


def _note_in(run: Run, arg: Arg, call: Invocation) -> None:
    value = arg.value
    site = arg.site if arg.site is not None else call.site
    for item in value.items if type(value) is Seq else (value,):
        note_needed(run, item, site, call.ctx)


def note_index(run: Run, container: Value, index: Value, site: Site, ctx: Context) -> None:
    """Notes a slice with a traced bound, and a traced key of a list, tuple or dictionary."""
    if type(index) is Seq and index.kind in ("slice", "tuple"):
        for item in index.items:
            if index.kind == "slice" or (type(item) is Seq and item.kind == "slice"):
                for bound in item.items if type(item) is Seq else (item,):
                    note_needed(run, bound, site, ctx)
    elif type(container) is Seq or type(container) is Dict:
        note_needed(run, index, site, ctx)
