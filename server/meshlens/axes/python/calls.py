"""Handles calls: enters functions with their arguments, and passes any other callee to the right module."""

from __future__ import annotations

from meshlens.axes.data.operating import of_all
from meshlens.axes.domain.axis_sizes import are_pairs
from meshlens.axes.domain.classes import class_attribute
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
    Spec,
    Union,
    Value,
    Wrapped,
)
from meshlens.axes.domain.variation import ALIKE, ANYTHING, INVARIANT, SAME, Along, Variation, is_same, of
from meshlens.axes.jax import given_parameters, parameter_trees
from meshlens.axes.jax.externals import call_external
from meshlens.axes.jax.libraries import call_made
from meshlens.axes.jax.mapping import call_mapped
from meshlens.axes.jax.taken_apart import note_called
from meshlens.axes.jax.transparent import call_wrapped
from meshlens.axes.python.context_managers import MANAGED, manager
from meshlens.axes.python.methods import call_method
from meshlens.axes.python.objects import construct
from meshlens.axes.python.parameters import bind, with_partial
from meshlens.axes.python.shared_tables import mark_unclear
from meshlens.axes.python.unknown_calls import call_unknown
from meshlens.axes.runs.context import Context, Step
from meshlens.axes.runs.dependence import header_of
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.ledger import Shared
from meshlens.axes.runs.parameter_scopes import ParameterScope
from meshlens.axes.runs.putting_off import put_off
from meshlens.axes.runs.run import DEEPEST, MOST_CONTEXTS, Run
from meshlens.axes.runs.same_names import names_given, note_repeated
from meshlens.axes.runs.tree_objects import fields_of
from meshlens.axes.worth.effort import (
    MOST_NAMED,
    forget_tables,
    is_dull,
    is_followed,
    is_small_data,
    latest,
    memo_key,
    share,
    spent,
    tells,
    tells_leaves_apart,
)
from meshlens.axes.worth.passed import note_passed
from meshlens.axes.worth.spending import walked
from meshlens.facts.nodes import Break, Continue, Return, Try, While
from meshlens.facts.walking import nodes

_MOST_YIELDED = 16
_MOST_BODIES_OF_TABLE = 24
"""Number of functions of a table after which the rest are not run, if it is unknown which one is called."""
_DEEPEST_DATA = 6
"""Maximum nesting of a function that calls itself on parts of known data, such as the sections of a configuration."""
_MAY_END_EARLY = (Break, Continue, Return, Try, While)
"""Statements by which a generator may yield fewer values than the interpreter sees."""


def invoke(run: Run, call: Invocation) -> Value:
    """Returns the result of calling a value."""
    run.calls += 1
    run.work += 1 + walked(call.callee, call.args)
    limit = run.limit
    if limit is not None and (run.calls > limit.calls or run.work > limit.work):
        run.refused += 1
        return UNKNOWN
    callee = call.callee
    if run.too_deep(call.ctx):
        if run.scope is None:
            put_off(run, call)
        return UNKNOWN
    if type(callee) is Ext:
        return call_external(run, callee.dotted, call)
    if type(callee) is Data:
        return call_unknown(run, call)
    if type(callee) is Function:
        return enter(run, callee, call)
    if type(callee) is Bound:
        return _call_bound(run, callee, call)
    if run.depth >= DEEPEST:
        run.is_brief = True
        return UNKNOWN
    run.depth += 1
    if limit is None:
        # Nested unions of partials can turn one call into a thousand; if they are all alike, none enters a function,
        # which would begin a limit.
        run.begin_call_at_the_top()
    result = _call(run, callee, call)
    if limit is None:
        run.end_call(None)
    run.depth -= 1
    return result


def _call(run: Run, callee: Value, call: Invocation) -> Value:
    """Returns the result of calling a less common value, such as a partial, a mapped function, a class or an object."""
    if isinstance(callee, Partial):
        return invoke(run, call.of(callee.callee, with_partial(callee, call.args)))
    if isinstance(callee, Mapped):
        if run.scope is not None:
            return UNKNOWN
        return call_mapped(run, callee, call)
    if isinstance(callee, Wrapped):
        if run.scope is not None and callee.how != "same":
            return UNKNOWN
        return call_wrapped(run, callee, call)
    if isinstance(callee, Class):
        return construct(run, callee, call)
    if isinstance(callee, Instance):
        method = class_attribute(callee.cls, "__call__")
        if method is None:
            return call_unknown(run, call.of(UNKNOWN, call.args))
        result = invoke(run, call.inside(Bound(callee, method), call.args, call.ctx, call.how))
        note_called(run, callee, result)
        return result
    if isinstance(callee, Union):
        inner = call.ctx.picked() if callee.of_table else call.ctx.under_condition(False)
        begun = run.bodies
        results: list[Value] = []
        for option in callee.options:
            is_spent = callee.of_table and not call.ctx.env.maps and run.bodies - begun > _MOST_BODIES_OF_TABLE
            results.append(UNKNOWN if is_spent else invoke(run, call.perhaps(option, inner)))
        return entry_of_table(results) if callee.of_table else join_all(results)
    if isinstance(callee, Made):
        return call_made(run, callee, call)
    return call_unknown(run, call)


def _call_bound(run: Run, bound: Bound, call: Invocation) -> Value:
    if isinstance(bound.function, Ext):
        return call_method(run, bound.receiver, bound.function.dotted, call)
    receiver = Arg(None, bound.receiver, None, None)
    inner = call.inside(bound.function, (receiver, *call.args), call.ctx, call.how)
    if run.scope is not None:
        return parameter_trees.inside(run, bound.receiver, call, lambda: invoke(run, inner))
    if run.given_parameters is not None and run.given_parameters.names is not None:
        return given_parameters.inside(run, bound.receiver, call, lambda: invoke(run, inner))
    return invoke(run, inner)


def enter(run: Run, function: Function, call: Invocation) -> Value:
    """Calls a workspace function; skips a body not worth running, except a decorator's, which sets a name's value."""
    args, ctx, how = call.args, call.ctx, call.how
    if run.scope is not None:
        return _enter_in_scope(run, run.scope, function, call)
    if run.world.asked == function.site:
        note_passed(run, function, call)
    begun_altered, overlaid = len(run.altered), run.overlaid
    is_plain = how != "start" and not call.decorator and is_dull(run, function, args, ctx)
    if is_plain and not is_followed(run, function, args, ctx):
        forget_tables(run, function, args)
        # Callers pass here even if the body is not read, so the function's file counts as a neighbor.
        run.deps.add(header_of(function.path, function.block))
        run.weighs(function)
        labels = frozenset().union(*(travelling(labels_of(arg.value)) for arg in args)) if args else frozenset()
        return Data(labels, over=_of_unread(function, args))
    running = run.stack.count(function.site)
    # A function beyond this root's budget counts as not entered, so that it may become a root itself.
    of_data = running > 0 and not ctx.env.maps and all(is_small_data(arg.value) for arg in args)
    if running > (_DEEPEST_DATA if of_data else 1) or not run.may_enter(ctx):
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
            if type(made) is Dict or type(made) is Seq:
                mark_unclear(run, made)
            return made
    if names:
        run.names[key] = names
    is_common = function.frame.parent is None and not (run.ambient or run.entered_meshes or run.epoch or run.scoped)
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
    # An answer about one function must not depend on how often others are called.
    is_frugal = outside and how != "start" and not of_data and run.world.asked is None
    instead = spent(run, function, values, telling, ctx) if is_frugal else None
    if instead is not None:
        forget_tables(run, function, args)
        mark_unclear(run, instead)
        return instead
    is_told_apart = outside and run.contexts.get(function.site, 0) and tells_leaves_apart(run, function, values)
    if not run.runs_body(function.site, ctx, MOST_NAMED if is_told_apart or of_data else MOST_CONTEXTS):
        forget_tables(run, function, args)
        return UNKNOWN
    inner = ctx.inside(Step(call.site, how, function.name, function.site, ctx.env), function.site)
    given = dict(values) if outside and not telling else {}
    begun, refused = len(run.written), run.refused
    outer = run.begin_call()
    run.stack.append(function.site)
    try:
        result = _run_body(run, function, values, inner)
    finally:
        run.stack.pop()
    if run.later and not run.stack:
        _make_up(run)
    run.end_call(outer)
    if len(run.altered) > begun_altered:
        # Changes to the arguments of a function show only when it runs.
        return result
    if outside and not telling and not run.scoped and run.shares(function):
        run.ledger.left[function.site] = latest(run, function, result, given)
    # The numbers of a permutation tell what they count; an equal argument may count something else.
    if key is not None and not are_pairs(result):
        run.memo[key] = result
        changes = run.refused, run.overlaid, len(run.ambient)
        if common is not None and changes == (refused, overlaid, 0) and not run.is_brief:
            share(run, common, result, begun, names)
    return result


def _enter_in_scope(run: Run, scope: ParameterScope, function: Function, call: Invocation) -> Value:
    """Calls a workspace function while the parameters of a model are collected, whatever it leads to."""
    ctx = call.ctx
    if run.stack.count(function.site) > 1 or not scope.budget.allows_another():
        return UNKNOWN
    inner = ctx.inside(Step(call.site, call.how, function.name, function.site, ctx.env), function.site)
    run.stack.append(function.site)
    try:
        return _run_body(run, function, bind(function, call.args), inner)
    finally:
        run.stack.pop()


def _make_up(run: Run) -> None:
    """Makes the calls that were postponed, and those that they postpone in turn."""
    if run.begun:
        return
    while waiting := [(key, one) for key, one in run.later.items() if one is not None]:
        for key, one in waiting:
            run.later[key] = None
            if len(run.written) + len(run.altered) == one.written:
                run.begun = len(one.call.ctx.route)
                enter(run, one.function, one.call)
                run.begun = 0


def _of_unread(function: Function, args: tuple[Arg, ...]) -> Variation:
    """Returns the variation of an unentered function's result: the same on all devices if its inputs are."""
    if function.frame.parent is not None:
        return ANYTHING
    over = of_all(arg.value for arg in args)
    kept = [(axis, along) for axis, along in over.axes if is_same(along.truth)]
    return of([(axis, ALIKE if along.typed == INVARIANT else Along(SAME)) for axis, along in kept])


def _is_main(function: Function) -> bool:
    """Returns whether this is a module's `main`, which starts a program even if it is only passed to a function."""
    return function.name == "main" and function.frame.parent is None


def _generated(run: Run, function: Function, frame: Frame) -> Value:
    """Returns what a generator yields: all values in turn if they are known, otherwise any of them.

    The last is then kept apart if it is a smaller batch.
    """
    yielded = frame.yielded
    if not yielded:
        return UNKNOWN
    if frame.yields_all and not frame.returned and len(yielded) <= _MOST_YIELDED:
        ends_early = any(isinstance(node, _MAY_END_EARLY) for node in nodes(run.body(function)))
        if not ends_early and all(map(_is_of_names, yielded)):
            return Seq("list", tuple(yielded))
    one, last = join_all(yielded), yielded[-1]
    is_apart = frame.yields_surely and _is_of_fewer_rows(run, last, yielded[0])
    return Seq("list", (one, last) if is_apart else (one,), True)


def _is_of_names(value: Value) -> bool:
    """Returns whether a value is a name, number or spec, or a sequence of these."""
    if isinstance(value, Seq):
        return not value.open and all(map(_is_of_names, value.items))
    return isinstance(value, (Const, Spec))


def _is_of_fewer_rows(run: Run, last: Value, first: Value) -> bool:
    """Returns whether an array in the last value certainly has fewer rows than the same one in the first value."""
    if isinstance(last, Seq) and isinstance(first, Seq):
        return any(_is_of_fewer_rows(run, *pair) for pair in zip(last.items, first.items, strict=False))
    if isinstance(last, Dict) and isinstance(first, Dict):
        return any(_is_of_fewer_rows(run, held, first.get(key) or UNKNOWN) for key, held in last.items)
    if isinstance(last, Instance) and isinstance(first, Instance):
        pairs = zip((fields_of(run, last) or {}).values(), (fields_of(run, first) or {}).values(), strict=False)
        return any(_is_of_fewer_rows(run, *pair) for pair in pairs)
    if not isinstance(last, Data) or not isinstance(first, Data) or not last.shape or not first.shape:
        return False
    rows, of_first = last.shape[0], first.shape[0]
    return rows is not None and of_first is not None and rows < of_first


def _run_body(run: Run, function: Function, values: dict[str, Value], ctx: Context) -> Value:
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
    given = [(name, value) for name, value in values.items() if type(value) is Dict or type(value) is Seq]
    if given:
        frame.given = frozenset([name for name, _ in given])
    before = run.current() if MANAGED in function.flags else None
    scoped = run.scoped
    if before is not None:
        run.scoped = dict(scoped)
        run.scoping += 1
    run.execute(run.body(function), frame, ctx)
    if frame.altered:
        known = {name: UNKNOWN if name in frame.blurred else frame.vars.get(name, UNKNOWN) for name in frame.altered}
        run.altered.extend([(value, known[name]) for name, value in given if name in known])
    run.api_guard += broad
    run.broad_guard = broad
    if before is not None:
        run.scoped = scoped
        run.scoping -= 1
        return manager(function, frame, before)
    if "generator" in function.flags:
        return _generated(run, function, frame)
    if not frame.returned:
        return Const(None)
    return join_all(frame.returned)
