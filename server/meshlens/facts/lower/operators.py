"""Lowers operators, collections and comprehensions."""

from __future__ import annotations

from collections.abc import Mapping

from meshlens.facts.lower.lowering import ExpressionHandler, Lowering, expression, mark, opaque, text_of
from meshlens.facts.nodes import (
    BinaryOperation,
    BoolOperation,
    Clause,
    Comparison,
    Comprehension,
    DictDisplay,
    Expression,
    IfExpression,
    ListDisplay,
    Not,
    Pair,
    SetDisplay,
    TupleDisplay,
    UnaryOperation,
    Walrus,
)
from meshlens.syntax.kinds import NAMES, field, items, kind, parts
from meshlens.syntax.parse import Node

_BOOLEAN = kind("boolean_operator")
_PAIR = kind("pair")
_FOR = kind("for_in_clause")
_LEFT = field("left")
_RIGHT = field("right")


def operator_of(node: Node) -> str:
    """Returns the text of an operator, on one line and with single spaces: `not in`."""
    return NAMES[node.kind_id]


def _binary(low: Lowering, node: Node) -> Expression:
    left, operator, right = parts(node)
    site = mark(low, node)
    return BinaryOperation("bin", site, operator_of(operator), expression(low, left), expression(low, right))


def _boolean(low: Lowering, node: Node) -> Expression:
    site = mark(low, node)
    left, operator, right = parts(node)
    word = operator.kind_id
    rest = [right]
    while left.kind_id == _BOOLEAN:
        inner, inner_operator, right = parts(left)
        if inner_operator.kind_id != word or inner_operator.has_error:
            break
        rest.append(right)
        left = inner
    rest.append(left)
    return BoolOperation("bool", site, NAMES[word], tuple([expression(low, item) for item in reversed(rest)]))


def _not(low: Lowering, node: Node) -> Expression:
    return Not("not", mark(low, node), expression(low, items(node)[0]))


def _unary(low: Lowering, node: Node) -> Expression:
    operator, item = parts(node)
    return UnaryOperation("unary", mark(low, node), operator_of(operator), expression(low, item))


def _comparison(low: Lowering, node: Node) -> Expression:
    site = mark(low, node)
    found = parts(node)
    operators = tuple([operator_of(child) for child in found[1::2]])
    return Comparison("cmp", site, operators, tuple([expression(low, child) for child in found[::2]]))


def _conditional(low: Lowering, node: Node) -> Expression:
    site = mark(low, node)
    then, test, otherwise = items(node)
    return IfExpression("ifexp", site, expression(low, test), expression(low, then), expression(low, otherwise))


def _walrus(low: Lowering, node: Node) -> Expression:
    site = mark(low, node)
    name, value = items(node)
    return Walrus("walrus", site, text_of(low, name), expression(low, value))


def _tuple(low: Lowering, node: Node) -> Expression:
    site = mark(low, node)
    return TupleDisplay("tuple", site, tuple([expression(low, item) for item in items(node)]))


def _tuple_pattern(low: Lowering, node: Node) -> Expression:
    found = parts(node)
    # The grammar calls a target in parentheses a tuple, even without a comma.
    return expression(low, found[1]) if len(found) == 3 else _tuple(low, node)


def _list(low: Lowering, node: Node) -> Expression:
    site = mark(low, node)
    return ListDisplay("list", site, tuple([expression(low, item) for item in items(node)]))


def _set(low: Lowering, node: Node) -> Expression:
    site = mark(low, node)
    return SetDisplay("set", site, tuple([expression(low, item) for item in items(node)]))


def _dictionary(low: Lowering, node: Node) -> Expression:
    site = mark(low, node)
    pairs: list[Pair] = []
    for item in items(node):
        found = items(item)
        if item.kind_id == _PAIR:
            key, value = found
            pairs.append(Pair(expression(low, key), expression(low, value)))
        elif item.type == "dictionary_splat":
            pairs.append(Pair(None, expression(low, found[0])))
        else:
            pairs.append(Pair(None, opaque(low, item)))
    return DictDisplay("dict", site, tuple(pairs))


def _comprehension(kind_word: str) -> ExpressionHandler:
    def lower(low: Lowering, node: Node) -> Expression:
        site = mark(low, node)
        element, *rest = items(node)
        if element.kind_id == _PAIR:
            key, value = items(element)
            shape: Expression | Pair = Pair(expression(low, key), expression(low, value))
        else:
            shape = expression(low, element)
        clauses: list[tuple[Expression, Expression, list[Expression]]] = []
        for clause in rest:
            if clause.kind_id == _FOR:
                clauses.append((_target(low, clause), _iterable(low, clause), []))
            else:
                clauses[-1][2].append(expression(low, items(clause)[0]))
        frozen = tuple([Clause(target, iterable, tuple(conditions)) for target, iterable, conditions in clauses])
        return Comprehension("comp", site, kind_word, shape, frozen)

    return lower


def _target(low: Lowering, clause: Node) -> Expression:
    node = clause.child_by_field_id(_LEFT)
    assert node is not None
    return expression(low, node)


def _iterable(low: Lowering, clause: Node) -> Expression:
    node = clause.child_by_field_id(_RIGHT)
    assert node is not None
    return expression(low, node)


OPERATORS: Mapping[str, ExpressionHandler] = {
    "binary_operator": _binary,
    "boolean_operator": _boolean,
    "comparison_operator": _comparison,
    "conditional_expression": _conditional,
    "dictionary": _dictionary,
    "dictionary_comprehension": _comprehension("dict"),
    "expression_list": _tuple,
    "generator_expression": _comprehension("gen"),
    "list": _list,
    "list_comprehension": _comprehension("list"),
    "list_pattern": _list,
    "named_expression": _walrus,
    "not_operator": _not,
    "pattern_list": _tuple,
    "set": _set,
    "set_comprehension": _comprehension("set"),
    "tuple": _tuple,
    "tuple_pattern": _tuple_pattern,
    "unary_operator": _unary,
}
