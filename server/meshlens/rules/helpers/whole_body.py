"""Checks that all code that a function calls is visible, so that anything not found in it is absent."""

from __future__ import annotations

from meshlens.axes.domain.values import Const, Ext, Function, Mapped, Partial, Site, Value, Wrapped
from meshlens.axes.runs.frames import Frame
from meshlens.facts.nodes import (
    Attribute,
    Call,
    ClassDef,
    Constant,
    FunctionDef,
    Lambda,
    Name,
    Opaque,
    SeparateDef,
    With,
)
from meshlens.project.trees import Node, names_bound, names_taken, tree, walk
from meshlens.project.view import FileView

_SEEN_LIBRARIES = frozenset({"jax", "numpy", "math", "functools", "operator", "itertools"})
_BUILTINS = frozenset("range len zip enumerate tuple list dict int float print sum isinstance".split())
_ARRAY_METHODS = frozenset(
    "sum mean max min std var prod all any argmax argmin astype reshape ravel flatten transpose squeeze dot copy "
    "cumsum clip round conj at set add get items values keys append".split()
)


def strings_in_sight(view: FileView, function: Function) -> frozenset[str] | None:
    """Returns the strings in a function and in everything it calls; None if it calls unseen code."""
    seen: set[Site] = set()
    strings: set[str] = set()
    waiting = [function]
    while waiting:
        one = waiting.pop()
        if one.site in seen:
            continue
        seen.add(one.site)
        called = _callees(view, one, strings)
        if called is None or len(seen) > 32:
            return None
        waiting.extend(called)
    return frozenset(strings)


def _callees(view: FileView, function: Function, strings: set[str]) -> list[Function] | None:
    body = _body(view, function)
    if body is None or function.frame is None:
        return None
    found: list[Function] = []
    own = names_bound(body) | {parameter.name for parameter in function.parameters}
    local = own | names_taken(body)
    for top in body:
        for node in walk(top):
            if isinstance(node, (SeparateDef, ClassDef, Opaque, With)):
                return None
            if isinstance(node, Constant) and isinstance(node.value, str):
                strings.add(node.value)
            if isinstance(node, Call) and not _is_seen(node.callee, function.frame, local):
                return None
            if isinstance(node, Name) and node.name not in local:
                value = function.frame.find(node.name)
                inner = _function(value) if value is not None else None
                if inner is not None:
                    found.append(inner)
                elif isinstance(value, Const) and isinstance(value.value, str):
                    strings.add(value.value)
                elif value is not None and not isinstance(value, (Ext, Const)):
                    return None
    return found


def _body(view: FileView, function: Function) -> tuple[Node, ...] | None:
    if function.body is not None:
        return function.body
    root = tree(view, function.path, function.block)
    return root.function.body if root is not None and isinstance(root, FunctionDef) else None


def _is_seen(callee: Node, frame: Frame, local: set[str]) -> bool:
    """Returns whether a callee is known: a workspace, library or built-in function, a lambda, or an array method."""
    if isinstance(callee, Attribute):
        root = callee.object
        while isinstance(root, Attribute):
            root = root.object
        if isinstance(root, Name) and root.name not in local:
            value = frame.find(root.name)
            return isinstance(value, Ext) and value.dotted.split(".", 1)[0] in _SEEN_LIBRARIES
        return str(callee.name) in _ARRAY_METHODS
    if isinstance(callee, Call):
        return _is_seen(callee.callee, frame, local)
    if not isinstance(callee, Name) or callee.name in local:
        return bool(isinstance(callee, Lambda))
    value = frame.find(callee.name)
    if value is None:
        return str(callee.name) in _BUILTINS
    if isinstance(value, Ext):
        return value.dotted.split(".", 1)[0] in _SEEN_LIBRARIES
    return _function(value) is not None


def _function(value: Value) -> Function | None:
    while isinstance(value, (Mapped, Wrapped, Partial)):
        if isinstance(value, Partial):
            value = value.callee
        else:
            value = value.operand if isinstance(value, Wrapped) else value.binder.operand
    return value if isinstance(value, Function) else None
