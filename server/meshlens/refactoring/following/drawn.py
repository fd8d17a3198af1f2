"""Variables that a program draws from its data: from a loader, an iterator, a buffer, or a batch factory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import (
    NOTHING,
    Assign,
    Attribute,
    BinaryOperation,
    Call,
    ClassDef,
    Clause,
    Comprehension,
    Expression,
    For,
    FunctionDef,
    ListDisplay,
    Name,
    Subscript,
    TupleDisplay,
    last_name,
)
from meshlens.project.trees import Node, bound_by, names_bound, path_to, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.reading.functions import dotted_name

_SOURCE = re.compile(
    r"(?:.*_)?(?:data|dataset|ds|dl|loader|dataloader|batch|batches|minibatch|minibatches|iterator|iter|it|stream"
    r"|buffer|replay|memory)(?:_(?:train|test|val|valid|eval|iter|iterator|generator))?"
)
_PASSES_ON = frozenset(
    "tqdm iter list islice prefetch_to_device numpy reshape astype asarray array device_put cpu detach float tensor "
    "float32 int32 as_numpy_iterator to_numpy from_numpy".split()
)
_NUMBERS = frozenset({"shape", "size", "ndim", "dtype"})
_DEEPEST = 6


def is_drawn(view: FileView, site: Site, value: Node) -> bool:
    """Returns whether an expression in a call is data, or a part of data, judging by its origin.

    A variable is data if every assignment to it in its function draws from data.

    Args:
        view: the file.
        site: the call.
        value: the expression.
    """
    clause = _clause_around(view, site, value)
    if clause is not None and isinstance(value, Name):
        return value.name in _drawn_by(_scope(view, site), clause.target, clause.iterable, 0)
    return _is_part(_scope(view, site), value, 0)


def is_yielded(view: FileView, site: Site, value: Node) -> bool:
    """Returns whether an expression in a call is the variable of a loop over a data source.

    Args:
        view: the file.
        site: the call.
        value: the expression.
    """
    if not isinstance(value, Name):
        return False
    clause = _clause_around(view, site, value)
    if clause is not None:
        return _is_yielded_by(clause.target, clause.iterable, value.name)
    binding = [node for root in _scope(view, site) for node in walk(root) if value.name in bound_by(node)]
    return bool(binding) and all(
        isinstance(one, For) and _is_yielded_by(one.target, one.iterable, value.name) for one in binding
    )


def _clause_around(view: FileView, site: Site, value: Node) -> Clause | None:
    """Returns the innermost `for` clause, in comprehensions around a call, that binds a variable; None if none does."""
    around = [one for one in reversed(path_to(view, site)) if isinstance(one, Comprehension)]
    clauses = (clause for one in around for clause in reversed(one.clauses))
    return next((one for one in clauses if isinstance(value, Name) and value.name in _names(one.target)), None)


def _is_yielded_by(target: Expression, iterable: Node, name: str) -> bool:
    if not isinstance(iterable, Call):
        return False
    given = [one.value for one in iterable.arguments if one.label is None]
    items = target.items if isinstance(target, TupleDisplay) else ()
    called = last_name(iterable.callee)
    if called in ("zip", "enumerate"):
        parts = given if called == "zip" else [NOTHING, *given[:1]]
        pairs = zip(items, parts, strict=True) if len(items) == len(parts) else ()
        return any(name in _names(item) and _is_yielded_by(item, part, name) for item, part in pairs)
    return last_name(iterable.callee) != "next" and _is_source(iterable)


def is_counted(view: FileView, site: Site, value: Node) -> bool:
    """Returns whether an expression is the next number of an `itertools.count`.

    Args:
        view: the file.
        site: the call that receives it.
        value: the expression.
    """
    if not isinstance(value, Call) or last_name(value.callee) != "next" or not value.arguments:
        return False
    counter = value.arguments[0].value
    if not isinstance(counter, Name):
        return False
    binding = [
        node
        for scope in (_scope(view, site), _top(view))
        for root in scope
        for node in walk(root)
        if counter.name in bound_by(node)
    ]
    return bool(binding) and all(
        isinstance(one, Assign)
        and isinstance(one.value, Call)
        and dotted_name(view, one.value.callee) == "itertools.count"
        for one in binding
    )


def _top(view: FileView) -> tuple[Node, ...]:
    return tuple(one for one in view.facts.statements if not isinstance(one, (FunctionDef, ClassDef)))


def _scope(view: FileView, site: Site) -> tuple[Node, ...]:
    """Returns the function around a place, or the statements of the top level."""
    root = tree(view, site.path, site.block)
    if root is None or isinstance(root, FunctionDef) or site.block not in view.facts.top:
        return (root,) if root is not None else ()
    return _top(view)


def _is_part(scope: tuple[Node, ...], value: Node, depth: int) -> bool:
    """Returns whether an expression is drawn data, or a part of it that keeps the rows."""
    value = _passed_on(value)
    while isinstance(value, (Subscript, Attribute)):
        if isinstance(value, Attribute) and value.name in _NUMBERS:
            return False
        value = _passed_on(value.object)
    if _is_source(value):
        return isinstance(value, Call)
    if not isinstance(value, Name) or depth > _DEEPEST:
        return False
    binding = (node for root in scope for node in walk(root) if value.name in bound_by(node))
    found = [_binds_data(scope, node, value.name, depth) for node in binding]
    return bool(found) and all(found)


def _binds_data(scope: tuple[Node, ...], node: Node, name: str, depth: int) -> bool:
    if isinstance(node, For):
        return name in _drawn_by(scope, node.target, node.iterable, depth)
    if not isinstance(node, Assign):
        return False
    value = _passed_on(node.value)
    pairs = _pairs(node.targets[0], value)
    if pairs:
        return all(_is_part(scope, part, depth + 1) for one, part in pairs if name in _names(one))
    is_itself = isinstance(value, Name) and value.name == name
    return is_itself or _is_source(value) or _is_part(scope, value, depth + 1)


def _drawn_by(scope: tuple[Node, ...], target: Expression, iterable: Node, depth: int) -> Iterator[str]:
    """Yields the variables of a loop that hold data."""
    if isinstance(iterable, Call) and iterable.arguments and not isinstance(iterable.callee, Subscript):
        called, given = last_name(iterable.callee), [one.value for one in iterable.arguments if one.label is None]
        if called == "enumerate" and isinstance(target, TupleDisplay) and len(target.items) == 2 and given:
            yield from _drawn_by(scope, target.items[1], given[0], depth)
            return
        if called == "zip" and isinstance(target, TupleDisplay) and len(target.items) == len(given):
            for item, one in zip(target.items, given, strict=True):
                yield from _drawn_by(scope, item, one, depth)
            return
        if called in _PASSES_ON and given:
            yield from _drawn_by(scope, target, given[0], depth)
            return
    if _is_source(iterable) or _is_part(scope, iterable, depth + 1):
        yield from _names(target)


def _is_source(value: Node) -> bool:
    """Returns whether an expression names or calls a source of data."""
    if isinstance(value, Call):
        if last_name(value.callee) == "next":
            return bool(value.arguments) and _is_source(value.arguments[0].value)
        return _is_source(value.callee) or (isinstance(value.callee, Attribute) and _is_source(value.callee.object))
    if isinstance(value, Subscript):
        return _is_source(value.object)
    return isinstance(value, (Name, Attribute)) and _SOURCE.fullmatch(value.name.lower()) is not None


def _passed_on(value: Node) -> Node:
    """Returns the operand that provides an expression's rows, inside conversions, iterators and arithmetic."""
    while isinstance(value, (BinaryOperation, Call)):
        if isinstance(value, BinaryOperation):
            value = value.left
            continue
        callee, given = value.callee, value.arguments
        if last_name(callee) not in _PASSES_ON:
            break
        if isinstance(callee, Attribute) and (not given or callee.name in ("reshape", "astype")):
            value = callee.object
        else:
            value = given[0].value if given else NOTHING
    return value


def _pairs(target: Node, value: Node) -> list[tuple[Expression, Expression]]:
    """Returns each target of a tuple assignment with its value; empty for other assignments."""
    if not isinstance(target, (TupleDisplay, ListDisplay)) or not isinstance(value, (TupleDisplay, ListDisplay)):
        return []
    is_plain = len(target.items) == len(value.items)
    return list(zip(target.items, value.items, strict=True)) if is_plain else []


def _names(target: Expression) -> set[str]:
    return names_bound([Assign("assign", 0, (target,), NOTHING)])
