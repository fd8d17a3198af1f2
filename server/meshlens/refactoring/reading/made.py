"""Outside names that hold transformed functions such as `grad(f)`, and how many times a scope binds a name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    BinaryOperation,
    Call,
    ClassDef,
    Comprehension,
    Constant,
    For,
    FunctionDef,
    Lambda,
    Name,
    Slice,
    Subscript,
    TupleDisplay,
    UnaryOperation,
    With,
)
from meshlens.project.trees import Node, bound_by, children, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.reading.functions import dotted_name, functions_called

MAKES = frozenset({"jax.jit", "jax.checkpoint", "jax.named_call", "jax.vmap", "jax.grad", "jax.value_and_grad"}) | {
    "equinox.filter_jit",
    "equinox.filter_vmap",
    "equinox.filter_grad",
    "equinox.filter_value_and_grad",
    "flax.nnx.jit",
    "flax.nnx.grad",
    "flax.nnx.value_and_grad",
}
BATCH = re.compile(
    r"(?!(?:n|num|max|min)_)(?:.*_)?(?:batch|data|inputs?|images?|imgs?|labels?|lbls?|targets?|tokens?|examples?|minibatch|observations?|obs|features|xs?"
    r"|ys?|actions?|rewards?|dones?|preds?|predictions?|logits|samples?|sequences?|points|transitions?|trajectory|rollout)s?(?:_batch|_train|_test)?"
)
"""Matches the names of variables that hold a batch, but not of those that hold a count."""
_NO_ARRAYS = frozenset(
    "PRNGKey key split fold_in RandomState default_rng seed float32 float64 int32 bfloat16 float16 dtype sqrt".split()
)
_PARTIAL = "functools.partial"
_COMPILES = frozenset({"jax.jit", "equinox.filter_jit", "flax.nnx.jit"})
_OF_ARRAYS = frozenset("shape ndim dtype size T astype reshape sum mean max min at".split())


def made_outside(view: FileView, home: str | None) -> dict[str, tuple[Node, None]]:
    """Returns the expression that makes a function for each name that the top level or an outer function binds once.

    Args:
        view: the file.
        home: the outermost function around the function being followed; None for the top level.
    """
    key = f"assists: functions made around {home or ''} in {view.path}"
    found: dict[str, tuple[Node, None]] = view.solution.once(key, lambda _: dict(_made_outside(view, home)))
    return found


def kind_outside(view: FileView, home: str | None, name: str) -> str:
    """Returns the kind of an outside variable: "alike" if it may have as many rows as a batch, else "same".

    Args:
        view: the file.
        home: the outermost function around the function being followed; None for the top level.
        name: the variable.
    """
    key = f"assists: arrays around {home or ''} in {view.path}"
    found: frozenset[str] = view.solution.once(key, lambda _: frozenset(_arrays_outside(view, home)))
    return "alike" if name in found else "same"


def _arrays_outside(view: FileView, home: str | None) -> Iterator[str]:
    around = tree(view, str(view.path), home) if home is not None else None
    if isinstance(around, FunctionDef):
        yield from (one.name for one in around.function.parameters if BATCH.fullmatch(one.name) is not None)
    for scope in (None, home) if home is not None else (None,):
        for statement in _every(_statements(view, scope)):
            if not isinstance(statement, (Assign, AnnAssign, For, With)):
                continue
            is_array = isinstance(statement, Assign) and _makes_array(view, statement.value)
            for name in bound_by(statement):
                if is_array or BATCH.fullmatch(name.lower()) is not None:
                    yield name


def _makes_array(view: FileView, value: Node) -> bool:
    """Returns whether an expression is an array made by a NumPy or JAX function, or is derived from such an array."""
    while isinstance(value, (BinaryOperation, Subscript, UnaryOperation)) or (
        isinstance(value, Call) and isinstance(value.callee, Attribute)
    ):
        if isinstance(value, Call) and (dotted := dotted_name(view, value.callee)):
            return (
                dotted.startswith(("jax.numpy.", "numpy.", "jax.random.")) and dotted.rsplit(".")[-1] not in _NO_ARRAYS
            )
        if isinstance(value, BinaryOperation):
            value = value.left
        elif isinstance(value, UnaryOperation):
            value = value.operand
        elif isinstance(value, Subscript):
            value = value.object
        elif isinstance(value, Call) and isinstance(value.callee, Attribute):
            value = value.callee.object
    return isinstance(value, Call) and dotted_name(view, value.callee).startswith(("jax.numpy.", "numpy."))


def times_bound(view: FileView, home: str | None, name: str) -> int:
    """Returns how many times the top level, or a function without its nested functions, binds a name."""
    key = f"assists: names bound in {home or ''} of {view.path}"
    counted: Counter[str] = view.solution.once(key, lambda _: Counter(_bound(view, _statements(view, home))))
    return counted[name]


def makes_function(view: FileView, node: Node) -> bool:
    """Returns whether an expression certainly makes or names a function that can be followed."""
    if isinstance(node, Lambda):
        return True
    if isinstance(node, Call):
        is_ours = isinstance(node.callee, Name) and bool(functions_called(view, node.callee.name))
        return is_ours or dotted_name(view, node.callee) in {*MAKES, _PARTIAL}
    return bool(dotted_name(view, node)) or (isinstance(node, Name) and bool(functions_called(view, node.name)))


def _made_outside(view: FileView, home: str | None) -> Iterator[tuple[str, tuple[Node, None]]]:
    for scope in (None, home) if home is not None else (None,):
        for statement in _every(_statements(view, scope)):
            if (
                isinstance(statement, Assign)
                and makes_function(view, statement.value)
                and not _compiles_itself(view, statement)
            ):
                for target in statement.targets:
                    if isinstance(target, Name) and times_bound(view, scope, target.name) == 1:
                        yield target.name, (statement.value, None)


def compiled_under_its_name(view: FileView, home: str | None, name: str) -> Assign | None:
    """Returns the statement that rebinds a function's name to the jitted function, if it is directly in a scope."""
    found = [
        one
        for one in _statements(view, home)
        if isinstance(one, Assign) and name in bound_by(one) and _compiles_itself(view, one)
    ]
    return found[0] if len(found) == 1 else None


def _statements(view: FileView, home: str | None) -> tuple[Node, ...]:
    if home is None:
        return view.facts.statements
    around = tree(view, str(view.path), home)
    return around.function.body if isinstance(around, FunctionDef) else ()


def _every(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yields the nodes of a scope, without those of nested functions and classes."""
    for node in nodes:
        yield node
        if not isinstance(node, (FunctionDef, Lambda, ClassDef, Comprehension)):
            yield from _every(children(node))


def _bound(view: FileView, statements: Iterable[Node]) -> Iterator[str]:
    for node in _every(statements):
        if not isinstance(node, Comprehension) and not _compiles_itself(view, node):
            yield from bound_by(node)


def _compiles_itself(view: FileView, node: Node) -> bool:
    """Returns whether a statement rebinds a function's name to the jitted function, which behaves the same."""
    if (
        not isinstance(node, Assign)
        or not isinstance(node.value, Call)
        or len(node.targets) != 1
        or not isinstance(node.targets[0], Name)
    ):
        return False
    given = [value.name for _, _, value in node.value.arguments if isinstance(value, Name)]
    return given[:1] == [node.targets[0].name] and dotted_name(view, node.value.callee) in _COMPILES


def in_arithmetic(statements: Iterable[Node]) -> frozenset[str]:
    """Returns the names that statements use directly in arithmetic; they hold arrays, not trees or objects."""
    nodes = [node for statement in statements for node in walk(statement)]
    operands = [
        *(part for node in nodes if isinstance(node, BinaryOperation) for part in (node.left, node.right)),
        *(node.operand for node in nodes if isinstance(node, UnaryOperation)),
    ]
    return frozenset(one.name for one in operands if isinstance(one, Name))


def used_as_arrays(function: Node) -> frozenset[str]:
    """Returns the names that a function uses as arrays, not as trees of arrays."""
    found: set[str] = {*in_arithmetic((function,))}
    items: dict[str, set[object]] = {}
    for node in walk(function):
        if isinstance(node, Subscript) and isinstance(node.object, Name) and isinstance(node.key, Constant):
            items.setdefault(node.object.name, set()).add(node.key.value)
        parts: tuple[Node, ...] = ()
        if (isinstance(node, Attribute) and node.name in _OF_ARRAYS) or (
            isinstance(node, Subscript) and isinstance(node.key, (Slice, TupleDisplay))
        ):
            parts = (node.object,)
        found.update(part.name for part in parts if isinstance(part, Name))
    # If the only index is one integer, it picks a row of an array; code rarely uses only one entry of a tuple.
    found.update(name for name, taken in items.items() if len(taken) == 1 and type(next(iter(taken))) is int)
    return frozenset(found)
