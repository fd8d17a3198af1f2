"""Lowers constants, attributes, calls, subscripts, and wrappers without a meaning of their own."""

from __future__ import annotations

from collections.abc import Mapping

from meshlens.facts.lower.lowering import (
    DEEPEST,
    ExpressionHandler,
    Lowering,
    expression,
    mark,
    mark_between,
    maybe,
    new,
    opaque,
    text_of,
)
from meshlens.facts.nodes import (
    Argument,
    Attribute,
    BinaryOperation,
    Call,
    Constant,
    Expression,
    Name,
    Opaque,
    Slice,
    Starred,
    Subscript,
    TupleDisplay,
    Yield,
)
from meshlens.syntax.kinds import field, items, kind, parts
from meshlens.syntax.parse import Node

_KEYWORD_ARGUMENT = kind("keyword_argument")
_GENERATOR = kind("generator_expression")
_LIST_SPLAT = kind("list_splat")
_DICTIONARY_SPLAT = kind("dictionary_splat")
_TYPE = kind("type")
_UNION = kind("union_type")
_BINARY = kind("binary_operator")
_SUBSCRIPT = field("subscript")

MOST_BITS = 256
"""Maximum number of bits of an integer whose value is kept."""


def arguments(low: Lowering, node: Node) -> tuple[Argument, ...]:
    """Returns the arguments of a call, or the bases of a class."""
    if node.kind_id == _GENERATOR:
        inner = node.children
        start, end = inner[1].start_byte, inner[-2].end_byte
        shape = expression(low, node)
        low.spans[shape.site] = (start, end)
        return (Argument(None, mark_between(low, start, end), shape),)
    if not node.has_error:
        return tuple([_argument(low, item) for item in items(node)])
    found: list[Argument] = []
    for item in items(node):
        argument = _argument(low, item)
        if not item.is_error:
            found.append(argument)
        elif found and isinstance(name := found[-1].value, Name) and text_of(low, item).startswith("="):
            # A keyword whose value has not been typed yet.
            found[-1] = Argument(name.name, found[-1].site, argument.value)
        else:
            # The final number of arguments is not known yet.
            found.append(argument._replace(label="*"))
    return tuple(found)


def _argument(low: Lowering, node: Node) -> Argument:
    number = node.kind_id
    site = mark(low, node)
    if number == _KEYWORD_ARGUMENT:
        found = items(node)
        return new(Argument, (text_of(low, found[0]), site, expression(low, found[-1])))
    if number == _LIST_SPLAT:
        return Argument("*", site, expression(low, items(node)[0]))
    if number == _DICTIONARY_SPLAT:
        return Argument("**", site, expression(low, items(node)[0]))
    return new(Argument, (None, site, expression(low, node)))


def _call(low: Lowering, node: Node) -> Expression:
    children = node.children
    site = mark(low, node)
    callee = expression(low, children[0])
    found = arguments(low, children[-1])
    if isinstance(callee, Starred):
        return _under_star(low, callee, site, Call("call", site, callee.value, found))
    return new(Call, ("call", site, callee, found))


def _attribute(low: Lowering, node: Node) -> Expression:
    children = node.children
    site = mark(low, node)
    value = expression(low, children[0])
    text = text_of(low, children[-1])
    if isinstance(value, Starred):
        return _under_star(low, value, site, Attribute("attr", site, value.value, text))
    return new(Attribute, ("attr", site, value, text))


def _subscript(low: Lowering, node: Node) -> Expression:
    children = parts(node)
    site = mark(low, node)
    value = expression(low, children[0])
    index = expression(low, children[2]) if len(children) == 4 else None
    if index is None or isinstance(index, Starred):
        whole = mark_between(low, children[2].start_byte, children[-2].end_byte)
        found = node.children_by_field_id(_SUBSCRIPT) if index is None else ()
        index = TupleDisplay("tuple", whole, (index,) if index else tuple([expression(low, item) for item in found]))
    if isinstance(value, Starred):
        return _under_star(low, value, site, Subscript("sub", site, value.value, index))
    return Subscript("sub", site, value, index)


def _under_star(low: Lowering, star: Starred, site: int, shape: Expression) -> Starred:
    """Returns `*f(x)` as intended; the grammar may parse it as `(*f)(x)`, which is not valid Python."""
    start, end = low.spans[site]
    inside = start + 1
    while low.source[inside] in b" \t\f\r\n\\":
        inside += 1
    low.spans[star.site] = (start, end)
    low.spans[site] = (inside, end)
    return Starred("star", star.site, shape)


def _slice(low: Lowering, node: Node) -> Expression:
    site = mark(low, node)
    bounds: list[Expression | None] = [None, None, None]
    at = 0
    for child in parts(node):
        if child.is_named:
            bounds[at] = expression(low, child)
        else:
            at += 1
    return Slice("slice", site, *bounds)


def _inner(low: Lowering, node: Node) -> Expression:
    return expression(low, items(node)[0])


def _outermost(low: Lowering, node: Node) -> Expression:
    found = items(node)
    return expression(low, found[0]) if len(found) == 1 else opaque(low, node)


def _generic_type(low: Lowering, node: Node) -> Expression:
    site = mark(low, node)
    value, index = items(node)
    base = expression(low, value)
    children = parts(index)
    if len(children) == 3:
        return Subscript("sub", site, base, expression(low, children[1]))
    inner = mark_between(low, children[1].start_byte, children[-2].end_byte)
    return Subscript(
        "sub", site, base, TupleDisplay("tuple", inner, tuple([expression(low, item) for item in items(index)]))
    )


def _union_type(low: Lowering, node: Node) -> Expression:
    first, *rest = _members(node)
    if len(rest) > DEEPEST:
        return opaque(low, node)
    shape = expression(low, first)
    for member in rest:
        site = mark_between(low, node.start_byte, member.end_byte)
        shape = BinaryOperation("bin", site, "|", shape, expression(low, member))
    return shape


def _members(node: Node) -> list[Node]:
    """Returns the operands of `|` from left to right; the grammar groups them differently."""
    found: list[Node] = []
    waiting = [node]
    while waiting:
        top = waiting.pop()
        number = top.kind_id
        children = parts(top)
        if number == _TYPE and len(children) == 1:
            waiting.append(children[0])
        elif number == _UNION or (number == _BINARY and children[1].type == "|"):
            waiting += (children[2], children[0])
        else:
            found.append(top)
    return found


def _dotted_name(low: Lowering, node: Node) -> Expression:
    names = items(node)
    if len(names) > DEEPEST:
        return Opaque("opaque", mark(low, node), ())
    shape = expression(low, names[0])
    for name in names[1:]:
        shape = Attribute("attr", mark_between(low, node.start_byte, name.end_byte), shape, text_of(low, name))
    return shape


def _case_pattern(low: Lowering, node: Node) -> Expression:
    if node.child_count != 1:
        return opaque(low, node)
    found = items(node)
    return expression(low, found[0]) if found else Name("name", mark(low, node), "_")


def _keyword_pattern(low: Lowering, node: Node) -> Expression:
    return expression(low, items(node)[-1])


def _star(low: Lowering, node: Node) -> Expression:
    return Starred("star", mark(low, node), expression(low, items(node)[0]))


def _yield(low: Lowering, node: Node) -> Expression:
    low.generator = True
    found = items(node)
    if found and any(child.type == "from" for child in node.children):
        return Yield("yield", mark(low, node), Starred("star", mark(low, node), expression(low, found[0])))
    return Yield("yield", mark(low, node), maybe(low, found[0] if found else None))


def _true(low: Lowering, node: Node) -> Expression:
    return Constant("const", mark(low, node), True)


def _false(low: Lowering, node: Node) -> Expression:
    return Constant("const", mark(low, node), False)


def _none(low: Lowering, node: Node) -> Expression:
    return Constant("const", mark(low, node), None)


def _ellipsis(low: Lowering, node: Node) -> Expression:
    return Constant("const", mark(low, node), ...)


def _integer(low: Lowering, node: Node) -> Expression:
    site, text = mark(low, node), text_of(low, node)
    try:
        value = int(text, 0)
    except ValueError:
        return _imaginary(site, text)
    return Constant("const", site, value) if value.bit_length() <= MOST_BITS else Opaque("opaque", site, ())


def _float(low: Lowering, node: Node) -> Expression:
    site, text = mark(low, node), text_of(low, node)
    try:
        return Constant("const", site, float(text))
    except ValueError:
        return _imaginary(site, text)


def _imaginary(site: int, text: str) -> Opaque:
    """Returns a complex number, or what stands for a number that Python does not accept."""
    try:
        part = float(text[:-1]) if text[-1:] in ("j", "J") else None
    except ValueError:
        part = None
    return Opaque("opaque", site, (Constant("const", site, part),) if part is not None else ())


NAMES: Mapping[str, ExpressionHandler] = {
    "attribute": _attribute,
    "await": _inner,
    "call": _call,
    "case_pattern": _case_pattern,
    "constrained_type": _inner,
    "dotted_name": _dotted_name,
    "ellipsis": _ellipsis,
    "false": _false,
    "float": _float,
    "generic_type": _generic_type,
    "integer": _integer,
    "keyword_pattern": _keyword_pattern,
    "list_splat": _star,
    "list_splat_pattern": _star,
    "member_type": _attribute,
    "none": _none,
    "parenthesized_expression": _outermost,
    "parenthesized_list_splat": _outermost,
    "slice": _slice,
    "splat_type": _star,
    "subscript": _subscript,
    "true": _true,
    "type": _inner,
    "union_type": _union_type,
    "yield": _yield,
}
