"""Runs loops: item by item if the items are known, otherwise until nothing changes, at most twice."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.data.rings import counter
from meshlens.axes.domain.joining import join, join_all
from meshlens.axes.domain.leaving import LEFT_LOOP, RAISED, RETURNED, SKIPPED, joined
from meshlens.axes.domain.values import STATIC, UNKNOWN, Data, Dict, Instance, Seq, Site, Value
from meshlens.axes.jax.traced import note_condition
from meshlens.axes.python import conditions
from meshlens.axes.python.assign import assign
from meshlens.axes.python.expressions import evaluate
from meshlens.axes.python.iterating import iterated
from meshlens.axes.python.unpacking import elements
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame, site_of
from meshlens.axes.runs.heap import is_counted
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import fields_of, with_fields
from meshlens.axes.worth.forgetting import forget
from meshlens.facts.nodes import Call, Expression, For, Name, While


def run_for(run: Run, node: For, frame: Frame, ctx: Context) -> str | None:
    """Runs a `for` loop."""
    target, iterable, body, orelse = node.target, node.iterable, node.body, node.orelse
    whole = evaluate(run, iterable, frame, ctx)
    values, exact = elements(iterated(run, whole, site_of(frame, iterable), frame, ctx))
    inner = ctx if ctx.loop else ctx._replace(loop=True)
    if exact and not values:
        return run.execute(orelse, frame, ctx) if orelse else None
    frame.open_loops += not exact
    run.open_loops += not exact
    turns = values if exact else _turns(values)
    if not exact and _is_range(iterable, frame):
        turns = [replace(STATIC, labels=counter(site_of(frame, node)), shape=())]
    share = run.begin_loop()
    is_first = True
    for value in turns:
        if not (is_first or run.may_go_on()):
            forget(run, (target, *body), frame, ctx)
            break
        is_first = False
        before = dict(frame.vars)
        assign(run, target, value, frame, ctx)
        left = run.execute(body, frame, inner)
        if left in (RETURNED, RAISED, SKIPPED) and exact:
            run.end_loop(share)
            return left
        if left == LEFT_LOOP:
            break
        if not exact and frame.vars != before:
            frame.vars = _after_iterations(run, before, frame.vars, site_of(frame, node))
            if not run.may_go_on():
                forget(run, (target, *body), frame, ctx)
                break
            if value is not turns[-1]:
                # The turns after it see what it has changed.
                continue
            assign(run, target, value, frame, ctx)
            run.execute(body, frame, inner)
            frame.vars = _after_iterations(run, before, frame.vars, site_of(frame, node))
    run.end_loop(share)
    frame.open_loops -= not exact
    run.open_loops -= not exact
    return run.execute(orelse, frame, ctx) if orelse else None


def _turns(values: list[Value]) -> list[Value]:
    """Returns the items for which a loop runs that has others, too; the last one stands for all."""
    if any(value is STATIC for value in values[:-1]):
        return values
    return [*values, join_all(values)] if len(values) > 1 else values or [UNKNOWN]


def _is_range(iterable: Expression, frame: Frame) -> bool:
    """Returns whether an expression is `range(…)` with a step of 1, whose numbers are the same on all devices."""
    if not isinstance(iterable, Call) or not isinstance(iterable.callee, Name) or iterable.callee.name != "range":
        return False
    return frame.find("range") is None and len(iterable.arguments) < 3


def _after_iterations(run: Run, before: dict[str, Value], now: dict[str, Value], site: Site) -> dict[str, Value]:
    """Returns the variables after an unknown number of iterations.

    Lists remember the arrays that each iteration adds, a state that each iteration replaces stays a state, and a number
    that an iteration changes is unknown.
    """
    after = joined(before, now)
    for name, value in now.items():
        was = before.get(name)
        if value is not was and is_counted(was, value):
            after[name] = STATIC
        elif isinstance(value, Instance) and isinstance(was, Instance) and value is not was and value.cls == was.cls:
            after[name] = _either_state(run, was, value, site)
        elif value is not was and isinstance(value, Seq) and isinstance(was, Seq) and value.kind == was.kind == "list":
            added = value.items[len(was.items) :]
            if added and value.items[: len(was.items)] == was.items and all(map(_is_of_arrays, added)):
                after[name] = Seq("list", (*was.items, join_all(added)), True)
    return after


def _either_state(run: Run, one: Instance, other: Instance, site: Site) -> Value:
    """Returns a state whose fields may come from either state; the union of both if either has no known fields."""
    fields = fields_of(run, one)
    if not fields or not fields_of(run, other):
        return join(one, other)
    return with_fields(run, other, lambda name, held: join(held, fields.get(name, UNKNOWN)), site)


def _is_of_arrays(value: Value) -> bool:
    """Returns whether a value is an array, an object or a table of these, and so certainly not the name of an axis."""
    if isinstance(value, (Seq, Dict)):
        return all(_is_of_arrays(item[1] if isinstance(item, tuple) else item) for item in value.items)
    return isinstance(value, Instance) or (isinstance(value, Data) and (value.array or value.shape is not None))


def run_while(run: Run, node: While, frame: Frame, ctx: Context) -> str | None:
    """Runs a `while` loop."""
    test, body, orelse = node.test, node.body, node.orelse
    begins = evaluate(run, test, frame, ctx)
    truth = conditions.truth(begins)
    note_condition(run, begins, test, frame, ctx)
    if truth is False:
        return run.execute(orelse, frame, ctx) if orelse else None
    inner = ctx if ctx.loop else ctx._replace(loop=True)
    before = dict(frame.vars)
    frame.open_loops += 1
    run.open_loops += 1
    share = run.begin_loop()
    run.execute(body, frame, inner)
    if frame.vars != before:
        frame.vars = _after_iterations(run, before, frame.vars, site_of(frame, node))
        if not run.may_go_on():
            forget(run, (test, *body), frame, ctx)
        else:
            run.execute(body, frame, inner)
    run.end_loop(share)
    frame.open_loops -= 1
    run.open_loops -= 1
    return run.execute(orelse, frame, ctx) if orelse else None
