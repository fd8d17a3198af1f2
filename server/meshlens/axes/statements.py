"""Runs statements: assignments, branches, loops, with and try."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from meshlens.axes import conditions, definitions, imports, skipping
from meshlens.axes.assign import assign, delete
from meshlens.axes.expressions import binary, evaluate, site_of
from meshlens.axes.frames import Frame
from meshlens.axes.joining import join, join_all, labels_of
from meshlens.axes.records import ApiMention, Context
from meshlens.axes.run import Run, mentions, speaks_of_axes
from meshlens.axes.unpacking import elements
from meshlens.axes.values import UNKNOWN, Const, Made, Mesh, Value

RETURNED = "return"
LEFT_LOOP = "break"
NEXT_TURN = "continue"
RAISED = "raise"

_API_ERRORS = frozenset({"ImportError", "AttributeError", "ModuleNotFoundError", "Exception", "BaseException", "TypeError"})
_AXIS_ERRORS = frozenset({"NameError", "Exception", "BaseException", "KeyError", "AssertionError", "ValueError"})
_EXPECTED_TO_RAISE = frozenset({"raises", "assertRaises", "assertRaisesRegex", "assertRaisesWithLiteralMatch", "suppress", "patch", "mock"})
_VERSION_WORDS = frozenset({"hasattr", "__version__", "__version_info__", "version", "jax_version", "getattr", "find_spec", "TYPE_CHECKING"})


def run_block(run: Run, statements: tuple[Any, ...], frame: Frame, ctx: Context) -> str | None:
    """Runs statements in order.

    Returns:
        How the block was left for certain: "return", "break", "continue", "raise"; None if it ran to its end.
    """
    api_guard = run.api_guard
    for statement in statements:
        left = _STATEMENTS[statement[0]](run, statement, frame, ctx)
        if left is not None:
            run.api_guard = api_guard
            return left
        if "api" in frame.exits:
            run.api_guard = api_guard + 1
        if frame.exits and not (ctx.conditional and (ctx.guarded or "guarded" not in frame.exits)):
            ctx = replace(ctx, conditional=True, guarded=ctx.guarded or "guarded" in frame.exits)
    run.api_guard = api_guard
    return None


def _expression(run: Run, node: Any, frame: Frame, ctx: Context) -> None:
    evaluate(run, node[2], frame, ctx)


def _assign(run: Run, node: Any, frame: Frame, ctx: Context) -> None:
    value = evaluate(run, node[3], frame, ctx)
    for target in node[2]:
        assign(run, target, value, frame, ctx)


def _annotated(run: Run, node: Any, frame: Frame, ctx: Context) -> None:
    if node[4] is not None:
        assign(run, node[2], evaluate(run, node[4], frame, ctx), frame, ctx)


def _augmented(run: Run, node: Any, frame: Frame, ctx: Context) -> None:
    left = evaluate(run, node[2], frame, ctx)
    right = evaluate(run, node[4], frame, ctx)
    assign(run, node[2], binary(run, node, node[3], left, right, (node[2], node[4]), frame, ctx), frame, ctx)


def _return(run: Run, node: Any, frame: Frame, ctx: Context) -> str:
    frame.returned.append(evaluate(run, node[2], frame, ctx) if node[2] is not None else Const(None))
    return RETURNED


def _raise(run: Run, node: Any, frame: Frame, ctx: Context) -> str:
    if node[2] is not None:
        evaluate(run, node[2], frame, ctx)
    return RAISED


def _if(run: Run, node: Any, frame: Frame, ctx: Context) -> str | None:
    _, _, test, body, orelse = node
    value = evaluate(run, test, frame, ctx)
    truth = conditions.truth(value)
    if truth is not None:
        chosen = body if truth else orelse
        skipping.note_skipped(run, test, orelse if truth else body, frame, ctx)
        return run_block(run, chosen, frame, ctx) if chosen else None
    labels = labels_of(value)
    api = "version" in labels or mentions(test, _VERSION_WORDS)
    inner = replace(ctx, conditional=True, guarded=ctx.guarded or (speaks_of_axes(test) and "index" not in labels))
    run.api_guard += api
    before = dict(frame.vars)
    conditions.refine(run, test, True, frame, ctx)
    left_body = run_block(run, body, frame, _divergent(inner, labels, node, frame, 0))
    after_body = frame.vars
    frame.vars = before
    conditions.refine(run, test, False, frame, ctx)
    left_else = run_block(run, orelse, frame, _divergent(inner, labels, node, frame, 1)) if orelse else None
    run.api_guard -= api
    if api and {left_body, left_else} in ({RETURNED, None}, {NEXT_TURN, None}):
        frame.exits |= {"api"}
    return _meet(frame, after_body, left_body, left_else, inner.guarded)


def _divergent(ctx: Context, labels: frozenset[object], node: Any, frame: Frame, arm: int) -> Context:
    if "index" in labels:
        return replace(ctx, branch=(site_of(frame, node[2]), arm))
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


def joined(left: dict[str, Value], right: dict[str, Value]) -> dict[str, Value]:
    """The variables after two ways meet; one that is set on one way only keeps its value."""
    if left == right:
        return left
    result = dict(left)
    for name, value in right.items():
        known = result.get(name)
        result[name] = value if known is None or known is value else join(known, value)
    return result


def _for(run: Run, node: Any, frame: Frame, ctx: Context) -> str | None:
    _, _, target, iterable, body, orelse = node
    values, exact = elements(evaluate(run, iterable, frame, ctx))
    inner = ctx if ctx.loop else replace(ctx, loop=True)
    if exact and not values:
        return run_block(run, orelse, frame, ctx) if orelse else None
    turns = values if exact else [*values, join_all(values)] if values else [UNKNOWN]
    for value in turns:
        before = dict(frame.vars)
        assign(run, target, value, frame, ctx)
        left = run_block(run, body, frame, inner)
        if left in (RETURNED, RAISED) and exact:
            return left
        if left == LEFT_LOOP:
            break
        if not exact and frame.vars != before:
            frame.vars = joined(before, frame.vars)
            assign(run, target, value, frame, ctx)
            run_block(run, body, frame, inner)
            frame.vars = joined(before, frame.vars)
    return run_block(run, orelse, frame, ctx) if orelse else None


def _while(run: Run, node: Any, frame: Frame, ctx: Context) -> str | None:
    _, _, test, body, orelse = node
    truth = conditions.truth(evaluate(run, test, frame, ctx))
    if truth is False:
        return None
    inner = ctx if ctx.loop else replace(ctx, loop=True)
    before = dict(frame.vars)
    run_block(run, body, frame, inner)
    if frame.vars != before:
        frame.vars = joined(before, frame.vars)
        run_block(run, body, frame, inner)
    return run_block(run, orelse, frame, ctx) if orelse else None


def _with(run: Run, node: Any, frame: Frame, ctx: Context) -> str | None:
    ambient = len(run.ambient)
    guards = 0
    for expression, target in node[2]:
        value = evaluate(run, expression, frame, ctx)
        if mentions(expression, _EXPECTED_TO_RAISE):
            ctx = replace(ctx, guarded=True, conditional=True, expected=True)
            guards += 1
        if isinstance(value, Made) and value.dotted in ("jax.set_mesh", "jax.sharding.use_mesh", "jax.sharding.use_abstract_mesh"):
            mesh = next((inner for _, inner in value.arguments), UNKNOWN)
            run.ambient.append(mesh)
            value = mesh
        elif isinstance(value, Mesh):
            run.records.mentions.append(
                ApiMention("jax.sharding.Mesh.__enter__", site_of(frame, expression), False, run.api_guard > 0, ctx.conditional)
            )
        if target is not None:
            assign(run, target, value, frame, ctx)
    run.api_guard += guards
    left = run_block(run, node[3], frame, ctx)
    run.api_guard -= guards
    del run.ambient[ambient:]
    return None if left == RAISED and guards else left


def _try(run: Run, node: Any, frame: Frame, ctx: Context) -> str | None:
    _, _, body, handlers, orelse, final = node
    caught = frozenset().union(*(_caught(handler) for handler in handlers)) if handlers else frozenset()
    api = bool(caught & _API_ERRORS)
    guarded = bool(caught & _AXIS_ERRORS)
    inner = replace(ctx, guarded=True) if guarded and not ctx.guarded else ctx
    before = dict(frame.vars)
    run.api_guard += api
    left = run_block(run, body, frame, inner)
    if left is None and orelse:
        left = run_block(run, orelse, frame, inner)
    after_body = frame.vars
    results: list[tuple[dict[str, Value], str | None]] = [(after_body, left)]
    for kind, text, handler in handlers:
        frame.vars = joined(before, after_body)
        if kind is not None:
            evaluate(run, kind, frame, ctx)
        if text is not None:
            frame.vars[text] = UNKNOWN
        left_handler = run_block(run, handler, frame, replace(ctx, conditional=True))
        results.append((frame.vars, left_handler))
        if left_handler in (RETURNED, NEXT_TURN) and guarded and kind is not None:
            frame.exits |= {"guarded"}
    run.api_guard -= api
    going_on = [variables for variables, how in results if how is None]
    frame.vars = going_on[0] if going_on else results[0][0]
    for variables in going_on[1:]:
        frame.vars = joined(frame.vars, variables)
    if final:
        left_final = run_block(run, final, frame, ctx)
        if left_final is not None:
            return left_final
    return None if going_on else results[0][1]


def _caught(handler: Any) -> frozenset[str]:
    kind, _, body = handler
    if body and body[-1][0] == "raise":
        return frozenset()
    if kind is None:
        return frozenset({"BaseException"})
    kinds = kind[2] if kind[0] == "tuple" else (kind,)
    return frozenset(item[2] if item[0] == "name" else item[3] for item in kinds if item[0] in ("name", "attr"))


def _assert(run: Run, node: Any, frame: Frame, ctx: Context) -> None:
    evaluate(run, node[2], frame, ctx)
    conditions.refine(run, node[2], True, frame, ctx)


def _delete(run: Run, node: Any, frame: Frame, ctx: Context) -> None:
    for target in node[2]:
        delete(target, frame)


def _global(run: Run, node: Any, frame: Frame, ctx: Context) -> None:
    frame.globals |= frozenset(node[2])


def _nonlocal(run: Run, node: Any, frame: Frame, ctx: Context) -> None:
    frame.nonlocals |= frozenset(node[2])


def _match(run: Run, node: Any, frame: Frame, ctx: Context) -> None:
    evaluate(run, node[2], frame, ctx)
    inner = replace(ctx, conditional=True, guarded=ctx.guarded or speaks_of_axes(node[2]))
    before = frame.vars
    after = dict(before)
    for _, guard, body in node[3]:
        frame.vars = dict(before)
        if guard is not None:
            evaluate(run, guard, frame, inner)
        if run_block(run, body, frame, inner) is None:
            after = joined(after, frame.vars)
    frame.vars = after


def _pass(run: Run, node: Any, frame: Frame, ctx: Context) -> None:
    return None


def _break(run: Run, node: Any, frame: Frame, ctx: Context) -> str:
    return LEFT_LOOP


def _continue(run: Run, node: Any, frame: Frame, ctx: Context) -> str:
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
    "for": _for,
    "while": _while,
    "with": _with,
    "try": _try,
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
}
