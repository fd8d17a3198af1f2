"""Decides conditions if values are known; otherwise narrows variables in the branches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from meshlens.axes.data import arrays
from meshlens.axes.domain.joining import options, union
from meshlens.axes.domain.keys import SOME_KEY, key_of
from meshlens.axes.domain.kinds import is_instance
from meshlens.axes.domain.values import (
    UNKNOWN,
    Bound,
    Class,
    Const,
    Data,
    Dict,
    Ext,
    Function,
    Made,
    Mapped,
    Mesh,
    Module,
    Partial,
    Seq,
    Spec,
    Union,
    Value,
    Wrapped,
)
from meshlens.axes.python.enums import is_same
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.run import Run
from meshlens.facts.nodes import (
    Argument,
    Attribute,
    BinaryOperation,
    BoolOperation,
    Call,
    Comparison,
    Constant,
    Expression,
    Name,
    Not,
    TupleDisplay,
)

_NEVER_FALSE = (Function, Bound, Class, Module, Partial, Mesh, Mapped, Wrapped)


def _is_object(value: Value) -> bool:
    """Returns whether a value is certainly a truthy object; a library's result may be an object or a constant."""
    if isinstance(value, Made):
        if value.dotted == "enum.Enum":
            number = dict(value.arguments).get("value")
            return not isinstance(number, Const) or isinstance(number.value, str)
        return value.dotted.startswith("optax.") or any(part[:1].isupper() for part in value.dotted.split("."))
    return isinstance(value, _NEVER_FALSE)


def truth(value: Value) -> bool | None:
    """Returns whether a value is truthy; None if unknown."""
    if isinstance(value, Data):
        return None
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Seq):
        return True if value.items else None if value.open else False
    if isinstance(value, Dict):
        return True if any(key is not SOME_KEY for key, _ in value.items) else None if value.open else False
    if _is_object(value):
        return True
    if isinstance(value, (Ext, Spec, Made)):
        return None
    verdicts = {truth(option) for option in options(value)} if len(options(value)) > 1 else {None}
    return verdicts.pop() if len(verdicts) == 1 else None


def fits(subject: Value, pattern: Expression) -> bool | None:
    """Returns whether a value matches the pattern of a `case`; None if unknown."""
    if isinstance(pattern, Name):
        return True
    if not isinstance(pattern, Constant) or not isinstance(subject, Const):
        return None
    return _same(subject, Const(pattern.value))


def is_now_and_then(test: Expression) -> bool:
    """Returns whether a condition in a loop holds in some iterations and not in others: `step % 100 == 0`."""
    if isinstance(test, Not):
        return _is_remainder(test.operand)
    if isinstance(test, Comparison):
        return test.operators in (("==",), ("!=",)) and any(map(_is_remainder, test.operands))
    if isinstance(test, BoolOperation):
        return any(map(is_now_and_then, test.items)) and all(
            is_now_and_then(item) or (isinstance(item, Comparison) and test.operator == "or") for item in test.items
        )
    return False


def _is_remainder(node: Expression) -> bool:
    return isinstance(node, BinaryOperation) and node.operator == "%" and not isinstance(node.left, Constant)


def asks_presence(items: list[Value]) -> bool:
    """Returns whether a comparison with None checks that the JAX release has a feature."""
    for item in items:
        if isinstance(item, Const) and item.value is None:
            return any(map(_may_be_missing, items))
    return False


def _may_be_missing(value: Value) -> bool:
    if not isinstance(value, Union):
        return False
    known = value.options
    has_none = any(isinstance(option, Const) and option.value is None for option in known)
    return has_none and any(isinstance(option, Ext) and option.dotted.startswith("jax.") for option in known)


def compare(operators: tuple[str, ...], items: list[Value]) -> bool | None:
    """Returns the outcome of a comparison of known constants; None if unknown."""
    if len(operators) != 1:
        return None
    operator, left, right = operators[0], items[0], items[1]
    if operator in ("is", "is not", "==", "!="):
        same = _same(left, right)
        return None if same is None else same == (operator in ("is", "=="))
    if operator in ("in", "not in"):
        found = _contains(left, right)
        return None if found is None else found == (operator == "in")
    if isinstance(left, Const) and isinstance(right, Const):
        return _ordered(operator, left.value, right.value)
    return None


def _ordered(operator: str, left: Any, right: Any) -> bool | None:
    try:
        if operator == "<":
            return bool(left < right)
        if operator == "<=":
            return bool(left <= right)
        if operator == ">":
            return bool(left > right)
        if operator == ">=":
            return bool(left >= right)
    except TypeError:
        return None
    return None


def _same(left: Value, right: Value) -> bool | None:
    if isinstance(left, Const) and isinstance(right, Const):
        return bool(left.value == right.value)
    member = is_same(left, right)
    if member is not None:
        return member
    if (_is_object(left) or isinstance(left, (Seq, Dict))) and isinstance(right, Const):
        return False
    if (_is_object(right) or isinstance(right, (Seq, Dict))) and isinstance(left, Const):
        return False
    if isinstance(left, Ext) and isinstance(right, Ext) and left == right:
        return True
    if isinstance(left, Spec) and isinstance(right, Spec):
        return _are_same_specs(left, right)
    if isinstance(left, Seq) and isinstance(right, Seq):
        return _are_same_sequences(left, right)
    return None


def _are_same_sequences(left: Seq, right: Seq) -> bool | None:
    """Returns whether two tuples or lists, such as shapes, are equal; one differing entry decides."""
    if left.open or right.open or left.kind != right.kind or left.kind not in ("tuple", "list"):
        return None
    if len(left.items) != len(right.items):
        return False
    verdicts = {_same(one, other) for one, other in zip(left.items, right.items, strict=True)}
    return False if False in verdicts else None if None in verdicts else True


def _are_same_specs(left: Spec, right: Spec) -> bool | None:
    """Returns whether two specs are equal; None if they differ only in form, which JAX releases treat differently."""
    both = [_plain(spec) for spec in (left, right)]
    if None in both:
        return None
    if left.entries == right.entries:
        return True
    return False if both[0] != both[1] else None


def _plain(spec: Spec) -> list[tuple[object, ...]] | None:
    """Returns the names of each entry, without empty entries at the end; None if one is unknown."""
    found: list[tuple[object, ...]] = []
    for entry in spec.entries:
        parts = entry.items if isinstance(entry, Seq) and not entry.open else (entry,)
        names = [part.value for part in parts if isinstance(part, Const)]
        if len(names) < len(parts):
            return None
        found.append(tuple(name for name in names if name is not None))
    while found and not found[-1]:
        found.pop()
    return found if not spec.open else None


def _contains(item: Value, container: Value) -> bool | None:
    """Returns whether a container has an item or a key; None if unknown."""
    if isinstance(container, Spec):
        container = Seq("tuple", container.entries, container.open)
    if isinstance(item, Const) and isinstance(container, Seq):
        if item in container.items:
            return True
        differs = all(_same(item, other) is False for other in container.items)
        return False if differs and not container.open else None
    key = key_of(item)
    if key is not None and isinstance(container, Dict):
        if container.get(key[0]) is not None:
            return True
        return None if container.open else False
    if isinstance(item, Const) and isinstance(container, Const) and isinstance(container.value, str):
        return str(item.value) in container.value
    return None


def refine(run: Run, test: Expression, outcome: bool, frame: Frame, ctx: Context) -> None:
    """Narrows variables according to a test's outcome.

    Handles `x`, `not x`, `x is None`, `x is not None`, `x == constant`, `isinstance(x, …)`, `x.shape == y.shape`,
    `x.shape == (m, n)`, and `and`/`or` of these.
    """
    if isinstance(test, Not):
        refine(run, test.operand, not outcome, frame, ctx)
    elif isinstance(test, BoolOperation) and (test.operator == "and") == outcome:
        for item in test.items:
            refine(run, item, outcome, frame, ctx)
    elif isinstance(test, Name):
        _keep(frame, test.name, lambda value: truth(value) is not (not outcome))
    elif (
        isinstance(test, Comparison)
        and len(test.operators) == 1
        and isinstance(test.operands[0], Name)
        and isinstance(test.operands[1], Constant)
    ):
        wanted = Const(test.operands[1].value)
        operator = test.operators[0]
        if operator in ("is", "is not", "==", "!="):
            equal = (operator in ("is", "==")) == outcome
            _keep(frame, test.operands[0].name, lambda value: _same(value, wanted) is not (not equal))
    elif isinstance(test, Comparison) and test.operators in (("==",), ("!=",)):
        if (test.operators == ("==",)) == outcome:
            _same_shape(run, test, frame, ctx)
    elif (
        isinstance(test, Call)
        and isinstance(test.callee, Name)
        and test.callee.name == "isinstance"
        and frame.find("isinstance") is None
    ):
        _refine_kind(run, test.arguments, outcome, frame, ctx)


def _same_shape(run: Run, test: Comparison, frame: Frame, ctx: Context) -> None:
    """Gives an array of unknown shape the shape to which the program compared it."""
    names = [_array_of_shape(operand) for operand in test.operands]
    for name, other_name, other in zip(names, names[::-1], test.operands[::-1], strict=True):
        value = frame.find(name) if name is not None else None
        if name is None or type(value) is not Data or value.shape is not None:
            continue
        if other_name is not None:
            shape = arrays.shape_of(frame.find(other_name) or UNKNOWN)
        else:
            shape = arrays.sizes(run.evaluate(other, frame, ctx)) if _is_tuple_of_names(other) else None
        if shape is not None:
            frame.vars[name] = replace(value, shape=shape)


def _array_of_shape(node: Expression) -> str | None:
    """Returns the variable of `x.shape`; None for any other expression."""
    is_shape = isinstance(node, Attribute) and node.name == "shape" and isinstance(node.object, Name)
    return node.object.name if is_shape and isinstance(node, Attribute) and isinstance(node.object, Name) else None


def _is_tuple_of_names(node: Expression) -> bool:
    return isinstance(node, TupleDisplay) and all(isinstance(item, (Name, Constant)) for item in node.items)


def _refine_kind(run: Run, arguments: tuple[Argument, ...], outcome: bool, frame: Frame, ctx: Context) -> None:
    if len(arguments) != 2 or any(one.label is not None for one in arguments):
        return
    subject, kinds = arguments[0].value, arguments[1].value
    if isinstance(subject, Name) and len(options(frame.find(subject.name) or UNKNOWN)) > 1:
        kind = run.evaluate(kinds, frame, ctx)
        _keep(frame, subject.name, lambda value: is_instance(value, kind) is not (not outcome))


def _keep(frame: Frame, name: str, fits: Callable[[Value], bool]) -> None:
    value = frame.find(name)
    if not isinstance(value, Union):
        return
    kept = [option for option in value.options if fits(option)]
    if kept and len(kept) < len(value.options):
        frame.vars[name] = union(kept)
