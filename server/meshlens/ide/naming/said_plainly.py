"""Literals whose context makes them axis names, even if no analyzed route passes them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.axes.domain.values import Site
from meshlens.facts.model import Shape
from meshlens.facts.nodes import (
    Assign,
    Attribute,
    BoolOperation,
    Call,
    Comparison,
    Constant,
    DictDisplay,
    Expression,
    IfExpression,
    ListDisplay,
    SetDisplay,
    Subscript,
    TupleDisplay,
    last_name,
)
from meshlens.facts.walking import nodes
from meshlens.jaxapi.collectives import COLLECTIVES
from meshlens.project.view import FileView

_KEYWORD = re.compile(r"axis_names?$|axis_resources$|replica_axis$|mesh_axes$")
_SPEAKS = re.compile(r"axis_names?$|axis_resources$")
_RULES = re.compile(r"rules$", re.IGNORECASE)
_CALLEES = frozenset({row.name for row in COLLECTIVES.values()}) | {"PartitionSpec", "P", "Mesh", "make_mesh"}


def said_plainly(view: FileView, name: str) -> Iterator[Site]:
    """Yields the literals in the workspace that equal a name and, judging by their context, are axis names.

    They are arguments of collectives, specs and meshes, values of keywords such as `axis_name=`, keys of a mesh's
    shape, parts of rules that map logical axes, and values compared with an axis name.

    Args:
        view: a file of the workspace.
        name: the axis name.
    """
    quoted = (f'"{name}"'.encode(), f"'{name}'".encode())
    for path, facts in view.solution.facts.items():
        source = view.texts[path]
        if not any(one in source for one in quoted):
            continue
        for key, block in facts.blocks.items():
            span = block.span(0)
            if any(source.find(one, span.start, span.end) >= 0 for one in quoted):
                for index in _in_shape(block.shape, name):
                    yield Site(path, key, index)


def _in_shape(shape: Shape, name: str) -> Iterator[int]:
    for node in nodes(shape):
        if isinstance(node, Call):
            yield from _of_call(node, name)
        elif isinstance(node, Subscript) and _is_shape(node.object):
            yield from _strings(node.key, name)
        elif isinstance(node, Comparison) and any(_SPEAKS.search(last_name(item)) for item in node.operands):
            for item in node.operands:
                yield from _strings(item, name)
        elif isinstance(node, Assign) and any(_RULES.search(last_name(target)) for target in node.targets):
            yield from _strings(node.value, name)


def _of_call(node: Call, name: str) -> Iterator[int]:
    callee = last_name(node.callee)
    reads_shape = callee == "get" and isinstance(node.callee, Attribute) and _is_shape(node.callee.object)
    for label, _, value in node.arguments:
        if reads_shape or callee in _CALLEES or (label and (_KEYWORD.search(label) or _RULES.search(label))):
            yield from _strings(value, name)


def _strings(node: Expression, name: str) -> Iterator[int]:
    """Yields the sites of the string literals in an expression that equal a name.

    Such a literal is the expression itself, an item of a display, a branch of a conditional expression, or an operand
    of `and` or `or`.
    """
    if isinstance(node, Constant):
        if node.value == name and isinstance(node.value, str):
            yield node.site
    elif isinstance(node, (TupleDisplay, ListDisplay, SetDisplay)):
        for item in node.items:
            yield from _strings(item, name)
    elif isinstance(node, DictDisplay):
        for key, value in node.pairs:
            yield from (*(_strings(key, name) if key is not None else ()), *_strings(value, name))
    elif isinstance(node, IfExpression):
        yield from (*_strings(node.then, name), *_strings(node.otherwise, name))
    elif isinstance(node, BoolOperation):
        for item in node.items:
            yield from _strings(item, name)


def _is_shape(node: Expression) -> bool:
    return isinstance(node, Attribute) and node.name == "shape"
