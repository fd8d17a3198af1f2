"""Lowers what stands for a value by itself: constants, attributes, calls, subscripts, and wrappers without meaning."""

from __future__ import annotations

from collections.abc import Mapping

from meshlens.facts.lowering import (
    DEEPEST,
    Handler,
    Lowering,
    expression,
    mark,
    mark_between,
    maybe,
    opaque,
    text_of,
)
from meshlens.facts.model import Shape
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
"""Bits of an integer that is followed."""


def arguments(low: Lowering, node: Node) -> tuple[Shape, ...]:
    """The arguments of a call, or the bases of a class."""
    if node.kind_id == _GENERATOR:
        inner = node.children
        start, end = inner[1].start_byte, inner[-2].end_byte
        shape = expression(low, node)
        low.spans[shape[1]] = (start, end)
        return ((None, mark_between(low, start, end), shape),)
    if not node.has_error:
        return tuple([_argument(low, item) for item in items(node)])
    found: list[Shape] = []
    for item in items(node):
        argument = _argument(low, item)
        if not item.is_error:
            found.append(argument)
        elif found and found[-1][2][0] == "name" and text_of(low, item).startswith("="):
            # A keyword whose value is still to be typed.
            found[-1] = (found[-1][2][2], found[-1][1], argument[2])
        else:
            # How many arguments there are to be is not known yet.
            found.append(("*", argument[1], argument[2]))
    return tuple(found)


def _argument(low: Lowering, node: Node) -> Shape:
    number = node.kind_id
    site = mark(low, node)
    if number == _KEYWORD_ARGUMENT:
        found = items(node)
        return (text_of(low, found[0]), site, expression(low, found[-1]))
    if number == _LIST_SPLAT:
        return ("*", site, expression(low, items(node)[0]))
    if number == _DICTIONARY_SPLAT:
        return ("**", site, expression(low, items(node)[0]))
    return (None, site, expression(low, node))


def _call(low: Lowering, node: Node) -> Shape:
    children = node.children
    site = mark(low, node)
    callee = expression(low, children[0])
    found = arguments(low, children[-1])
    if callee[0] == "star":
        return _under_star(low, callee, site, ("call", site, callee[2], found))
    return ("call", site, callee, found)


def _attribute(low: Lowering, node: Node) -> Shape:
    children = node.children
    site = mark(low, node)
    value = expression(low, children[0])
    text = text_of(low, children[-1])
    if value[0] == "star":
        return _under_star(low, value, site, ("attr", site, value[2], text))
    return ("attr", site, value, text)


def _subscript(low: Lowering, node: Node) -> Shape:
    children = parts(node)
    site = mark(low, node)
    value = expression(low, children[0])
    index = expression(low, children[2]) if len(children) == 4 else None
    if index is None or index[0] == "star":
        whole = mark_between(low, children[2].start_byte, children[-2].end_byte)
        found = node.children_by_field_id(_SUBSCRIPT) if index is None else ()
        index = ("tuple", whole, (index,) if index else tuple([expression(low, item) for item in found]))
    if value[0] == "star":
        return _under_star(low, value, site, ("sub", site, value[2], index))
    return ("sub", site, value, index)


def _under_star(low: Lowering, star: Shape, site: int, shape: Shape) -> Shape:
    """`*f(x)` as it is meant; the grammar may read it as `(*f)(x)`, which is no Python."""
    start, end = low.spans[site]
    inside = start + 1
    while low.source[inside] in b" \t\f\r\n\\":
        inside += 1
    low.spans[star[1]] = (start, end)
    low.spans[site] = (inside, end)
    return ("star", star[1], shape)


def _slice(low: Lowering, node: Node) -> Shape:
    site = mark(low, node)
    bounds: list[Shape | None] = [None, None, None]
    at = 0
    for child in parts(node):
        if child.is_named:
            bounds[at] = expression(low, child)
        else:
            at += 1
    return ("slice", site, *bounds)


def _inner(low: Lowering, node: Node) -> Shape:
    return expression(low, items(node)[0])


def _outermost(low: Lowering, node: Node) -> Shape:
    found = items(node)
    return expression(low, found[0]) if len(found) == 1 else opaque(low, node)


def _generic_type(low: Lowering, node: Node) -> Shape:
    site = mark(low, node)
    value, index = items(node)
    base = expression(low, value)
    children = parts(index)
    if len(children) == 3:
        return ("sub", site, base, expression(low, children[1]))
    inner = mark_between(low, children[1].start_byte, children[-2].end_byte)
    return ("sub", site, base, ("tuple", inner, tuple([expression(low, item) for item in items(index)])))


def _union_type(low: Lowering, node: Node) -> Shape:
    first, *rest = _members(node)
    if len(rest) > DEEPEST:
        return opaque(low, node)
    shape = expression(low, first)
    for member in rest:
        site = mark_between(low, node.start_byte, member.end_byte)
        shape = ("bin", site, "|", shape, expression(low, member))
    return shape


def _members(node: Node) -> list[Node]:
    """The operands of `|` from left to right; the grammar groups them in its own way."""
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


def _dotted_name(low: Lowering, node: Node) -> Shape:
    names = items(node)
    if len(names) > DEEPEST:
        return ("opaque", mark(low, node), ())
    shape = expression(low, names[0])
    for name in names[1:]:
        shape = ("attr", mark_between(low, node.start_byte, name.end_byte), shape, text_of(low, name))
    return shape


def _case_pattern(low: Lowering, node: Node) -> Shape:
    if node.child_count != 1:
        return opaque(low, node)
    found = items(node)
    return expression(low, found[0]) if found else ("name", mark(low, node), "_")


def _keyword_pattern(low: Lowering, node: Node) -> Shape:
    return expression(low, items(node)[-1])


def _star(low: Lowering, node: Node) -> Shape:
    return ("star", mark(low, node), expression(low, items(node)[0]))


def _yield(low: Lowering, node: Node) -> Shape:
    low.generator = True
    found = items(node)
    return ("yield", mark(low, node), maybe(low, found[0] if found else None))


def _true(low: Lowering, node: Node) -> Shape:
    return ("const", mark(low, node), True)


def _false(low: Lowering, node: Node) -> Shape:
    return ("const", mark(low, node), False)


def _none(low: Lowering, node: Node) -> Shape:
    return ("const", mark(low, node), None)


def _ellipsis(low: Lowering, node: Node) -> Shape:
    return ("const", mark(low, node), ...)


def _integer(low: Lowering, node: Node) -> Shape:
    site = mark(low, node)
    try:
        value = int(text_of(low, node), 0)
    except ValueError:
        return ("opaque", site, ())
    return ("const", site, value) if value.bit_length() <= MOST_BITS else ("opaque", site, ())


def _float(low: Lowering, node: Node) -> Shape:
    site = mark(low, node)
    try:
        return ("const", site, float(text_of(low, node)))
    except ValueError:
        return ("opaque", site, ())


NAMES: Mapping[str, Handler] = {
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
