"""Lowers compound statements: branches, loops, `with`, `try` and `match`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from meshlens.facts.lower.lowering import (
    DEEPEST,
    Lowering,
    StatementHandler,
    body,
    expression,
    mark,
    mark_between,
    maybe,
)
from meshlens.facts.lower.lowering import text_of as text
from meshlens.facts.nodes import (
    Arm,
    Expression,
    ExpressionStatement,
    For,
    Handler,
    If,
    Match,
    Opaque,
    Statements,
    Try,
    TupleDisplay,
    While,
    With,
    WithItem,
)
from meshlens.syntax.kinds import field, items, kind
from meshlens.syntax.parse import Node

_ELIF = kind("elif_clause")
_ELSE = kind("else_clause")
_EXCEPT = (kind("except_clause"), kind("except_group_clause"))
_FINALLY = kind("finally_clause")
_WITH_CLAUSE = kind("with_clause")
_AS_PATTERN = kind("as_pattern")
_CASE_CLAUSE = kind("case_clause")
_CASE_PATTERN = kind("case_pattern")
_BLOCK = kind("block")
_WRAPPERS = (kind("parenthesized_expression"), kind("tuple"), kind("with_item"))
_CONDITION = field("condition")
_CONSEQUENCE = field("consequence")
_ALTERNATIVE = field("alternative")
_BODY = field("body")
_LEFT = field("left")
_RIGHT = field("right")
_SUBJECT = field("subject")
_GUARD = field("guard")
_ALIAS = field("alias")


def _if(low: Lowering, node: Node) -> If:
    site = mark(low, node)
    test = expression(low, _child(node, _CONDITION))
    then = body(low, node.child_by_field_id(_CONSEQUENCE))
    return If("if", site, test, then, _otherwise(low, node.children_by_field_id(_ALTERNATIVE), 0))


def _otherwise(low: Lowering, clauses: Sequence[Node], at: int) -> Statements:
    if at == len(clauses):
        return ()
    clause = clauses[at]
    if clause.kind_id != _ELIF:
        return _suite(low, clause)
    start, end = clause.start_byte, clauses[-1].end_byte
    site = mark_between(low, start, end)
    if low.depth >= DEEPEST:
        return (ExpressionStatement("expr", site, Opaque("opaque", mark_between(low, start, end), ())),)
    low.depth += 1
    test = expression(low, _child(clause, _CONDITION))
    then = body(low, clause.child_by_field_id(_CONSEQUENCE))
    shape = If("if", site, test, then, _otherwise(low, clauses, at + 1))
    low.depth -= 1
    return (shape,)


def _while(low: Lowering, node: Node) -> While:
    site = mark(low, node)
    test = expression(low, _child(node, _CONDITION))
    suite = body(low, node.child_by_field_id(_BODY))
    return While("while", site, test, suite, _else(low, node))


def _for(low: Lowering, node: Node) -> For:
    site = mark(low, node)
    target = expression(low, _child(node, _LEFT))
    iterable = expression(low, _child(node, _RIGHT))
    suite = body(low, node.child_by_field_id(_BODY))
    return For("for", site, target, iterable, suite, _else(low, node))


def _else(low: Lowering, node: Node) -> Statements:
    clause = node.child_by_field_id(_ALTERNATIVE)
    return _suite(low, clause) if clause is not None else ()


def _suite(low: Lowering, clause: Node) -> Statements:
    return body(low, next((child for child in clause.named_children if child.kind_id == _BLOCK), None))


def _with(low: Lowering, node: Node) -> With:
    site = mark(low, node)
    found: list[WithItem] = []
    for clause in node.named_children:
        if clause.kind_id == _WITH_CLAUSE:
            for item in items(clause):
                found.extend(_with_items(low, item))
    return With("with", site, tuple(found), body(low, node.child_by_field_id(_BODY)))


def _with_items(low: Lowering, node: Node) -> list[WithItem]:
    if node.kind_id == _AS_PATTERN:
        value, alias = items(node)
        return [WithItem(expression(low, value), expression(low, items(alias)[0]))]
    if node.kind_id in _WRAPPERS:
        return [item for child in items(node) for item in _with_items(low, child)]
    return [WithItem(expression(low, node), None)]


def _try(low: Lowering, node: Node) -> Try:
    site = mark(low, node)
    suite = body(low, node.child_by_field_id(_BODY))
    handlers: list[Handler] = []
    otherwise: Statements = ()
    final: Statements = ()
    for clause in node.named_children:
        number = clause.kind_id
        if number in _EXCEPT:
            handlers.append(_handler(low, clause))
        elif number == _ELSE:
            otherwise = _suite(low, clause)
        elif number == _FINALLY:
            final = _suite(low, clause)
    return Try("try", site, suite, tuple(handlers), otherwise, final)


def _handler(low: Lowering, clause: Node) -> Handler:
    found = [child for child in items(clause) if child.kind_id != _BLOCK]
    caught = found[0] if found else None
    alias = found[1] if len(found) > 1 else None
    if caught is not None and caught.kind_id == _AS_PATTERN:
        target = _child(caught, _ALIAS)
        caught, alias = items(caught)[0], items(target)[0]
    exception = maybe(low, caught)
    return Handler(exception, text(low, alias) if alias is not None else None, _suite(low, clause))


def _match(low: Lowering, node: Node) -> Match:
    site = mark(low, node)
    suite = _child(node, _BODY)
    subject = _joined(low, node, node.children_by_field_id(_SUBJECT))
    arms: list[Arm] = []
    for clause in suite.named_children:
        if clause.kind_id != _CASE_CLAUSE:
            continue
        pattern = _joined(low, clause, [child for child in clause.named_children if child.kind_id == _CASE_PATTERN])
        guard = clause.child_by_field_id(_GUARD)
        condition = expression(low, items(guard)[0]) if guard is not None else None
        arms.append(Arm(pattern, condition, body(low, clause.child_by_field_id(_CONSEQUENCE))))
    return Match("match", site, subject, tuple(arms))


def _joined(low: Lowering, owner: Node, nodes: Sequence[Node]) -> Expression:
    """Returns one expression for the nodes between a keyword and its colon; a comma makes it a tuple."""
    commas = [child for child in owner.children if child.type == ","]
    if not commas:
        return expression(low, nodes[0])
    site = mark_between(low, nodes[0].start_byte, max(nodes[-1].end_byte, commas[-1].end_byte))
    return TupleDisplay("tuple", site, tuple([expression(low, node) for node in nodes]))


def _child(node: Node, field_id: int) -> Node:
    child = node.child_by_field_id(field_id)
    assert child is not None
    return child


COMPOUND: Mapping[str, StatementHandler] = {
    "for_statement": _for,
    "if_statement": _if,
    "match_statement": _match,
    "try_statement": _try,
    "while_statement": _while,
    "with_statement": _with,
}
