"""Lowers functions, lambdas, classes and their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from meshlens.facts.lower.lowering import (
    ExpressionHandler,
    Lowering,
    StatementHandler,
    body,
    expression,
    mark,
    mark_between,
    maybe,
    text_of,
)
from meshlens.facts.lower.names import arguments
from meshlens.facts.nodes import (
    ClassDef,
    Expressions,
    FunctionDef,
    FunctionShape,
    How,
    Lambda,
    Opaque,
    Parameter,
    SeparateDef,
    Statement,
)
from meshlens.syntax.kinds import field, items, kind
from meshlens.syntax.parse import Node

DECORATED = kind("decorated_definition")
FUNCTION = kind("function_definition")
CLASS = kind("class_definition")
_DECORATOR = kind("decorator")
_IDENTIFIER = kind("identifier")
_TYPED = kind("typed_parameter")
_DEFAULTS = (kind("default_parameter"), kind("typed_default_parameter"))
_STAR = kind("list_splat_pattern")
_STARS = kind("dictionary_splat_pattern")
_KEYWORD_ONLY = kind("keyword_separator")
_POSITIONAL_ONLY = kind("positional_separator")
_NAME = field("name")
_PARAMETERS = field("parameters")
_BODY = field("body")
_DEFINITION = field("definition")
_TYPE = field("type")
_VALUE = field("value")
_SUPERCLASSES = field("superclasses")
_PLAIN: frozenset[str] = frozenset()


def definition_of(node: Node) -> Node | None:
    """Returns the definition in a statement that defines a function or class, with or without decorators."""
    if node.kind_id == DECORATED:
        return node.child_by_field_id(_DEFINITION)
    return node if node.kind_id in (FUNCTION, CLASS) else None


def name_of(definition: Node) -> Node | None:
    """Returns the name of a function or class."""
    return definition.child_by_field_id(_NAME)


def body_of(definition: Node) -> Node | None:
    """Returns the suite of a function or class."""
    return definition.child_by_field_id(_BODY)


def function_block(low: Lowering, node: Node) -> FunctionShape:
    """Returns a function that is a separate block; site 0 is all of it, including decorators."""
    mark(low, node)
    definition = definition_of(node)
    assert definition is not None
    return _function(low, definition, _decorators(low, node))


def _definition(low: Lowering, node: Node) -> Statement:
    site = mark(low, node)
    key = low.holes.get(low.spans[site][0]) if low.holes else None
    if key is not None:
        return SeparateDef("def", site, key)
    definition = definition_of(node)
    assert definition is not None
    decorators = _decorators(low, node)
    if definition.kind_id == FUNCTION:
        return FunctionDef("fn", site, _function(low, definition, decorators))
    name = name_of(definition)
    assert name is not None
    name_site = mark(low, name)
    superclasses = definition.child_by_field_id(_SUPERCLASSES)
    bases = arguments(low, superclasses) if superclasses is not None else ()
    suite = body(low, body_of(definition))
    return ClassDef("class", site, text_of(low, name), name_site, bases, decorators, suite)


def _decorators(low: Lowering, node: Node) -> Expressions:
    if node.kind_id != DECORATED:
        return ()
    return tuple([expression(low, items(child)[0]) for child in node.named_children if child.kind_id == _DECORATOR])


def _function(low: Lowering, node: Node, decorators: Expressions) -> FunctionShape:
    name = name_of(node)
    assert name is not None
    name_site = mark(low, name)
    listed = parameters(low, node.child_by_field_id(_PARAMETERS))
    outer, low.generator = low.generator, False
    suite = body(low, body_of(node))
    first = node.child(0)
    flags = [
        word
        for word, holds in (("async", first is not None and first.type == "async"), ("generator", low.generator))
        if holds
    ]
    low.generator = outer
    return FunctionShape(
        text_of(low, name), name_site, listed, decorators, suite, frozenset(flags) if flags else _PLAIN
    )


def parameters(low: Lowering, node: Node | None) -> tuple[Parameter, ...]:
    """Returns the parameters of a function or lambda; the site of each is its name."""
    if node is None:
        return ()
    found: list[Parameter] = []
    how: How = "any"
    for item in items(node):
        number = item.kind_id
        if number == _POSITIONAL_ONLY:
            found = [parameter._replace(how="only") for parameter in found]
        elif number == _KEYWORD_ONLY:
            how = "key"
        else:
            found.append(_parameter(low, item, how))
            if found[-1].how == "*":
                how = "key"
    return tuple(found)


def _parameter(low: Lowering, node: Node, how: How) -> Parameter:
    number = node.kind_id
    name: Node | None = node
    default = annotation = None
    if number == _TYPED:
        name = items(node)[0]
        annotation = node.child_by_field_id(_TYPE)
    elif number in _DEFAULTS:
        name = node.child_by_field_id(_NAME)
        annotation = node.child_by_field_id(_TYPE)
        default = node.child_by_field_id(_VALUE)
    assert name is not None
    if name.kind_id in (_STAR, _STARS):
        how = "*" if name.kind_id == _STAR else "**"
        name = items(name)[0]
    site = mark(low, name)
    # A parameter that is a pattern, as in Python 2, has no name.
    text = text_of(low, name) if name.kind_id == _IDENTIFIER else ""
    return Parameter(text, site, how, maybe(low, default), maybe(low, annotation))


def _lambda(low: Lowering, node: Node) -> Lambda:
    site = mark(low, node)
    listed = parameters(low, node.child_by_field_id(_PARAMETERS))
    outer, low.generator = low.generator, False
    value = node.child_by_field_id(_BODY)
    inner = expression(low, value) if value is not None else Opaque("opaque", mark_between(low, *low.spans[site]), ())
    low.generator = outer
    return Lambda("lambda", site, listed, inner)


LAMBDAS: Mapping[str, ExpressionHandler] = {"lambda": _lambda}

DEFINITIONS: Mapping[str, StatementHandler] = {
    "class_definition": _definition,
    "decorated_definition": _definition,
    "function_definition": _definition,
}


def functions_in(suite: Node | None) -> Sequence[Node]:
    """Returns the function definitions directly in a suite, including their decorators."""
    if suite is None:
        return ()
    return [child for child in suite.named_children if is_function(child)]


def is_function(node: Node) -> bool:
    """Returns whether a statement defines a function."""
    number = node.kind_id
    if number == DECORATED:
        definition = node.child_by_field_id(_DEFINITION)
        return definition is not None and definition.kind_id == FUNCTION
    return number == FUNCTION
