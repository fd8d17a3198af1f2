"""Statements: assignments, branches, loops, with and try."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshlens.axes.data.gradients import Operation
from meshlens.axes.data.positions import note_traced
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.leaving import LEFT_LOOP, NEXT_TURN, RAISED, RETURNED, SKIPPED, joined
from meshlens.axes.domain.values import UNKNOWN, Const, Dict, Seq, Value
from meshlens.axes.jax import skipping
from meshlens.axes.jax.traced import note_condition
from meshlens.axes.python import conditions, definitions, guards, imports, loops
from meshlens.axes.python.assign import assign, delete
from meshlens.axes.python.expressions import evaluate
from meshlens.axes.python.operators import binary
from meshlens.axes.runs import spots
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame, site_of
from meshlens.axes.runs.run import DEEPEST, Run
from meshlens.axes.worth.forgetting import forget
from meshlens.axes.worth.words import said_by, speaks_of_axes
from meshlens.facts.nodes import (
    AnnAssign,
    Assert,
    Assign,
    AugAssign,
    Break,
    Continue,
    Delete,
    ExpressionStatement,
    Global,
    If,
    Match,
    Name,
    Nonlocal,
    Pass,
    Raise,
    Return,
    Statements,
)


def run_block(run: Run, statements: Statements, frame: Frame, ctx: Context) -> str | None:
    """Runs statements in order.

    Returns:
        How control is certain to leave the block: "return", "break", "continue", "raise"; None if it may fall through.
    """
    if run.depth >= DEEPEST:
        run.is_brief = True
        forget(run, statements, frame, ctx)
        return None
    run.depth += 1
    run.work += len(statements)
    api_guard = run.api_guard
    for statement in statements:
        if type(statement) is Assign:
            _assign(run, statement, frame, ctx)
        else:
            left = _STATEMENTS[statement.tag](run, statement, frame, ctx)
            if left is not None:
                run.depth -= 1
                run.api_guard = api_guard
                return left
        if frame.exits:
            if "api" in frame.exits:
                run.api_guard = api_guard + 1
            if guards.REPLACED in frame.exits:
                ctx = ctx._replace(guarded=True, expected=True)
            ctx = ctx.under_condition("guarded" in frame.exits)
    run.depth -= 1
    run.api_guard = api_guard
    return None


def _expression(run: Run, node: ExpressionStatement, frame: Frame, ctx: Context) -> str | None:
    evaluate(run, node.value, frame, ctx)
    if guards.enters_context(node.value):
        run.may_set_mesh()
    if guards.replaces_jax(run, node.value, frame, ctx):
        run.may_set_mesh()
        frame.exits |= {guards.REPLACED}
    return SKIPPED if guards.ends_test(run, node.value, frame, ctx) else None


def _assign(run: Run, node: Assign, frame: Frame, ctx: Context) -> None:
    value = evaluate(run, node.value, frame, ctx)
    for target in node.targets:
        is_own = frame.parent is not None and not frame.globals and not frame.nonlocals
        if is_own and type(target) is Name and target.name not in frame.given:
            frame.vars[target.name] = value
        else:
            assign(run, target, value, frame, ctx)
            if guards.assigns_in_jax(target, frame):
                frame.exits |= {guards.REPLACED}


def _annotated(run: Run, node: AnnAssign, frame: Frame, ctx: Context) -> None:
    if node.value is not None:
        assign(run, node.target, evaluate(run, node.value, frame, ctx), frame, ctx)


def _augmented(run: Run, node: AugAssign, frame: Frame, ctx: Context) -> None:
    left = evaluate(run, node.target, frame, ctx)
    right = evaluate(run, node.value, frame, ctx)
    operation = Operation(node.operator, left, right, (node.target, node.value), site_of(frame, node))
    assign(run, node.target, binary(run, operation, frame, ctx), frame, ctx)


def _return(run: Run, node: Return, frame: Frame, ctx: Context) -> str:
    frame.returned.append(evaluate(run, node.value, frame, ctx) if node.value is not None else Const(None))
    return RETURNED


def _raise(run: Run, node: Raise, frame: Frame, ctx: Context) -> str:
    if node.value is not None:
        evaluate(run, node.value, frame, ctx)
    return RAISED


def _if(run: Run, node: If, frame: Frame, ctx: Context) -> str | None:
    test, body, orelse = node.test, node.body, node.orelse
    value = evaluate(run, test, frame, ctx)
    truth = conditions.truth(value)
    note_condition(run, value, test, frame, ctx)
    if truth is not None:
        chosen = body if truth else orelse
        skipping.note_skipped(run, test, orelse if truth else body, frame, ctx)
        return run_block(run, chosen, frame, ctx) if chosen else None
    note_traced(run, value, site_of(frame, test), ctx)
    labels = labels_of(value)
    said = said_by(test)
    api = "version" in labels or said.version
    is_certain = ctx.loop and not labels and conditions.is_now_and_then(test)
    inner = ctx if is_certain else ctx.under_condition(ctx.guarded or ("index" not in labels and said.axes))
    run.api_guard += api
    before = dict(frame.vars)
    conditions.refine(run, test, True, frame, ctx)
    left_body = run_block(run, body, frame, _divergent(inner, labels, node, frame, 0))
    after_body = _as_declared(before, frame.vars) if "TYPE_CHECKING" in said.words else frame.vars
    frame.vars = before
    conditions.refine(run, test, False, frame, ctx)
    left_else = run_block(run, orelse, frame, _divergent(inner, labels, node, frame, 1)) if orelse else None
    run.api_guard -= api
    if api and {left_body, left_else} in ({RETURNED, None}, {NEXT_TURN, None}):
        frame.exits |= {"api"}
    if SKIPPED in (left_body, left_else) and any("device" in word for word in said.words):
        # A test that is skipped where there are too few devices is meant for enough of them.
        left_body, left_else = [RAISED if left == SKIPPED else left for left in (left_body, left_else)]
    return _meet(frame, after_body, left_body, left_else, inner.guarded)


def _as_declared(before: dict[str, Value], declared: dict[str, Value]) -> dict[str, Value]:
    """Returns the variables set under `TYPE_CHECKING`; new constants and containers become unknown.

    At run time, the module's `__getattr__` may return other values for them.
    """
    return {
        name: UNKNOWN if isinstance(value, (Const, Seq, Dict)) and name not in before else value
        for name, value in declared.items()
    }


def _divergent(ctx: Context, labels: frozenset[object], node: If, frame: Frame, arm: int) -> Context:
    if "index" in labels:
        return ctx._replace(branch=(site_of(frame, node.test), arm))
    return ctx


def _meet(
    frame: Frame, after_body: dict[str, Value], left_body: str | None, left_else: str | None, guarded: bool
) -> str | None:
    if left_body is not None and left_else is not None:
        frame.vars = joined(after_body, frame.vars)
        return left_body if left_body == left_else else RETURNED
    if left_body is not None:
        if left_body != RAISED:
            frame.exits |= {"guarded"} if guarded else {"conditional"}
        return None
    if left_else is not None:
        frame.vars = after_body
        if left_else != RAISED:
            frame.exits |= {"guarded"} if guarded else {"conditional"}
        return None
    frame.vars = joined(after_body, frame.vars)
    return None


def _assert(run: Run, node: Assert, frame: Frame, ctx: Context) -> None:
    note_condition(run, evaluate(run, node.test, frame, ctx), node.test, frame, ctx)
    conditions.refine(run, node.test, True, frame, ctx)


def _delete(run: Run, node: Delete, frame: Frame, ctx: Context) -> None:
    for target in node.targets:
        delete(run, target, frame, ctx)


def _global(run: Run, node: Global, frame: Frame, ctx: Context) -> None:
    frame.globals |= frozenset(node.names)


def _nonlocal(run: Run, node: Nonlocal, frame: Frame, ctx: Context) -> None:
    frame.nonlocals |= frozenset(node.names)


def _match(run: Run, node: Match, frame: Frame, ctx: Context) -> str | None:
    subject = evaluate(run, node.subject, frame, ctx)
    inner = ctx.under_condition(ctx.guarded or speaks_of_axes(node.subject))
    before = frame.vars
    after = dict(before)
    is_first = True
    for pattern, guard, body in node.arms:
        fits = conditions.fits(subject, pattern) if guard is None else None
        if fits is False:
            continue
        frame.vars = dict(before)
        if fits and is_first:
            return run_block(run, body, frame, ctx)
        is_first = False
        if guard is not None:
            evaluate(run, guard, frame, inner)
        if run_block(run, body, frame, inner) is None:
            after = joined(after, frame.vars)
        if fits:
            break
    frame.vars = after
    return None


def _pass(run: Run, node: Pass, frame: Frame, ctx: Context) -> None:
    return None


def _break(run: Run, node: Break, frame: Frame, ctx: Context) -> str:
    return LEFT_LOOP


def _continue(run: Run, node: Continue, frame: Frame, ctx: Context) -> str:
    return NEXT_TURN


_STATEMENTS: dict[str, Callable[[Run, Any, Frame, Context], str | None]] = {
    "expr": _expression,
    "assign": _assign,
    "ann": _annotated,
    "aug": _augmented,
    "def": definitions.define_block,
    "fn": definitions.define_function,
    "class": definitions.define_class,
    "return": _return,
    "raise": _raise,
    "if": _if,
    "for": loops.run_for,
    "while": loops.run_while,
    "with": guards.run_with,
    "try": guards.run_try,
    "import": imports.import_modules,
    "from": imports.import_names,
    "global": _global,
    "nonlocal": _nonlocal,
    "del": _delete,
    "assert": _assert,
    "match": _match,
    "break": _break,
    "continue": _continue,
    "pass": _pass,
    spots.WATCHED: spots.run_watched,
}
