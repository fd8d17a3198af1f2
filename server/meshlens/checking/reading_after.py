"""Finds reads of variables and attributes after a call that their arrays were donated to."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, pairwise

from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    AugAssign,
    Break,
    Call,
    Comparison,
    Continue,
    Delete,
    DictDisplay,
    ExpressionStatement,
    For,
    FunctionDef,
    If,
    Lambda,
    ListDisplay,
    Name,
    Raise,
    Return,
    Starred,
    Subscript,
    Try,
    TupleDisplay,
    While,
    With,
)
from meshlens.project.trees import Node, bound_by, children, suite_of, walk

KNOWN_WITHOUT_DATA = frozenset("shape dtype ndim size nbytes sharding aval weak_type is_deleted delete".split())
LOOK_AT_NO_DATA = frozenset(
    (
        "eval_shape structure tree_structure isinstance type id len typeof is_deleted ShapeDtypeStruct result_type ndim"
    ).split()
)
HOLD_ARRAYS = frozenset("params target_params ema_params opt_state batch_stats step".split())
"""The fields of a training state that hold arrays; others, such as `apply_fn`, may not."""
_LEAVES = (Return, Raise, Break, Continue)


class _Left(Exception):
    """Raised when a suite is left before its end."""


def key_of(node: Node) -> str | None:
    """Returns the dotted name of a variable or of its attribute; None for any other expression."""
    if isinstance(node, Name):
        return node.name
    if not isinstance(node, Attribute):
        return None
    owner = key_of(node.object)
    return f"{owner}.{node.name}" if owner is not None else None


def read_after(path: tuple[Node, ...], key: str) -> Node | None:
    """Returns the first place that certainly reads a variable again after a call that it was donated to.

    Args:
        path: the nodes from the block down to the call.
        key: the variable or attribute.
    """
    place = _statement_around(path)
    if place is None or not isinstance(path[place], (Assign, AnnAssign, ExpressionStatement)):
        return None
    keys = {key, *_aliases(path[:place], path[place], key)}
    _forget(path[place], keys)
    try:
        return _onwards(path, place, keys)
    except _Left:
        return None


def are_aliases(path: tuple[Node, ...], key: str, other: str) -> bool:
    """Returns whether two variables hold the same arrays where the statement around a call begins.

    Args:
        path: the nodes from the block down to the call.
        key: a variable or attribute.
        other: the other variable.
    """
    place = _statement_around(path)
    if place is None:
        return False
    outer, statement = path[:place], path[place]
    return other in _aliases(outer, statement, key) or key in _aliases(outer, statement, other)


def _onwards(path: tuple[Node, ...], place: int, keys: set[str]) -> Node | None:
    while place > 0 and keys:
        parent, statement = path[place - 1], path[place]
        suite = suite_of(parent, statement)
        index = next(number for number, one in enumerate(suite) if one is statement) if suite else 0
        found = _in_suite(suite[index + 1 :], keys)
        if found is not None:
            return found
        if isinstance(parent, (For, While)) and keys and suite is parent.body:
            _forget(parent, keys)
            found = _in_suite(suite[: index + 1], keys)
            if found is not None:
                return found
        if isinstance(parent, (FunctionDef, Lambda)):
            return None
        place -= 1
    return None


def _statement_around(path: tuple[Node, ...]) -> int | None:
    for place in range(len(path) - 1, 0, -1):
        if isinstance(path[place], Lambda):
            return None
        if suite_of(path[place - 1], path[place]):
            return place
    return None


def _aliases(outer: tuple[Node, ...], statement: Node, key: str) -> set[str]:
    """Returns the other names for a variable's arrays at the start of a statement."""
    groups: dict[str, int] = {}
    numbers = count()
    for place, parent in enumerate(outer):
        inner = outer[place + 1] if place + 1 < len(outer) else statement
        for one in suite_of(parent, inner):
            if one is inner:
                break
            pairs: list[tuple[str, str]] = []
            if isinstance(one, Assign) and len(one.targets) == 1:
                pairs = list(_names_given(one.targets[0], one.value))
            given = [(name, groups.setdefault(source, next(numbers))) for name, source in pairs]
            for name in {name for node in walk(one) for name in _bound(node)} if groups else ():
                for changed in [known for known in groups if _is_part(known, name)]:
                    del groups[changed]
            groups.update(given)
    own = {group for name, group in groups.items() if name == key or _is_field(name, key)}
    return {name for name, group in groups.items() if group in own and not _is_part(name, key)}


def _is_part(key: str, whole: str) -> bool:
    return key == whole or key.startswith(f"{whole}.")


def _is_field(key: str, whole: str) -> bool:
    owner, _, name = key.rpartition(".")
    return owner == whole and name in HOLD_ARRAYS


def _names_given(target: Node, value: Node) -> Iterator[tuple[str, str]]:
    """Yields each name that an assignment gives to a variable's arrays, and the variable: `b` and `a` for `b = a`."""
    displays = (TupleDisplay, ListDisplay)
    if isinstance(target, displays) and isinstance(value, displays) and len(target.items) == len(value.items):
        for one, other in zip(target.items, value.items, strict=True):
            yield from _names_given(one, other)
        return
    name, source = key_of(target), key_of(value)
    if name is not None and source is not None:
        yield name, source


def is_bound_before(path: tuple[Node, ...], key: str) -> bool:
    """Returns whether a statement before a place may have changed a variable since the start of its function.

    Args:
        path: the nodes from the block down to the place.
        key: the variable or attribute.
    """
    for parent, inner in pairwise(path):
        if isinstance(parent, (For, With)) and any(key == one for one in _bound(parent)):
            return True
        for statement in suite_of(parent, inner):
            if statement is inner:
                break
            if any(_is_part(key, one) for node in walk(statement) for one in _bound(node)):
                return True
    return False


def _in_suite(statements: tuple[Node, ...], keys: set[str]) -> Node | None:
    for statement in statements:
        if not keys:
            return None
        found = _in_statement(statement, keys)
        if found is not None:
            return found
        if isinstance(statement, _LEAVES):
            raise _Left
    return None


def _in_statement(statement: Node, keys: set[str]) -> Node | None:
    if isinstance(statement, FunctionDef):
        keys.discard(statement.function.name)
        return None
    if isinstance(statement, (If, While, For, With, Try)):
        return _in_compound(statement, keys)
    heads = [statement.value] if isinstance(statement, (Assign, AnnAssign, AugAssign)) else list(children(statement))
    if isinstance(statement, AugAssign) and key_of(statement.target) in keys:
        return statement.target
    if not isinstance(statement, Delete):
        for head in heads:
            for node in _consumed(head, keys) if head is not None else ():
                return node
    pairs: Iterator[tuple[str, str]] = iter(())
    if isinstance(statement, Assign) and len(statement.targets) == 1:
        pairs = _names_given(statement.targets[0], statement.value)
    given = {name for name, source in pairs if source in keys}
    _forget(statement, keys)
    keys |= given
    return None


def _in_compound(statement: If | While | For | With | Try, keys: set[str]) -> Node | None:
    heads: list[Node] = []
    if isinstance(statement, (If, While)):
        heads = [statement.test]
    elif isinstance(statement, For):
        heads = [statement.iterable]
    elif isinstance(statement, With):
        heads = [item for item, _ in statement.items]
    for head in heads:
        for node in _reads(head, keys):
            return node
    if isinstance(statement, (For, With)):
        _forget(statement, keys)
    bodies = (statement.body,) if isinstance(statement, With) else (statement.body, statement.orelse)
    left = 0
    after: list[set[str]] = []
    for body in bodies:
        inner = set(keys)
        try:
            found = _in_suite(body, inner)
        except _Left:
            left += 1
            continue
        if found is not None:
            return found
        after.append(inner)
    if left == len(bodies):
        raise _Left
    kept = set.intersection(*after) if after else set()
    keys.intersection_update(kept)
    if isinstance(statement, Try):
        keys -= {name for node in walk(statement) for name in _bound(node)}
    return None


def _consumed(expression: Node, keys: set[str]) -> Iterator[Node]:
    """Yields the reads in an expression that look at the arrays; a name by itself only passes them on."""
    if key_of(expression) is not None:
        return
    if isinstance(expression, (TupleDisplay, ListDisplay, DictDisplay, Starred)):
        for child in children(expression):
            yield from _consumed(child, keys)
        return
    yield from _reads(expression, keys)


def _reads(node: Node, keys: set[str]) -> Iterator[Node]:
    if isinstance(node, (Lambda, FunctionDef)) or (isinstance(node, Attribute) and node.name in KNOWN_WITHOUT_DATA):
        return
    if isinstance(node, Comparison) and set(node.operators) <= {"is", "is not"}:
        return
    key = key_of(node)
    if key is not None:
        if any(_is_part(key, one) for one in keys):
            yield node
        return
    if isinstance(node, Call):
        callee = node.callee
        name = callee.name if isinstance(callee, (Name, Attribute)) else ""
        arguments = [argument.value for argument in node.arguments]
        if name in LOOK_AT_NO_DATA or any(isinstance(one, Lambda) and _looks_at_shapes(one) for one in arguments):
            return
        if isinstance(callee, Attribute):
            _forget_object(callee, keys)
    for child in children(node):
        yield from _reads(child, keys)


def _looks_at_shapes(function: Lambda) -> bool:
    return any(isinstance(node, Attribute) and node.name in KNOWN_WITHOUT_DATA for node in walk(function.body))


def _forget_object(callee: Attribute, keys: set[str]) -> None:
    """Forgets the attributes of an object whose method runs, because the method may set them."""
    owner = key_of(callee.object)
    if owner is not None:
        keys -= {key for key in keys if key.startswith(f"{owner}.")}


def _forget(statement: Node, keys: set[str]) -> None:
    changed = set(_bound(statement))
    keys -= {key for key in keys if any(_is_part(key, one) for one in changed)}


def _bound(node: Node) -> Iterator[str]:
    yield from bound_by(node) if not isinstance(node, (Assign, AnnAssign, AugAssign)) else ()
    targets = node.targets if isinstance(node, Assign) else ()
    if isinstance(node, (AnnAssign, AugAssign)):
        targets = (node.target,)
    elif isinstance(node, Delete):
        targets = node.targets
    waiting: list[Node] = list(targets)
    while waiting:
        target = waiting.pop()
        key = key_of(target)
        if key is not None:
            yield key
        elif isinstance(target, (TupleDisplay, ListDisplay)):
            waiting.extend(target.items)
        elif isinstance(target, Starred):
            waiting.append(target.value)
        elif isinstance(target, Subscript):
            yield from filter(None, [key_of(target.object)])
