"""Comprehensions and generator expressions, evaluated item by item if the items are known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from meshlens.axes.data.arrays import count_of, shape_of
from meshlens.axes.domain.axis_sizes import FOR_EXAMPLE, PAIRS_FOR_EXAMPLE, SOME_COUNT
from meshlens.axes.domain.constants import counted
from meshlens.axes.domain.joining import join_all, labels_of
from meshlens.axes.domain.keys import key_of, with_some_keys
from meshlens.axes.domain.values import STATIC, UNKNOWN, Const, Dict, Ext, Seq, Site, Value
from meshlens.axes.python import conditions
from meshlens.axes.python.assign import assign
from meshlens.axes.python.shared_tables import mark_unclear
from meshlens.axes.python.unpacking import elements
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame, site_of
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.tree_objects import as_tuple
from meshlens.axes.worth.forgetting import forget
from meshlens.facts.nodes import (
    Attribute,
    BinaryOperation,
    Call,
    Clause,
    Comprehension,
    Constant,
    Expression,
    Name,
    Pair,
    TupleDisplay,
    UnaryOperation,
    last_name,
)
from meshlens.facts.walking import nodes

_MOST_PAIRS = 64
_MOST_INNER = 16
"""Maximum number of items over which an inner `for` clause runs item by item."""
_OF_NUMBERS = frozenset({"min", "max", "abs"})
_REPEATABLE = {name: f"jax.random.{name}" for name in ("PRNGKey", "key", "fold_in")}
"""The functions that always return the same key for the same arguments, by the last part of their names."""


def _is_pair(node: Expression | Pair) -> bool:
    """Returns whether an element is a pair of numbers, as in a permutation."""
    return isinstance(node, TupleDisplay) and len(node.items) == 2 and all(map(_is_arithmetic, node.items))


def _is_arithmetic(node: Expression) -> bool:
    if isinstance(node, BinaryOperation):
        return _is_arithmetic(node.left) and _is_arithmetic(node.right)
    if isinstance(node, UnaryOperation):
        return _is_arithmetic(node.operand)
    if isinstance(node, Call) and isinstance(node.callee, Name) and node.callee.name in _OF_NUMBERS:
        return all(_is_arithmetic(argument.value) for argument in node.arguments)
    return isinstance(node, (Name, Constant)) or (isinstance(node, Attribute) and isinstance(node.object, Name))


def _is_repeated(run: Run, element: Expression | Pair, target: Expression, frame: Frame, ctx: Context) -> bool:
    """Returns whether an element is the same key each time: made by `jax.random` without using the loop variable."""
    if not isinstance(element, Call) or not isinstance(target, Name):
        return False
    named = [node for node in nodes(element) if isinstance(node, (Name, Call))]
    if any(isinstance(node, Name) and node.name == target.name for node in named):
        return False
    callees = [node.callee for node in named if isinstance(node, Call)]
    if any(last_name(callee) not in _REPEATABLE for callee in callees):
        return False
    makers = (run.evaluate(callee, frame, ctx) for callee in callees)
    return all(isinstance(maker, Ext) and maker.dotted in _REPEATABLE.values() for maker in makers)


def _sizes_for_example(iterable: Expression, element: Expression | Pair, frame: Frame) -> dict[str, Value]:
    """Returns the variables that hold the unknown size of an axis, with an example size."""
    names = {node.name for one in (iterable, element) for node in nodes(one) if isinstance(node, Name)}
    held = {name: frame.find(name) for name in sorted(names)}
    return {name: Const(FOR_EXAMPLE) for name, value in held.items() if value and SOME_COUNT in labels_of(value)}


def _holds_array(value: Value) -> bool:
    """Returns whether a value is an array of known shape, or a pair that contains one."""
    return any(map(_holds_array, value.items)) if isinstance(value, Seq) else bool(shape_of(value))


def _is_keyed_by(element: Expression | Pair, target: Expression) -> bool:
    """Returns whether an entry's key is the loop variable, or the first of several, which differs each time."""
    first = target.items[0] if isinstance(target, TupleDisplay) and target.items else target
    if not isinstance(element, Pair) or not isinstance(element.key, Name) or not isinstance(first, Name):
        return False
    return element.key.name == first.name


def _without_attributes(run: Run, node: Any, variables: dict[str, Value], frame: Frame, ctx: Context) -> Any:
    """Returns arithmetic with variables instead of attributes.

    Args:
        run: the run.
        node: the expression.
        variables: the values of these variables, to which this call adds.
        frame: the running frame.
        ctx: the context.
    """
    if isinstance(node, Attribute):
        name = f"{node.object.name}.{node.name}" if isinstance(node.object, Name) else ""
        variables[name] = run.evaluate(node, frame, ctx)
        return Name("name", node.site, name)

    def inner(one: Any) -> Any:
        return _without_attributes(run, one, variables, frame, ctx)

    if isinstance(node, BinaryOperation):
        return node._replace(left=inner(node.left), right=inner(node.right))
    if isinstance(node, UnaryOperation):
        return node._replace(operand=inner(node.operand))
    if isinstance(node, TupleDisplay):
        return node._replace(items=tuple([inner(item) for item in node.items]))
    if isinstance(node, Call):
        return node._replace(arguments=tuple([one._replace(value=inner(one.value)) for one in node.arguments]))
    return node


def _source(run: Run, limit: Expression, value: Value, frame: Frame, ctx: Context) -> Site | None:
    """Returns the literal that ends a range, or the end itself if it is the size of an axis; None for anything else.

    Args:
        run: the run.
        limit: the end of the range, such as `n` or `n - 1`.
        value: its value.
        frame: the running frame.
        ctx: the context.
    """
    if isinstance(limit, BinaryOperation) and isinstance(limit.left, (Name, Attribute)):
        is_next = limit.operator in "+-" and isinstance(limit.right, Constant) and limit.right.value == 1
        value = run.evaluate(limit.left, frame, ctx) if is_next else UNKNOWN
    if isinstance(value, Const):
        return value.origin
    if count_of(value) is None:
        return None
    site = site_of(frame, limit)
    run.records.gradient_uses.append(GradientUse("range-of-size", site, None, ctx))
    return site


def _numbers(run: Run, iterable: Expression, frame: Frame, ctx: Context) -> tuple[list[Value], bool]:
    """Returns the numbers of a `range`, and whether they are known.

    Their origin is the literal that ends the range, or the end itself if it is the size of an axis.
    """
    if (
        not isinstance(iterable, Call)
        or not isinstance(iterable.callee, Name)
        or iterable.callee.name != "range"
        or frame.find("range") is not None
    ):
        return [], False
    if any(arg.label is not None for arg in iterable.arguments):
        return [], False
    given = [run.evaluate(arg.value, frame, ctx) for arg in iterable.arguments]
    counts = [count_of(value) for value in given]
    numbers = [count for count in counts if count is not None]
    if not 0 < len(numbers) == len(given) <= 3 or numbers[2:] == [0]:
        return [], False
    turns = range(*numbers)
    if counted(turns) > _MOST_PAIRS:
        return [], False
    limit, value = list(zip(iterable.arguments, given, strict=True))[:2][-1]
    origin = _source(run, limit.value, value, frame, ctx)
    return [Const(turn, origin) for turn in turns], True


def _passes(run: Run, tests: tuple[Expression, ...], frame: Frame, ctx: Context) -> bool | None:
    """Returns whether an item passes all tests of a clause; None if that is unknown. What passes is known to pass."""
    verdicts = [conditions.truth(run.evaluate(test, frame, ctx)) for test in tests]
    if False in verdicts:
        return False
    for test in tests:
        conditions.refine(run, test, True, frame, ctx)
    return None if None in verdicts else True


def _inner_turns(
    run: Run, clauses: tuple[Clause, ...], frame: Frame, ctx: Context
) -> Iterator[tuple[bool, bool | None]]:
    """Assigns the items of inner `for` clauses, turn by turn.

    Yields:
        Whether the items are known one by one, and whether they pass the tests (None: unknown).
    """
    if not clauses:
        yield True, True
        return
    target, iterable, tests = clauses[0].target, clauses[0].iterable, clauses[0].conditions
    items, exact = elements(as_tuple(run, run.evaluate(iterable, frame, ctx)))
    if not exact or len(items) > _MOST_INNER:
        items, exact = [join_all(items) if items else UNKNOWN], False
    for item in items:
        assign(run, target, item, frame, ctx)
        verdict = _passes(run, tests, frame, ctx)
        if verdict is False:
            continue
        for exact_inside, verdict_inside in _inner_turns(run, clauses[1:], frame, ctx):
            yield exact and exact_inside, None if verdict_inside is None else verdict


def comprehension(run: Run, node: Comprehension, frame: Frame, ctx: Context) -> Value:
    """Returns the list, set, dictionary or generator that a comprehension creates."""
    kind, element_node, clauses = node.kind, node.element, node.clauses
    inner = Frame(frame.path, frame.block, frame)
    ctx = ctx if ctx.loop else ctx._replace(loop=True)
    target, iterable, tests = clauses[0].target, clauses[0].iterable, clauses[0].conditions
    repeats = len(clauses) == 1 and not tests and _is_repeated(run, element_node, target, frame, ctx)
    turns, exact = _numbers(run, iterable, frame, ctx) if repeats or _is_pair(element_node) else ([], False)
    is_example = False
    if not exact and len(clauses) == 1 and not tests and _is_pair(element_node):
        if any(isinstance(one, Attribute) for one in nodes(element_node)):
            element_node, iterable = (
                _without_attributes(run, one, inner.vars, frame, ctx) for one in (element_node, iterable)
            )
        sizes = _sizes_for_example(iterable, element_node, inner)
        inner.vars.update(sizes)
        turns, exact = _numbers(run, iterable, inner, ctx) if sizes else ([], False)
        is_example = exact
    if not exact:
        turns, exact = elements(as_tuple(run, run.evaluate(iterable, frame, ctx)))
    results: list[Value] = []
    keys: list[tuple[Any] | None] = []
    is_unsure = False
    is_certain = len(clauses) == 1 and _is_keyed_by(element_node, target)
    share = run.begin_loop()
    for place, turn in enumerate(turns):
        if repeats and results:
            results.append(results[0])
            continue
        if place and not run.may_go_on():
            forget(run, (node,), frame, ctx)
            exact = is_certain = False
            break
        run.work += 1
        assign(run, target, turn, inner, ctx)
        verdict = _passes(run, tests, inner, ctx)
        if verdict is False:
            continue
        for is_exact_here, inner_verdict in _inner_turns(run, clauses[1:], inner, ctx):
            is_told = verdict is not None and inner_verdict is not None
            exact, is_certain = exact and is_exact_here and is_told, is_certain and is_told
            is_unsure |= not is_told
            if isinstance(element_node, Pair) and element_node.key is not None:
                key = key_of(run.evaluate(element_node.key, inner, ctx))
                exact = exact and key is not None
                keys.append(key)
                results.append(run.evaluate(element_node.value, inner, ctx))
            elif not isinstance(element_node, Pair):
                results.append(run.evaluate(element_node, inner, ctx))
    run.end_loop(share)
    for one in results if not exact else ():
        mark_unclear(run, one)
    if kind == "dict":
        pairs = list(zip(keys, results, strict=True))
        known = {key[0]: value for key, value in pairs if key is not None}
        if exact:
            return Dict(tuple(known.items()))
        if is_certain and known:
            return with_some_keys(known.items(), [value for key, value in pairs if key is None])
        return with_some_keys((), results) if results else UNKNOWN
    if is_unsure and kind != "dict" and (any(turn is STATIC for turn in turns) or any(map(_holds_array, results))):
        # The test may exclude any of them.
        results = [join_all(results)]
    if is_example:
        return Seq(PAIRS_FOR_EXAMPLE, tuple(results), True)
    return Seq("list" if kind == "gen" else kind, tuple(results), not exact)
