"""Evaluates expressions to abstract values."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from meshlens.axes.data import arrays, coordinates, corners, fillers, moments, noise, transfer
from meshlens.axes.data.exchanges import of_comparison
from meshlens.axes.data.gradients import Operation, note_unreduced_step, rows_here, stepped_alike
from meshlens.axes.data.halos import at_end, edge_of
from meshlens.axes.data.parts import kept, of_item
from meshlens.axes.data.pipelines import at_own_place, part_of_held
from meshlens.axes.data.positions import note_compared_index, note_picked, note_traced
from meshlens.axes.data.shapes import on_line
from meshlens.axes.data.transfer import across
from meshlens.axes.data.typed_shardings import is_typed, item_of, with_sharding
from meshlens.axes.domain.constants import concatenated
from meshlens.axes.domain.joining import join, join_all, labels_of, options, variation_of
from meshlens.axes.domain.keys import SOME_KEY, key_of
from meshlens.axes.domain.labels import IMAGINARY, NONE, TRACED, of_verdict, travelling
from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Data, Dict, Ext, Instance, Seq, Super, Value
from meshlens.axes.domain.variation import ANYTHING, EVERYWHERE, is_of_own_data
from meshlens.axes.jax import traced
from meshlens.axes.python import assign, attributes, conditions, containers, tables_of_modules
from meshlens.axes.python.calls import invoke
from meshlens.axes.python.comprehensions import comprehension
from meshlens.axes.python.imports import is_dated, note_mention
from meshlens.axes.python.iterating import item_of_object
from meshlens.axes.python.lambdas import make_lambda
from meshlens.axes.python.operators import binary
from meshlens.axes.python.outside import from_outside
from meshlens.axes.python.parameters import MOST_ARGUMENTS, limited
from meshlens.axes.python.unpacking import elements
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame, numbered, site_of
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import DEEPEST, Run
from meshlens.axes.runs.same_names import note_compared
from meshlens.axes.runs.scopes import scoped_variable
from meshlens.axes.runs.tree_objects import as_tuple
from meshlens.axes.worth import words
from meshlens.axes.worth.forgetting import too_deep
from meshlens.axes.worth.passed import note_callee
from meshlens.axes.worth.unread import unread
from meshlens.facts.nodes import (
    Argument,
    Attribute,
    BinaryOperation,
    BoolOperation,
    Call,
    Comparison,
    Comprehension,
    Constant,
    DictDisplay,
    Expression,
    FString,
    IfExpression,
    ListDisplay,
    Name,
    Not,
    Opaque,
    SetDisplay,
    Slice,
    Starred,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    Walrus,
    Yield,
    last_name,
)
from meshlens.jaxapi.command_lines import ARGUMENTS, FLAGS
from meshlens.jaxapi.libraries import UPDATE_METHODS
from meshlens.jaxapi.operations import AT

_BUILTINS = frozenset(dir(builtins))
_MOST_ITEMS = 64
_UNSEEN = frozenset({"locals", "globals", "vars", "eval", "exec"})


def evaluate(run: Run, expression: Expression, frame: Frame, ctx: Context) -> Value:
    """Returns the value of an expression."""
    # Look up the node's class once, in a way that type checkers cannot follow.
    node: Any = expression
    kind = type(node)
    # Nine in ten expressions are of these classes; compiled code evaluates them without a table lookup.
    if kind is Name:
        value = frame.vars.get(node.name)
        return value if value is not None and type(value) is not Dict else _name(run, node, frame, ctx)
    if kind is Constant:
        return Const(node.value, numbered(frame, node.site))
    if kind is Attribute and type(node.object) is Name:
        return _attr(run, node, frame, ctx)
    if run.depth >= DEEPEST:
        run.is_brief = True
        return too_deep(run, node, frame, ctx)
    run.depth += 1
    value = _call(run, node, frame, ctx) if kind is Call else _EXPRESSIONS[node.tag](run, node, frame, ctx)
    run.depth -= 1
    return value


def evaluate_decorator(run: Run, node: Expression, frame: Frame, ctx: Context) -> Value:
    """Returns the value of a decorator, the expression after an `@`."""
    if isinstance(node, Call):
        return _call(run, node, frame, ctx, decorator=True)
    return evaluate(run, node, frame, ctx)


def _name(run: Run, node: Name, frame: Frame, ctx: Context) -> Value:
    name: str = node.name
    value = frame.find(name)
    if run.scoped and (scoped := scoped_variable(run, name, frame)) is not None:
        return scoped
    if value is not None:
        if type(value) is Dict:
            value = tables_of_modules.as_seen(run, value, name, frame)
        if ctx.env.maps and name not in frame.vars:
            return from_outside(value, frame.holder(name).maps, ctx)
        return value
    if name == "__name__":
        return Const("__main__")
    if name in _BUILTINS:
        return attributes.ext(name)
    star = frame.module.vars.get("*")
    if isinstance(star, Ext):
        return Ext(f"{star.dotted}.{name}")
    return UNKNOWN


_ONE_WORD = Const(1)
"""The number of words on a command line that holds only the program."""
_AFTER_THE_PROGRAM = Seq("slice", (Const(1), Const(None), Const(None)))


def _format(run: Run, node: FString, frame: Frame, ctx: Context) -> Value:
    values = [evaluate(run, part, frame, ctx) for part in node.parts]
    known = [value.value for value in values if isinstance(value, Const)]
    text = concatenated(known) if len(known) == len(values) else None
    return Const(text, site_of(frame, node)) if text is not None else UNKNOWN


def _attr(run: Run, node: Attribute, frame: Frame, ctx: Context) -> Value:
    receiver = evaluate(run, node.object, frame, ctx)
    if type(receiver) is Data:
        if node.name in noise.SHARDS and receiver.labels:
            noise.note_shards(run, receiver, site_of(frame, node), ctx)
        found = attributes.of_data(receiver, node.name)
        if node.name == "shape" and ctx.env.maps and receiver.labels:
            return coordinates.shape_in_part(receiver, found, site_of(frame, node))
        return found
    if type(receiver) is Ext and (not run.world.by_default or receiver.dotted != FLAGS):
        dotted = f"{receiver.dotted}.{node.name}"
        if is_dated(dotted):
            note_mention(run, dotted, site_of(frame, node), ctx, "attribute")
        return Ext(dotted)
    return attributes.attribute(run, receiver, node.name, site_of(frame, node), ctx)


def _call(run: Run, node: Call, frame: Frame, ctx: Context, decorator: bool = False) -> Value:
    callee_node = node.callee
    if type(callee_node) is Name and callee_node.name == "super" and frame.find("super") is None:
        owner = frame.owner
        return Super(frame.receiver, owner) if owner is not None and frame.receiver is not None else UNKNOWN
    callee = evaluate(run, callee_node, frame, ctx)
    args = arguments(run, node.arguments, frame, ctx)
    if type(callee) is Ext and callee.dotted in _UNSEEN and not (callee.dotted == "vars" and args):
        return UNKNOWN
    if type(callee) is Ext and callee.dotted == "next" and node.arguments[:1] and _is_fresh(node.arguments[0]):
        found = args[0].value
        if isinstance(found, Seq) and not found.open and (found.items or len(args) > 1):
            return found.items[0] if found.items else args[1].value
    if type(callee_node) is Attribute and callee_node.name in containers.MUTATORS:
        changed = containers.mutate(run, callee_node, args, frame, ctx)
        if changed is not None:
            return changed
    begun = len(run.altered)
    site, callee_site = numbered(frame, node.site), numbered(frame, callee_node.site)
    if (asked := run.world.asked) is not None:
        note_callee(run, asked, callee, site, ctx)
    call = Invocation(callee, args, site, callee_site, frame, ctx, "call", decorator)
    value = invoke(run, call)
    if type(callee) is Data and ctx.env.maps and type(callee_node) is Attribute and callee_node.name in UPDATE_METHODS:
        note_unreduced_step(run, args, call)
        value = stepped_alike(value, [callee, *[arg.value for arg in args]])
    if len(run.altered) > begun:
        _pick_up(run, begun, node.arguments, args, frame, ctx)
    return value


def _is_fresh(argument: Argument) -> bool:
    """Returns whether an argument is an iterator from which nothing was taken: a generator expression or `iter(…)`."""
    node = argument.value
    if isinstance(node, Call):
        return isinstance(node.callee, Name) and node.callee.name == "iter"
    return isinstance(node, Comprehension) and node.kind == "gen"


def _pick_up(
    run: Run, begun: int, nodes: tuple[Argument, ...], args: tuple[Arg, ...], frame: Frame, ctx: Context
) -> None:
    """Updates the variables whose containers were passed to a call that changed them."""
    changes = run.altered[begun:]
    del run.altered[begun:]
    if len(nodes) != len(args):
        return
    for given, arg in zip(nodes, args, strict=True):
        for before, after in changes:
            if arg.value is before:
                assign.change_in_place(run, given.value, before, after, frame, ctx)


def arguments(run: Run, nodes: tuple[Argument, ...], frame: Frame, ctx: Context) -> tuple[Arg, ...]:
    """Returns the arguments of a call, with known splats unpacked."""
    out: list[Arg] = []
    for given in nodes:
        label: str | None = given.label
        node = given.value
        site = numbered(frame, node.site)
        value = Const(node.value, site) if type(node) is Constant else evaluate(run, node, frame, ctx)
        if label is None:
            out.append(Arg(None, value, site, site))
            continue
        whole = numbered(frame, given.site)
        value = as_tuple(run, value) if label == "*" else value
        if label == "*" and isinstance(value, Seq) and not value.open:
            out.extend(Arg(None, item, whole, site) for item in value.items)
        elif label == "**" and isinstance(value, Dict):
            out.extend(Arg(str(key), item, whole, site) for key, item in value.items if key is not SOME_KEY)
            if value.open:
                out.append(Arg("**", UNKNOWN, whole, site))
        else:
            out.append(Arg(label, value, whole, site))
    return tuple(out) if len(out) <= MOST_ARGUMENTS else limited(out)


def _sequence(run: Run, node: ListDisplay | SetDisplay | TupleDisplay, frame: Frame, ctx: Context) -> Value:
    items: list[Value] = []
    is_open = False
    for item in node.items:
        if isinstance(item, Starred):
            value = as_tuple(run, evaluate(run, item.value, frame, ctx))
            if isinstance(value, Seq):
                items.extend(value.items)
                is_open |= value.open
            else:
                is_open = True
        elif len(items) < _MOST_ITEMS:
            items.append(evaluate(run, item, frame, ctx))
        else:
            is_open = True
    return Seq(node.tag, tuple(items), is_open)


def _dict(run: Run, node: DictDisplay, frame: Frame, ctx: Context) -> Value:
    items: dict[Any, Value] = {}
    is_open = False
    masks: list[tuple[Any, Expression]] = []
    for key, expression in node.pairs:
        value = evaluate(run, expression, frame, ctx)
        if fillers.is_mask(value):
            masks.append((key, expression))
        if key is None:
            if isinstance(value, Dict):
                items.update(value.items)
                is_open |= value.open
            else:
                is_open = True
            continue
        known = key_of(evaluate(run, key, frame, ctx))
        if known is not None:
            items[known[0]] = value
        else:
            is_open = True
    for key, expression in masks:
        if isinstance(key, Constant) and isinstance(key.value, str):
            fillers.note_mask(run, items.values(), key.value, site_of(frame, expression), ctx)
    return Dict(tuple(items.items()), is_open)


def _truth_without_arguments(run: Run, test: Expression, frame: Frame, ctx: Context) -> bool | None:
    """Returns the outcome of a test such as `len(sys.argv) > 1` if the command line is empty; None for other tests."""
    if not isinstance(test, Comparison):
        return None
    items = [
        _ONE_WORD if _counts_words(run, item, frame, ctx) else evaluate(run, item, frame, ctx) for item in test.operands
    ]
    return conditions.compare(test.operators, items) if any(item is _ONE_WORD for item in items) else None


def _counts_words(run: Run, node: Expression, frame: Frame, ctx: Context) -> bool:
    """Returns whether an expression is `len(sys.argv)`."""
    if not isinstance(node, Call) or not isinstance(node.callee, Name) or node.callee.name != "len":
        return False
    return len(node.arguments) == 1 and evaluate(run, node.arguments[0].value, frame, ctx) == Ext(ARGUMENTS)


def _if_expression(run: Run, node: IfExpression, frame: Frame, ctx: Context) -> Value:
    test, then, otherwise = node.test, node.then, node.otherwise
    value = evaluate(run, test, frame, ctx)
    truth = conditions.truth(value)
    traced.note_condition(run, value, test, frame, ctx)
    if truth is None and run.world.by_default:
        truth = _truth_without_arguments(run, test, frame, ctx)
    if truth is not None:
        return evaluate(run, then if truth else otherwise, frame, ctx)
    note_traced(run, value, site_of(frame, test), ctx)
    said, before = words.said_by(test), dict(frame.vars)
    inner = ctx.under_condition(ctx.guarded or said.axes)
    api = "version" in labels_of(value) or said.version
    run.api_guard += api
    conditions.refine(run, test, True, frame, inner)
    left = evaluate(run, then, frame, inner)
    frame.vars = dict(before)
    conditions.refine(run, test, False, frame, inner)
    right = evaluate(run, otherwise, frame, inner)
    frame.vars = before
    run.api_guard -= api
    return join(left, right)


def _bool(run: Run, node: BoolOperation, frame: Frame, ctx: Context) -> Value:
    operator, items = node.operator, node.items
    possible: list[Value] = []
    inner = ctx
    before = dict(frame.vars)
    decided: Value | None = None
    for place, item in enumerate(items):
        value = evaluate(run, item, frame, inner)
        truth = conditions.truth(value)
        if place < len(items) - 1:
            traced.note_condition(run, value, item, frame, inner)
        if truth is (operator == "or") or place == len(items) - 1:
            decided = value
            break
        if truth is None:
            possible.extend(option for option in options(value) if conditions.truth(option) is not (operator == "and"))
            inner = inner.under_condition(inner.guarded or words.speaks_of_axes(item))
            conditions.refine(run, item, operator == "and", frame, inner)
    frame.vars = before
    is_decided = isinstance(decided, Const) and (decided.value is True if operator == "or" else not decided.value)
    if isinstance(decided, Const) and is_decided and not (possible and decided.traced):
        # `x and False` is false, whatever `x` is; `x or "name"` may be either.
        return decided
    return join_all([*possible, decided] if decided is not None else possible)


def _not(run: Run, node: Not, frame: Frame, ctx: Context) -> Value:
    value = evaluate(run, node.operand, frame, ctx)
    truth = conditions.truth(value)
    traced.note_condition(run, value, node.operand, frame, ctx)
    if truth is not None:
        return Const(not truth)
    over = across(transfer.judged, variation_of(value)) if ctx.env.maps else ANYTHING
    return Data(travelling(labels_of(value)), over=over)


def _unary(run: Run, node: UnaryOperation, frame: Frame, ctx: Context) -> Value:
    value = evaluate(run, node.operand, frame, ctx)
    if isinstance(value, Const) and isinstance(value.value, (int, float)) and node.operator in ("-", "+"):
        number = -value.value if node.operator == "-" else value.value
        return Const(number, site_of(frame, node), traced=value.traced)
    how = transfer.linear if node.operator in ("-", "+") else transfer.rowwise
    over = across(how, variation_of(value)) if ctx.env.maps else ANYTHING
    is_array = arrays.is_array(value) or node.operator == "-"
    labels = travelling(labels_of(value)) | (labels_of(value) & _KEPT_BY_SIGN)
    is_array = is_array or TRACED in labels
    if ctx.env.maps:
        labels |= coordinates.unchanged(value) | kept("negative", (labels_of(value),))
    result = Data(labels, arrays.shape_of(value), None, is_array, over)
    if node.operator != "-" or not is_typed(value):
        return result
    return with_sharding(run, "jax.numpy.negative", (Arg(None, value, None, None),), result, site_of(frame, node), ctx)


def _binary(run: Run, node: BinaryOperation, frame: Frame, ctx: Context) -> Value:
    left = evaluate(run, node.left, frame, ctx)
    right = evaluate(run, node.right, frame, ctx)
    return binary(run, Operation(node.operator, left, right, (node.left, node.right), site_of(frame, node)), frame, ctx)


def _compare(run: Run, node: Comparison, frame: Frame, ctx: Context) -> Value:
    items = [evaluate(run, item, frame, ctx) for item in node.operands]
    outcome = conditions.compare(node.operators, items)
    if outcome is not None:
        note_compared(run, node.operators[0], items)
        return traced.of_comparison(Const(outcome), node.operators[0], items, ctx)
    labels = tuple([labels_of(item) for item in items])
    shape = _shape_of_comparison(node.operators, items)
    if conditions.asks_presence(items):
        return Data(frozenset({"version"}))
    if ctx.env.maps and len(items) == 2:
        note_compared_index(run, node.operators[0], items, site_of(frame, node), ctx)
    is_of_arrays = ctx.env.maps and "is" not in node.operators[0].split()
    over = across(transfer.judged, *map(variation_of, items)) if is_of_arrays else ANYTHING
    own = coordinates.combined(run, node.operators[0], items, ctx) if is_of_arrays and any(labels) else NONE
    if is_of_arrays and any(is_of_own_data(along.truth) for item in items for _, along in variation_of(item).axes):
        own |= {"data"}
    numbers = next(iter(node.operands))
    if len(items) == 2 and isinstance(numbers, Call) and last_name(numbers.callee) == "arange":
        own |= fillers.mask_of(node.operators[0], site_of(frame, node))
        fillers.note_compared(run, node.operators[0], items[1], site_of(frame, node), ctx)
    if shape is not None or (len(items) == 2 and any(labels)):
        own |= fillers.combined(*items)
    if not any(labels) and not own:
        unlabeled = UNKNOWN if over == ANYTHING and shape is None else Data(frozenset(), shape, over=over)
        return traced.of_comparison(unlabeled, node.operators[0], items, ctx)
    noise.meet(run, tuple(items), ctx)
    decided = of_comparison(*items) if ctx.env.maps and len(items) == 2 else NONE
    result = Data(own.union(decided, *map(of_verdict, labels)), shape, over=over)
    return traced.of_comparison(result, node.operators[0], items, ctx)


def _shape_of_comparison(operators: tuple[str, ...], items: list[Value]) -> arrays.Sizes | None:
    """Returns the shape of a comparison of arrays; None if it may return one truth value, as `in` and `is` do."""
    if len(items) != 2 or operators[0] not in ("<", "<=", ">", ">=", "==", "!="):
        return None
    return arrays.broadcast(arrays.shape_of(items[0]), arrays.shape_of(items[1])) or None


def _subscript(run: Run, node: Subscript, frame: Frame, ctx: Context) -> Value:
    container = as_tuple(run, evaluate(run, node.object, frame, ctx))
    index = evaluate(run, node.key, frame, ctx)
    site = site_of(frame, node)
    if type(index) is not Const or index.traced is not None:
        traced.note_index(run, container, index, site_of(frame, node.key), ctx)
    if type(container) is Data and container.labels and not ctx.env.maps:
        noise.note_device(run, container, index, site, ctx)
    if type(container) is Instance:
        call = Invocation(container, (), site, site, frame, ctx)
        return item_of_object(run, container, index, call) or UNKNOWN
    if run.world.by_default and container == Ext(ARGUMENTS) and index == _AFTER_THE_PROGRAM:
        return Seq("list", ())
    found = containers.item(container, index, node.key, site)
    if type(found) is Data and found.labels and isinstance(node.key, Slice) and node.key.upper is not None:
        found = fillers.cut(found)
    if type(found) is Data and found.made_by == AT and ctx.env.maps:
        found = corners.at_side(at_end(at_own_place(found, index), node.key), index)
    if type(container) is Data and type(found) is Data and container.labels and container.made_by != AT:
        key: Expression = node.key
        if isinstance(index, Const) and type(index.value) is int:
            key = Constant("const", key.site, index.value)
        found = item_of(run, container, key, found, site, ctx)
    if type(found) is Const and (name := _array_of_first_size(node)) is not None:
        counted = fillers.length(evaluate(run, name, frame, ctx))
        if counted:
            return Data(counted, ())
    if type(found) is Data and (name := _array_of_first_size(node)) is not None:
        array = evaluate(run, name, frame, ctx)
        here = rows_here(array, site) if ctx.env.maps else None
        more = fillers.length(array) | (coordinates.size_at(container, found, index) if ctx.env.maps else NONE)
        found = here if here is not None else found
        if more or ctx.env.maps:
            return replace(found, labels=found.labels | more) if more else found
    if ctx.env.maps and type(container) is Data and type(found) is Data and container.made_by != AT:
        taken = coordinates.of_rows(container, index, site, ctx)
        found = replace(found, labels=found.labels | taken) if taken else found
    if ctx.env.maps and type(container) is Data and type(found) is Data and container.labels:
        picked = note_picked(run, container, index, ctx) | of_item(container, index, site)
        picked |= coordinates.of_item(container, index) | coordinates.size_at(container, found, index)
        picked |= edge_of(container, node.key, site) | corners.of_item(run, container, index, node.key, site, ctx)
        picked |= part_of_held(container) if isinstance(node.key, Slice) else NONE
        found = replace(found, labels=found.labels | picked) if picked else found
    elif not ctx.env.maps and type(container) is Data and type(found) is Data and (kept := moments.of_item(container)):
        found = replace(found, labels=found.labels | kept)
    if ctx.env.maps and type(container) is Data and type(index) is Data and type(found) is Data:
        # While JAX traces, an index is an array of integers: a mask would give a shape that depends on its values.
        is_array = container.made_by != AT and container.array and index.array
        if is_array and container.shape and index.shape is not None and found.shape is None:
            return replace(found, shape=(*index.shape, *container.shape[1:]), array=True)
    return found


def _array_of_first_size(node: Subscript) -> Expression | None:
    """Returns the `x` of `x.shape[0]`: a variable or a part of one, such as `batch["y"]`, to be looked up again."""
    shape, key = node.object, node.key
    if not isinstance(shape, Attribute) or shape.name != "shape" or not isinstance(key, Constant) or key.value != 0:
        return None
    part: Expression = shape.object
    while isinstance(part, Attribute) or (isinstance(part, Subscript) and isinstance(part.key, Constant)):
        part = part.object
    return shape.object if isinstance(part, Name) else None


def _slice(run: Run, node: Slice, frame: Frame, ctx: Context) -> Value:
    parts = [
        on_line(evaluate(run, part, frame, ctx), part) if part is not None else Const(None)
        for part in (node.lower, node.upper, node.step)
    ]
    return Seq("slice", tuple(parts))


def _walrus(run: Run, node: Walrus, frame: Frame, ctx: Context) -> Value:
    value = evaluate(run, node.value, frame, ctx)
    frame.home(node.name).vars[node.name] = value
    return value


def _yield(run: Run, node: Yield, frame: Frame, ctx: Context) -> Value:
    is_from = isinstance(node.value, Starred)
    value = evaluate(run, node.value, frame, ctx) if node.value is not None else Const(None)
    items, exact = elements(as_tuple(run, value)) if is_from else ([value], True)
    frame.yielded.extend(items)
    frame.yields_surely = not ctx.conditional
    frame.yields_all &= exact and frame.yields_surely and not frame.open_loops
    if run.scoping:
        frame.current.append(run.current())
    return UNKNOWN


def _star(run: Run, node: Starred, frame: Frame, ctx: Context) -> Value:
    return evaluate(run, node.value, frame, ctx)


_KEPT_BY_SIGN = frozenset({IMAGINARY, TRACED})
_COMPLEX = Data(frozenset({IMAGINARY, "complex"}), (), over=EVERYWHERE)
"""An imaginary number that is written out."""


def _opaque(run: Run, node: Opaque, frame: Frame, ctx: Context) -> Value:
    if len(node.children) == 1 and node.children[0].site == node.site:
        return _COMPLEX
    labels: frozenset[Any] = frozenset()
    for child in node.children:
        if child.tag in _EXPRESSIONS or isinstance(child, Constant):
            labels |= travelling(labels_of(evaluate(run, child, frame, ctx)))
    return Data(labels)


_EXPRESSIONS: dict[str, Callable[[Run, Any, Frame, Context], Value]] = {
    "name": _name,
    "fstr": _format,
    "attr": _attr,
    "call": _call,
    "tuple": _sequence,
    "list": _sequence,
    "set": _sequence,
    "dict": _dict,
    "lambda": make_lambda,
    "ifexp": _if_expression,
    "bool": _bool,
    "not": _not,
    "unary": _unary,
    "bin": _binary,
    "cmp": _compare,
    "sub": _subscript,
    "slice": _slice,
    "comp": comprehension,
    "walrus": _walrus,
    "yield": _yield,
    "star": _star,
    "opaque": _opaque,
    "hole": unread,
}
