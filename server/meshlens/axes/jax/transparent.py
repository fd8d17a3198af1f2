"""Runs the operands of transparent transformations in the current environment."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from meshlens.axes.data import pipelines, transfer
from meshlens.axes.data.arrays import count_of, shape_of
from meshlens.axes.data.rings import Turns, counted, counter, note_turns
from meshlens.axes.data.slices import note_chosen
from meshlens.axes.data.transfer import across
from meshlens.axes.data.typed_shardings import anyhow, note_scanned, without_sharding
from meshlens.axes.domain.joining import labels_of, leaves, options, variation_of
from meshlens.axes.domain.labels import NONE, TRACED, travelling, without_dimensions
from meshlens.axes.domain.values import (
    STATIC,
    UNKNOWN,
    Arg,
    Bound,
    Class,
    Const,
    Data,
    Dict,
    Ext,
    Function,
    Instance,
    Mapped,
    Partial,
    Seq,
    Site,
    Union,
    Value,
    Wrapped,
)
from meshlens.axes.domain.variation import ZEROS, is_apart, is_same
from meshlens.axes.jax.carrying import branches_joined, carried, note_branches, note_carried, note_left
from meshlens.axes.jax.compiled_calls import (
    as_results,
    note_donated,
    note_places,
    note_results,
    note_shardings,
    note_static,
)
from meshlens.axes.jax.custom_rules import run_rules
from meshlens.axes.jax.differentiation import call_gradient
from meshlens.axes.jax.mapped_values import axis_of, is_shared
from meshlens.axes.jax.naming import by_parameter
from meshlens.axes.jax.padding import padded, unpadded
from meshlens.axes.jax.parameter_trees import with_leaves
from meshlens.axes.jax.traced import arguments_of_jit
from meshlens.axes.jax.tree_maps import (
    Mapping,
    as_tree,
    leaf,
    mapped_module,
    mapped_trees,
    mapped_with_paths,
)
from meshlens.axes.python.conditions import truth
from meshlens.axes.python.parameters import with_partial
from meshlens.axes.python.unpacking import element, items_of
from meshlens.axes.runs.context import AxisEnv, Context
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import fields_of, with_fields
from meshlens.jaxapi.names import canonical
from meshlens.jaxapi.transparent import COMPILES, STACKING, Transparent

_WRAPPERS = frozenset(
    {
        "same",
        "pad",
        "lift",
        "grad",
        "value_and_grad",
        "jacobian",
        "make_jaxpr",
        "checkify",
        "forward_backward",
        "transform",
        "apply",
        "init",
        "with_state",
    }
)
_CHANGE_TYPES = (".auto_axes", ".explicit_axes")
"""The transformations that change which axes are explicit."""
_RESHARDED = {"in_shardings": "args", "out_shardings": "result"}
_CALLS = frozenset({"run", "thread", "submit"})
_MOST_FOLDED = 16
"""Maximum number of items of a `functools.reduce` that is followed item by item."""
_NOUGHTS = (Const(0), Const(0.0))
_WITH_PATH = "jax.tree.map_with_path"


def apply_transparent(
    run: Run,
    row: Transparent,
    dotted: str,
    call: Invocation,
) -> Value:
    """Returns the value of `jit(f)`, or the result of `scan(f, init, xs)` after running `f`."""
    args, site = call.args, call.site
    if not row.operands:
        return Ext("meshlens.identity")
    found = by_parameter(row.parameters, args)
    operands = [found[name] for name in row.operands if name in found]
    if not operands:
        return Partial(Ext(dotted), args, site)
    if row.how in _WRAPPERS:
        rest = tuple(arg for name, arg in found.items() if name not in row.operands)
        value = operands[0].value
        if isinstance(value, Class) and row.how != "with_state":
            if dotted.rpartition(".")[2] in STACKING:
                run.stacked.add(value.site)
            return value
        if not is_callable(value):
            return Data(travelling(labels_of(value)))
        labelled = tuple(
            Arg(name, arg.value, arg.whole, arg.site) for name, arg in found.items() if name not in row.operands
        )
        if isinstance(value, Mapped) and canonical(dotted) in COMPILES:
            value = Mapped(replace(value.binder, compiled=True))
        return Wrapped(row.how, dotted, value, site, labelled if len(labelled) == len(rest) else rest)
    if row.how in ("partial", "partialmethod"):
        return _partial(operands[0].value, _without(args, operands[0]), site)
    return _run_now(run, row, found, operands, call)


def _partial(callee: Value, args: tuple[Arg, ...], site: Site) -> Partial:
    """Returns a partial; merges a partial of a partial, as Python does, so chains stay shallow."""
    if isinstance(callee, Partial):
        return Partial(callee.callee, with_partial(callee, args), site)
    return Partial(callee, args, site)


def is_callable(value: Value) -> bool:
    """Returns whether a value is or may be callable."""
    if isinstance(value, Union):
        return any(is_callable(option) for option in value.options)
    return not isinstance(value, (Data, Const, Seq)) or (isinstance(value, Data) and not value.labels)


def _without(args: tuple[Arg, ...], operand: Arg) -> tuple[Arg, ...]:
    return tuple(arg for arg in args if arg is not operand)


def call_wrapped(run: Run, wrapped: Wrapped, call: Invocation) -> Value:
    """Calls the result of a transparent transformation."""
    args, site, ctx = call.args, call.site, call.ctx
    if wrapped.how in ("grad", "value_and_grad", "jacobian"):
        return call_gradient(run, wrapped, call)
    if wrapped.how in ("apply", "init"):
        return Data(frozenset({"fresh"}) if wrapped.how == "init" else frozenset())
    if wrapped.how == "transform":
        return UNKNOWN
    if wrapped.dotted == "meshlens.unknown":
        inner = ctx._replace(env=replace(ctx.env, open=True), sure=False)
        return run.invoke(call.inside(wrapped.operand, args, inner, "run"))
    if wrapped.how == "pad":
        given = padded(wrapped, args)
        return unpadded(wrapped, run.invoke(call.inside(wrapped.operand, given, ctx, "call")))
    how = "jit" if canonical(wrapped.dotted) in COMPILES else "run"
    if how == "jit":
        note_shardings(run, wrapped, args, site, ctx)
        note_places(run, wrapped, call)
    resharded = _resharded(wrapped)
    if "args" in resharded:
        args = tuple([replace(arg, value=anyhow(arg.value)) for arg in args])
    inner_args = arguments_of_jit(wrapped, args, site) if how == "jit" else args
    value = run.invoke(call.inside(wrapped.operand, inner_args, ctx, how))
    if "result" in resharded:
        value = anyhow(value)
    # Not for flax.nnx, which puts new arrays into the objects passed to the function.
    if how == "jit" and wrapped.dotted.startswith(("jax.", "equinox.")):
        said = [(arg.label, arg.value) for arg in wrapped.arguments]
        note_donated(run, said, wrapped.operand, call, value)
        note_static(run, said, wrapped.operand, call)
    if how == "jit":
        note_results(run, wrapped, value, call)
        if not ctx.env.maps and not any(step.how == "jit" for step in ctx.route):
            out = next((arg.value for arg in wrapped.arguments if arg.label == "out_shardings"), UNKNOWN)
            value = as_results(run, value, out, site)
    value = run_rules(run, wrapped, value, call)
    if wrapped.how == "make_jaxpr":
        return UNKNOWN
    if wrapped.how == "checkify":
        return Seq("tuple", (UNKNOWN, value))
    if wrapped.how == "with_state":
        return Seq("tuple", (value, UNKNOWN))
    return value if wrapped.how == "same" else Data(travelling(labels_of(value)), over=variation_of(value))


def _resharded(wrapped: Wrapped) -> frozenset[str]:
    """Returns which shardings a transformation changes: the arguments' ("args"), the result's ("result"), or both.

    Returns an empty set if it changes none.
    """
    if wrapped.dotted.endswith(_CHANGE_TYPES):
        return frozenset({"args", "result"})
    said = {arg.label for arg in wrapped.arguments}
    return frozenset([word for name, word in _RESHARDED.items() if name in said])


def _run_now(
    run: Run,
    row: Transparent,
    found: dict[str, Arg],
    operands: list[Arg],
    call: Invocation,
) -> Value:
    args, site, ctx = call.args, call.site, call.ctx
    rest = _rest(row, args)

    def run_operand(operand: Arg, given: tuple[Arg, ...], inner: Context = ctx) -> Value:
        place = operand.site or site
        step = "call" if row.how in _CALLS else "run"
        return run.invoke(Invocation(operand.value, given, place, place, call.frame, inner, step))

    def positional(*values: Value) -> tuple[Arg, ...]:
        return tuple(Arg(None, value, None, site) for value in values)

    def given(name: str) -> Value:
        arg = found.get(name)
        return arg.value if arg is not None else UNKNOWN

    def behind(arg: Arg | None, start: Value, stepped: Value) -> Value:
        note_carried(run, start, stepped, arg.site if arg is not None and arg.site is not None else site, ctx)
        return carried(run, start, stepped, site)

    first = operands[0]
    how = row.how
    if how in ("eval_shape", "transposed", "module_call"):
        # Nothing waits for other devices where only shapes are computed.
        return run_operand(first, rest, ctx._replace(branch=None) if how == "eval_shape" else ctx)
    if how in ("vjp", "linearize"):
        run.differentiating += 1
        value = run_operand(first, rest)
        run.differentiating -= 1
        return Seq("tuple", (value, Data(travelling(labels_of(value)))))
    if how == "jvp":
        primals = given(
            row.parameters[row.parameters.index("primals")] if "primals" in row.parameters else row.parameters[1]
        )
        items = primals.items if isinstance(primals, Seq) else (UNKNOWN,)
        value = run_operand(first, positional(*items))
        return Seq("tuple", (value, value))
    if how == "scan":
        inner = ctx if ctx.loop else ctx._replace(loop=True)
        carry = given(row.parameters[1])
        if row.dotted == "jax.lax.scan":
            note_scanned(run, args, site, ctx)
        arrays = given(row.parameters[2])
        item = step_of(run, arrays, site)
        if "reverse" not in {arg.label for arg in args}:
            item = counted(item, arrays, first.site or site)
        outer, run.hops = run.hops, []
        stepped = run_operand(first, positional(carry, item), inner)
        hops, run.hops = run.hops, outer
        if isinstance(stepped, Seq) and len(stepped.items) == 2:
            turns = found.get("xs") if isinstance(arrays, Data) else found.get("length")
            if hops and turns is not None:
                note_turns(run, Turns(carry, stepped.items[0], turns, first.site or site, hops), ctx)
            return Seq(
                "tuple",
                (
                    behind(found.get(row.parameters[1]), carry, stepped.items[0]),
                    _stacked(run, stepped.items[1], site, _Steps(_length(arrays, given("length")), bool(ctx.env.maps))),
                ),
            )
        return Seq("tuple", (stepped, stepped))
    if how == "cond":
        note_chosen(run, given("pred"), ctx)
        returned = _branches(found.get("pred"), operands, rest, site, ctx, run_operand)
        note_branches(run, returned, [arm.site or site for arm in operands], ctx)
        return branches_joined(returned)
    if how == "switch":
        branches = first.value.items if isinstance(first.value, Seq) else (first.value,)
        arms = [Arg(None, branch, first.whole, first.site) for branch in branches]
        returned = _branches(found.get(row.parameters[0]), arms, rest, site, ctx, run_operand)
        note_branches(run, returned, [arm.site or site for arm in arms], ctx)
        return branches_joined(returned)
    if how == "while":
        value = given(row.parameters[-1])
        before = len(run.records.uses)
        run_operand(operands[0], positional(value))
        stepped = run_operand(operands[-1], positional(value))
        if ctx.env.maps and (used := run.records.uses[before:]):
            # At the start, all devices may enter the loop even if they test different values.
            note_left(run, run_operand(operands[0], positional(stepped)), used, operands[0].site or site)
        return behind(found.get(row.parameters[-1]), value, stepped)
    if how == "fori":
        value = given(row.parameters[-1])
        number = replace(STATIC, labels=counter(first.site or site) | {TRACED}, shape=(), array=True)
        outer, run.hops = run.hops, []
        stepped = run_operand(first, positional(number, value))
        hops, run.hops = run.hops, outer
        if hops and given("lower") == Const(0) and (upper := found.get("upper")) is not None:
            note_turns(run, Turns(value, stepped, upper, first.site or site, hops), ctx)
        return behind(found.get(row.parameters[-1]), value, stepped)
    if how == "map":
        arrays = Seq("tuple", tuple([arg.value for arg in _rest_of_map(row, args)]))
        steps = positional(*(step_of(run, array, site) for array in arrays.items))
        return _stacked(run, run_operand(first, steps), site, _Steps(_length(arrays, UNKNOWN)))
    if how in ("builtin_map", "builtin_filter", "tree_map", "tree_map_with_path", "solve", "associative_scan"):
        trees = [
            element(arg.value) if how.startswith("builtin") else leaf(arg.value) for arg in _rest_of_map(row, args)
        ]
        if how == "associative_scan":
            trees = trees * 2
        leaves = positional(UNKNOWN, *trees) if how == "tree_map_with_path" else positional(*trees)
        if how == "tree_map" and len(trees) == 1:
            stops = next((arg for arg in args if arg.label == "is_leaf" and is_callable(arg.value)), None)

            def is_leaf(tree: Value) -> bool:
                return stops is not None and truth(run_operand(stops, positional(tree))) is True

            mapping = Mapping(lambda given: run_operand(first, given), is_leaf if stops is not None else None)
            return mapped_module(run, mapping, _rest_of_map(row, args)[0].value, site)
        if how == "tree_map" and trees:
            return mapped_trees(run, run_operand, first, tuple(arg.value for arg in _rest_of_map(row, args)), site)
        if row.dotted == _WITH_PATH and len(trees) == 1 and all(arg.label is None or _is_off(arg) for arg in args):
            tree = with_leaves(run, _rest_of_map(row, args)[0].value, call)
            return mapped_with_paths(run, run_operand, first, tree, site)
        value = run_operand(first, leaves)
        if how.startswith("tree_map"):
            return as_tree(value)
        return Seq("list", (value,), True) if how.startswith("builtin") else value
    folded = items_of(args[1].value) if how == "builtin_reduce" and len(args) > 1 else None
    if folded is not None and 0 < len(folded) <= _MOST_FOLDED:
        values: list[Value] = [arg.value for arg in args[2:3]]
        values += folded
        total = values[0]
        for item in values[1:]:
            total = run_operand(first, positional(total, item))
        return total
    if how in ("tree_reduce", "builtin_reduce"):
        item = element(args[1].value) if len(args) > 1 else UNKNOWN
        begins_at_zero = given("initializer") in _NOUGHTS
        return run_operand(first, positional(Data(NONE, (), over=ZEROS) if begins_at_zero else item, item))
    if how == "callback":
        inner = ctx._replace(env=AxisEnv(maps=ctx.env.maps), host=True)
        run_operand(first, rest, inner)
        return Data(frozenset().union(*(travelling(labels_of(arg.value)) for arg in rest)) if rest else frozenset())
    run_operand(first, (Arg("*", UNKNOWN, None, None), Arg("**", UNKNOWN, None, None)))
    return UNKNOWN


def _rest(row: Transparent, args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    positional = [arg for arg in args if arg.label is None]
    splats = tuple(arg for arg in args if arg.label in ("*", "**"))
    named = tuple(arg for arg in args if arg.label not in (None, "*", "**") and arg.label not in row.parameters)
    keywords = named if row.how in ("eval_shape", "callback") else ()
    return (*positional[len(row.parameters) :], *splats, *keywords)


def _is_off(arg: Arg) -> bool:
    return arg.label == "is_leaf" and arg.value == Const(None)


def _rest_of_map(row: Transparent, args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    return tuple(arg for arg in args if arg.label in (None, "tree", "xs", "elems"))[1:]


def step_of(run: Run, xs: Value, site: Site) -> Value:
    """Returns the slice of a `scan`'s arrays that each step gets."""
    if isinstance(xs, Seq) and not xs.open:
        return Seq(xs.kind, tuple(step_of(run, item, site) for item in xs.items))
    if isinstance(xs, Dict) and not xs.open:
        return Dict(tuple((key, step_of(run, item, site)) for key, item in xs.items))
    if isinstance(xs, Instance) and fields_of(run, xs):
        return with_fields(run, xs, lambda _, held: step_of(run, held, site), site)
    if isinstance(xs, Data) and (xs.shape is None or len(xs.shape) > 1):
        part = element(xs)
        return replace(part, over=across(transfer.taken_apart, xs.over)) if isinstance(part, Data) else part
    return xs if isinstance(xs, Const) else element(xs)


class _Steps(NamedTuple):
    """The steps of a loop whose results are stacked.

    Attributes:
        number: how many there are; None if that is unknown.
        in_turn: whether they are those of a `scan` in a map.
    """

    number: int | None
    in_turn: bool = False


def _length(arrays: Value, length: Value) -> int | None:
    """Returns the number of steps of a `scan` over arrays, or of a given length; None if it is unknown."""
    sizes = [shape[0] for one in leaves(arrays) if (shape := shape_of(one))]
    return next((size for size in sizes if size is not None), count_of(length))


def _stacked(run: Run, value: Value, site: Site, steps: _Steps) -> Value:
    """Returns the stacked results of all steps."""
    if isinstance(value, Seq):
        return Seq(value.kind, tuple(_stacked(run, item, site, steps) for item in value.items), value.open)
    if isinstance(value, Dict) and not value.open:
        return Dict(tuple((key, _stacked(run, item, site, steps)) for key, item in value.items))
    if isinstance(value, Instance) and fields_of(run, value):
        return with_fields(run, value, lambda _, held: _stacked(run, held, site, steps), site)
    labels = without_dimensions(labels_of(value))
    if steps.in_turn and labels:
        labels |= pipelines.stacked(run, value, site)
    of_step = shape_of(value)
    shape = (steps.number, *of_step) if of_step is not None else None
    labels = labels | {"uniform"} if shape is not None else labels
    how = transfer.stacked_rows if of_step is not None and len(of_step) == 1 else transfer.stacked
    return without_sharding(Data(labels, shape, None, shape is not None, across(how, variation_of(value))))


def _branches(
    test: Arg | None, arms: list[Arg], rest: tuple[Arg, ...], site: Site, ctx: Context, run_operand: object
) -> list[Value]:
    """Returns what each branch returns."""
    assert callable(run_operand)
    place_of_test = test.site if test is not None and test.site is not None else site
    divides = test is not None and _differs_between_devices(test.value, ctx)
    return [
        run_operand(arm, rest, ctx._replace(branch=(place_of_test, place)) if divides else ctx)
        for place, arm in enumerate(arms)
    ]


def _differs_between_devices(value: Value, ctx: Context) -> bool:
    """Returns whether a value depends on the device index, a test of unreduced gradients, or a device's own data."""
    labels = labels_of(value)
    if "index" in labels or "varying" not in labels:
        return "index" in labels
    if "judged" in labels:
        return True
    if "data" in labels and ctx.env.names:
        truths = [variation_of(value).over(axis).truth for axis in ctx.env.names]
        return any(map(is_apart, truths)) and all(is_apart(truth) or is_same(truth) for truth in truths)
    for label in labels:
        if not isinstance(label, tuple) or label[0] != "argument":
            continue
        site, place = label[1]
        binder = next((binder for binder in ctx.env.maps if binder.site == site), None)
        if binder is not None and binder.kind == "shard_map" and is_shared(axis_of(binder, place, None)) is False:
            return True
    return False


def wraps_function(value: Value) -> bool:
    """Returns whether a value is a workspace function or wraps one."""
    return any(isinstance(option, (Function, Bound, Mapped, Wrapped, Partial)) for option in options(value))
