"""Calls: enters functions with their arguments, and hands every other callee to the file that knows it."""

from __future__ import annotations

from meshlens.axes.data.operating import of_all, of_network
from meshlens.axes.domain.joining import entry_of_table, join_all, labels_of
from meshlens.axes.domain.labels import travelling
from meshlens.axes.domain.values import (
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
    Made,
    Mapped,
    Partial,
    Seq,
    Site,
    Union,
    Value,
    Wrapped,
)
from meshlens.axes.domain.variation import ALIKE, ANYTHING, INVARIANT, SAME, Along, Variation, is_same, of
from meshlens.axes.python.parameters import bind
from meshlens.axes.runs.context import AxisEnv, Context, Step
from meshlens.axes.runs.dependence import header_of
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.ledger import Shared
from meshlens.axes.runs.putting_off import make_up, put_off
from meshlens.axes.runs.run import DEEPEST, Run
from meshlens.axes.runs.same_names import names_given, note_repeated
from meshlens.axes.worth.effort import forget_tables, is_dull, is_followed, memo_key, share, spent, tells
from meshlens.jaxapi.libraries import APPLY


def call(
    run: Run,
    callee: Value,
    args: tuple[Arg, ...],
    site: Site,
    callee_site: Site,
    frame: Frame,
    ctx: Context,
    decorator: bool = False,
    how: str = "call",
) -> Value:
    """What calling a value gives.

    Args:
        run: the run.
        callee: what is called.
        args: its arguments.
        site: the call.
        callee_site: the expression that is called.
        frame: the running frame.
        ctx: the circumstances.
        decorator: whether the call stands behind an `@`, or applies a decorator.
        how: how the step is named in a route: "call", "map", "jit", "grad", "run".
    """
    run.calls += 1
    run.work += 1
    if not run.may_call():
        return UNKNOWN
    if run.too_deep(ctx):
        put_off(run, callee, args, site, ctx, how)
        return UNKNOWN
    if type(callee) is Ext:
        from meshlens.axes.jax.externals import call_external

        return call_external(run, callee.dotted, args, site, callee_site, frame, ctx, decorator)
    if type(callee) is Data:
        return call_unknown(run, args, callee, frame, ctx)
    if isinstance(callee, Function):
        return enter(run, callee, args, site, ctx, how, decorator)
    if isinstance(callee, Bound):
        return _call_bound(run, callee, args, site, callee_site, frame, ctx, how)
    if run.depth >= DEEPEST:
        run.is_brief = True
        return UNKNOWN
    run.depth += 1
    result = _call(run, callee, args, site, callee_site, frame, ctx, decorator, how)
    run.depth -= 1
    return result


def _call(
    run: Run,
    callee: Value,
    args: tuple[Arg, ...],
    site: Site,
    callee_site: Site,
    frame: Frame,
    ctx: Context,
    decorator: bool,
    how: str,
) -> Value:
    """What calling a value gives that holds what is called in the end, or makes something."""
    if isinstance(callee, Partial):
        return call(run, callee.callee, with_partial(callee, args), site, callee_site, frame, ctx, decorator, how)
    if isinstance(callee, Mapped):
        from meshlens.axes.jax.mapping import call_mapped

        return call_mapped(run, callee, args, site, frame, ctx)
    if isinstance(callee, Wrapped):
        from meshlens.axes.jax.transparent import call_wrapped

        return call_wrapped(run, callee, args, site, callee_site, frame, ctx)
    if isinstance(callee, Class):
        from meshlens.axes.python.objects import construct

        return construct(run, callee, args, site, frame, ctx)
    if isinstance(callee, Instance):
        return _call_instance(run, callee, args, site, callee_site, frame, ctx, how)
    if isinstance(callee, Union):
        inner = ctx.picked() if callee.of_table else ctx.under_condition(False)
        results = [
            call(run, option, args, site, callee_site, frame, inner, decorator, how) for option in callee.options
        ]
        return entry_of_table(results) if callee.of_table else join_all(results)
    if isinstance(callee, Made):
        from meshlens.axes.jax.libraries import call_made

        return call_made(run, callee, args, site, frame, ctx)
    return call_unknown(run, args, callee, frame, ctx)


def with_partial(partial: Partial, args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    """The arguments of a call of a partial: its own first, keywords of the call win."""
    given = {arg.label for arg in args if arg.label}
    kept = tuple(arg for arg in partial.args if not (arg.label and arg.label in given))
    return tuple(arg for arg in kept if arg.label is None) + args + tuple(arg for arg in kept if arg.label is not None)


def _call_bound(
    run: Run, bound: Bound, args: tuple[Arg, ...], site: Site, callee_site: Site, frame: Frame, ctx: Context, how: str
) -> Value:
    if isinstance(bound.function, Ext):
        from meshlens.axes.python.methods import call_method

        return call_method(run, bound.receiver, bound.function.dotted, args, site, callee_site, frame, ctx)
    receiver = Arg(None, bound.receiver, None, None)
    return call(run, bound.function, (receiver, *args), site, callee_site, frame, ctx, how=how)


def _call_instance(
    run: Run,
    instance: Instance,
    args: tuple[Arg, ...],
    site: Site,
    callee_site: Site,
    frame: Frame,
    ctx: Context,
    how: str,
) -> Value:
    from meshlens.axes.python.objects import class_attribute

    method = class_attribute(instance.cls, "__call__")
    if method is None:
        return call_unknown(run, args, UNKNOWN, frame, ctx)
    return call(run, Bound(instance, method), args, site, callee_site, frame, ctx, how=how)


def call_unknown(run: Run, args: tuple[Arg, ...], callee: Value, frame: Frame, ctx: Context) -> Value:
    """A callee that is not known: it may call the functions it is given, under names that are not seen."""
    labels = travelling(labels_of(callee))
    for arg in args:
        value = arg.value
        if type(value) is Const or value is UNKNOWN:
            continue
        if type(value) is not Data:
            labels |= travelling(labels_of(value))
            maybe_run(run, value, arg.site, frame, ctx)
        elif value.labels:
            labels |= travelling(value.labels)
    if not labels:
        return UNKNOWN
    from meshlens.axes.data.gradients import drift, gradient_step, may_reduce, without_gradient

    if may_reduce(callee):
        labels = without_gradient(labels)
    parts = [(labels_of(arg.value), arg.site) for arg in args if arg.site is not None]
    labels |= gradient_step(run, labels, tuple(parts), frame, ctx)
    if "of-gradient" in labels and ctx.env.maps:
        labels |= drift([arg.value for arg in args])
    if "varying" in labels:
        labels |= {"opaque"}
    if type(callee) is Data and callee.made_by == APPLY:
        return Data(labels, over=of_network(UNKNOWN, args))
    return Data(labels)


def maybe_run(run: Run, value: Value, site: Site | None, frame: Frame, ctx: Context) -> None:
    """Runs a function that unknown code was handed: it may be called, and more names may be bound then."""
    if isinstance(value, Seq):
        for item in value.items:
            maybe_run(run, item, site, frame, ctx)
        return
    if isinstance(value, Dict):
        for _, item in value.items:
            maybe_run(run, item, site, frame, ctx)
        return
    if site is None or not isinstance(value, (Function, Bound, Partial, Mapped, Wrapped, Union)):
        return
    if isinstance(value, Bound) and not isinstance(value.function, (Function, Mapped, Wrapped)):
        return
    env = AxisEnv(ctx.env.bound, True, ctx.env.maps)
    inner = ctx.perhaps(env)
    splat = (Arg("*", UNKNOWN, None, None), Arg("**", UNKNOWN, None, None))
    call(run, value, splat, site, site, frame, inner, how="run")


def enter(
    run: Run, function: Function, args: tuple[Arg, ...], site: Site, ctx: Context, how: str, decorator: bool = False
) -> Value:
    """Runs the body of a function of the workspace; a decorator always runs, as it decides what a name stands for."""
    begun_altered, overlaid = len(run.altered), run.overlaid
    is_plain = how != "start" and not decorator and is_dull(run, function, args, ctx)
    if is_plain and not is_followed(run, function, args, ctx):
        forget_tables(run, function, args)
        # Whoever calls it passes here, though nothing of the body is read: its file is a neighbour.
        run.deps.add(header_of(function.path, function.block))
        run.weighs(function)
        labels = frozenset().union(*(travelling(labels_of(arg.value)) for arg in args)) if args else frozenset()
        return Data(labels, over=_of_unread(function, args))
    running = run.stack.count(function.site)
    # What this root does not come to any more is not entered by it, so that it may be a root itself.
    if running > 1 or not run.may_enter(ctx):
        return UNKNOWN
    run.enters()
    if ctx.sure or not _is_main(function):
        run.entered.add(function.site)
    values = bind(function, args)
    key = memo_key(run, function, values, ctx)
    names = names_given(values.values()) if key is not None else ()
    if key is not None:
        made = run.memo.get(key)
        if made is not None:
            if names:
                note_repeated(run, run.names.get(key, names), names)
            return made
    if names:
        run.names[key] = names
    is_common = function.frame.parent is None and not run.ambient and not run.epoch
    common = key if is_common and run.shares(function) else None
    if common is not None:
        known = run.find(common)
        if isinstance(known, Shared):
            run.relied.add(known.root)
            run.memo[key] = known.value
            note_repeated(run, known.names, names)
            for number, held in known.heap.items():
                run.heap.setdefault(number, dict(held))
            return known.value
    outside = not ctx.env.maps
    telling = outside and tells(values.values())
    instead = spent(run, function, values, telling, ctx) if outside and how != "start" else None
    if instead is not None:
        forget_tables(run, function, args)
        return instead
    if not run.runs_body(function.site, ctx):
        forget_tables(run, function, args)
        return UNKNOWN
    inner = ctx.inside(Step(site, how, function.name, function.site, ctx.env), function.site)
    given = dict(values) if outside and not telling else {}
    begun, refused = len(run.written), run.refused
    outer = run.begin_call()
    run.stack.append(function.site)
    try:
        result = _run_body(run, function, values, inner)
    finally:
        run.stack.pop()
    if run.later and not run.stack:
        make_up(run)
    run.end_call(outer)
    if len(run.altered) > begun_altered:
        # What it does to what it is given shows where it runs only.
        return result
    if outside and not telling and run.shares(function):
        run.ledger.left[function.site] = Shared(result, run.root, {}, given=given)
    if key is not None:
        run.memo[key] = result
        if common is not None and refused == run.refused and not run.is_brief and run.overlaid == overlaid:
            share(run, common, result, begun, names)
    return result


def _of_unread(function: Function, args: tuple[Arg, ...]) -> Variation:
    """The variation of what a function gives that is not entered: the same everywhere if all that it sees is."""
    if function.frame.parent is not None:
        return ANYTHING
    over = of_all(arg.value for arg in args)
    kept = [(axis, along) for axis, along in over.axes if is_same(along.truth)]
    return of([(axis, ALIKE if along.typed == INVARIANT else Along(SAME)) for axis, along in kept])


def _is_main(function: Function) -> bool:
    """Whether this is a module's `main`: whoever it is handed to, a program begins there."""
    return function.name == "main" and function.frame.parent is None


def _run_body(run: Run, function: Function, values: dict[str, Value], ctx: Context) -> Value:
    from meshlens.axes.python.statements import run_block

    sites = run.world.sites_of(function.path, function.block) if function.body is None else None
    frame = Frame(function.path, function.block, function.frame, sites)
    frame.vars = values
    frame.maps = len(ctx.env.maps)
    frame.parameters = frozenset(values)
    if function.owner is not None:
        frame.owner = function.owner
        first = next(iter(values.values()), None)
        frame.receiver = first if function.kind != "static" else None
    broad, run.broad_guard = run.broad_guard, 0
    run.api_guard -= broad
    given = [(name, values[name]) for name in values if type(values[name]) in (Dict, Seq)]
    frame.given = frozenset([name for name, _ in given])
    run_block(run, run.body(function), frame, ctx)
    if frame.altered:
        known = {name: UNKNOWN if name in frame.blurred else frame.vars.get(name, UNKNOWN) for name in frame.altered}
        run.altered.extend([(value, known[name]) for name, value in given if name in known])
    run.api_guard += broad
    run.broad_guard = broad
    if "generator" in function.flags:
        return Seq("list", (join_all(frame.yielded),), True) if frame.yielded else UNKNOWN
    if not frame.returned:
        return Const(None)
    return join_all(frame.returned)
