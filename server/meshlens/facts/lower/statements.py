"""Lowers simple statements."""

from __future__ import annotations

from collections.abc import Mapping

from meshlens.facts.lower.lowering import (
    Lowering,
    StatementHandler,
    expression,
    mark,
    maybe,
    opaque_statement,
    text_of,
)
from meshlens.facts.lower.operators import operator_of
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
    Import,
    Imported,
    ImportFrom,
    Nonlocal,
    Opaque,
    Pass,
    Raise,
    Return,
    Statement,
    Subscript,
    TupleDisplay,
)
from meshlens.syntax.kinds import field, items, kind, parts
from meshlens.syntax.parse import Node

_ASSIGNMENT = kind("assignment")
_AUGMENTED = kind("augmented_assignment")
_ALIASED = kind("aliased_import")
_RELATIVE = kind("relative_import")
_WILDCARD = kind("wildcard_import")
_PREFIX = kind("import_prefix")
_EXPRESSION_LIST = kind("expression_list")
_LEFT = field("left")
_RIGHT = field("right")
_TYPE = field("type")
_NAME = field("name")
_MODULE = field("module_name")


def _expression_statement(low: Lowering, node: Node) -> Statement:
    found = items(node)
    only = found[0]
    if only.kind_id == _ASSIGNMENT:
        return _assignment(low, only)
    site = mark(low, node)
    if only.kind_id == _AUGMENTED:
        left, operator, right = parts(only)
        return AugAssign("aug", site, expression(low, left), operator_of(operator)[:-1], expression(low, right))
    if len(parts(node)) == 1:
        return ExpressionStatement("expr", site, expression(low, only))
    listed = mark(low, node)
    return ExpressionStatement(
        "expr", site, TupleDisplay("tuple", listed, tuple([expression(low, item) for item in found]))
    )


def _assignment(low: Lowering, node: Node) -> Statement:
    site = mark(low, node)
    annotation = node.child_by_field_id(_TYPE)
    left, right = node.child_by_field_id(_LEFT), node.child_by_field_id(_RIGHT)
    assert left is not None
    if annotation is not None:
        return AnnAssign("ann", site, expression(low, left), expression(low, annotation), maybe(low, right))
    targets = [expression(low, left)]
    while right is not None and right.kind_id == _ASSIGNMENT:
        left, right = right.child_by_field_id(_LEFT), right.child_by_field_id(_RIGHT)
        assert left is not None
        targets.append(expression(low, left))
    assert right is not None
    return Assign("assign", site, tuple(targets), expression(low, right))


def _type_alias(low: Lowering, node: Node) -> Statement:
    site = mark(low, node)
    left, right = items(node)
    target = expression(low, left)
    if low.source[left.start_byte : left.start_byte + 1] == b"(":
        # `type(self).count = 0` is an assignment, although the grammar disagrees.
        target = Opaque("opaque", mark(low, left), (target,))
    elif isinstance(target, Subscript):
        target = target.object
    return Assign("assign", site, (target,), expression(low, right))


def _import(low: Lowering, node: Node) -> Statement:
    site = mark(low, node)
    return Import("import", site, tuple([_imported(low, name) for name in node.children_by_field_id(_NAME)]))


def _from(low: Lowering, node: Node) -> Statement:
    site = mark(low, node)
    origin = node.child_by_field_id(_MODULE)
    level, module = 0, "__future__"
    if origin is not None and origin.kind_id == _RELATIVE:
        found = items(origin)
        level = text_of(low, found[0]).count(".")
        module = _dotted(low, found[1]) if len(found) > 1 else ""
    elif origin is not None:
        module = _dotted(low, origin)
    names = [_imported(low, name) for name in node.children_by_field_id(_NAME)]
    names.extend(Imported("*", None, mark(low, child)) for child in items(node) if child.kind_id == _WILDCARD)
    return ImportFrom("from", site, level, module, tuple(names))


def _imported(low: Lowering, node: Node) -> Imported:
    if node.kind_id != _ALIASED:
        return Imported(_dotted(low, node), None, mark(low, node))
    name, alias = items(node)
    return Imported(_dotted(low, name), text_of(low, alias), mark(low, name))


def _dotted(low: Lowering, node: Node) -> str:
    return ".".join([text_of(low, name) for name in items(node)])


def _return(low: Lowering, node: Node) -> Statement:
    found = items(node)
    return Return("return", mark(low, node), maybe(low, found[0] if found else None))


def _raise(low: Lowering, node: Node) -> Statement:
    found = items(node)
    return Raise("raise", mark(low, node), maybe(low, found[0] if found else None))


def _delete(low: Lowering, node: Node) -> Statement:
    site = mark(low, node)
    only = items(node)[0]
    targets = items(only) if only.kind_id == _EXPRESSION_LIST else [only]
    return Delete("del", site, tuple([expression(low, target) for target in targets]))


def _assert(low: Lowering, node: Node) -> Statement:
    site = mark(low, node)
    test, *message = items(node)
    return Assert("assert", site, expression(low, test), maybe(low, message[0] if message else None))


def _global(low: Lowering, node: Node) -> Global:
    return Global("global", mark(low, node), tuple([text_of(low, name) for name in items(node)]))


def _nonlocal(low: Lowering, node: Node) -> Nonlocal:
    return Nonlocal("nonlocal", mark(low, node), tuple([text_of(low, name) for name in items(node)]))


def _break(low: Lowering, node: Node) -> Break:
    return Break("break", mark(low, node))


def _continue(low: Lowering, node: Node) -> Continue:
    return Continue("continue", mark(low, node))


def _pass(low: Lowering, node: Node) -> Pass:
    return Pass("pass", mark(low, node))


SIMPLE: Mapping[str, StatementHandler] = {
    "assert_statement": _assert,
    "break_statement": _break,
    "continue_statement": _continue,
    "delete_statement": _delete,
    "exec_statement": opaque_statement,
    "expression_statement": _expression_statement,
    "future_import_statement": _from,
    "global_statement": _global,
    "import_from_statement": _from,
    "import_statement": _import,
    "nonlocal_statement": _nonlocal,
    "pass_statement": _pass,
    "print_statement": opaque_statement,
    "raise_statement": _raise,
    "return_statement": _return,
    "type_alias_statement": _type_alias,
}
