"""Tests whose outcome is certain because they compare arguments that are constants or defaults."""

from __future__ import annotations

from collections.abc import Mapping

from meshlens.facts.nodes import BoolOperation, Comparison, Constant, Name, Not
from meshlens.project.trees import Node

Constants = Mapping[str, object]
_UNKNOWN = object()


def constant_of(known: Constants, node: Node) -> Constant | None:
    """Returns a constant, or the constant that a name is bound to; None for other expressions.

    Args:
        known: the constants that names are bound to.
        node: the expression.
    """
    if isinstance(node, Constant):
        return node
    value = known.get(node.name, _UNKNOWN) if isinstance(node, Name) else _UNKNOWN
    return None if value is _UNKNOWN else Constant("const", node.site, value)


def outcome(known: Constants, test: Node) -> bool | None:
    """Returns the certain outcome of a test; None if it is unknown.

    Args:
        known: the constants that names are bound to.
        test: the test.
    """
    if isinstance(test, Not):
        inner = outcome(known, test.operand)
        return None if inner is None else not inner
    if isinstance(test, BoolOperation):
        every = [outcome(known, one) for one in test.items]
        decides = test.operator == "or"
        if decides in every:
            return decides
        return None if None in every else not decides
    if isinstance(test, Comparison):
        return _compared(known, test)
    found = constant_of(known, test)
    return None if found is None else bool(found.value)


def _compared(known: Constants, test: Comparison) -> bool | None:
    if len(test.operators) != 1:
        return None
    left, right = (constant_of(known, one) for one in test.operands)
    if left is None or right is None:
        return None
    operator = test.operators[0]
    if operator in ("is", "is not") and None in (left.value, right.value):
        return bool((left.value is right.value) == (operator == "is"))
    if operator in ("==", "!=") and type(left.value) is type(right.value):
        return bool((left.value == right.value) == (operator == "=="))
    return None
