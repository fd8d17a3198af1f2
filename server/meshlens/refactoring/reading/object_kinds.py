"""Finds the library that an object belongs to, from its class."""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.facts.nodes import (
    Assign,
    Attribute,
    Call,
    ClassDef,
    Constant,
    FunctionDef,
    Lambda,
    Name,
    SeparateDef,
    Subscript,
)
from meshlens.project.trees import Node, children, nodes_of_block, path_to
from meshlens.project.view import FileView
from meshlens.refactoring.reading.functions import dotted_name, functions_called
from meshlens.refactoring.reading.host_calls import HostCall
from meshlens.refactoring.reading.mentions import bound_inside, entries
from meshlens.refactoring.reading.scopes import home_of

_LIBRARIES = (
    ("flax.nnx.", "nnx"),
    ("flax.linen.", "linen"),
    ("flax.training.", "pytree"),
    ("flax.struct.", "pytree"),
    ("equinox.", "eqx"),
    ("optax.", "optax"),
    ("jax.numpy.", "pytree"),
    ("jax.random.", "pytree"),
    ("haiku.", "function"),
    ("chex.", "pytree"),
    ("typing.NamedTuple", "pytree"),
    ("typing.Callable", "function"),
    ("collections.abc.Callable", "function"),
)
_PYTREE_DECORATORS = ("flax.struct.dataclass", "chex.dataclass", "jax.tree_util.register", "flax.nnx.dataclass")
_DEEPEST = 8


def kind_of_argument(view: FileView, call: HostCall, node: Node) -> str | None:
    """Returns an argument's kind: "nnx", "eqx", "linen", "optax", "function", "pytree" or "plain"; None if unknown."""
    if isinstance(node, Lambda):
        return "function"
    if isinstance(node, Attribute):
        dotted = dotted_name(view, node)
        return "function" if dotted.startswith(("jax.", "optax.", "flax.")) else None
    if not isinstance(node, Name):
        return None
    name = node.name
    if any(not one.is_method for one in functions_called(view, name)):
        return "function"
    around = [one for one in path_to(view, call.site) if isinstance(one, FunctionDef)]
    annotation = next(
        (parameter.annotation for one in around for parameter in one.function.parameters if parameter.name == name),
        None,
    )
    if annotation is not None:
        return kind_of_class(view, "", annotation)
    found = {
        _of_call(view, one.value)
        for one in _statements(view, call, name)
        if isinstance(one, Assign)
        and len(one.targets) == 1
        and isinstance(target := one.targets[0], Name)
        and target.name == name
        and isinstance(one.value, Call)
        and not _is_of(view, one.value, name)
    }
    found.discard("")
    return found.pop() if len(found) == 1 else None


def _statements(view: FileView, call: HostCall, name: str) -> Iterator[Node]:
    """Yields the code that may bind a name used at a call: that of the enclosing function, or of the top level."""
    home = home_of(view, call.site)
    if home is not None and bound_inside(view, name).get(home, 0):
        for entry in entries(view):
            if entry.root == home:
                yield from nodes_of_block(view, str(view.path), entry.key)
        return
    waiting = list(reversed(view.facts.statements))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (FunctionDef, Lambda, ClassDef, SeparateDef)):
            waiting.extend(children(node))


def kind_of_class(view: FileView, name: str | None, node: Node | None = None, depth: int = 0) -> str | None:
    """Returns the kind of a class's instances; "plain" for a class of this file that belongs to no library.

    Args:
        view: the file.
        name: the class; not needed if `node` is given.
        node: an expression for the class.
        depth: the number of bases followed so far.
    """
    if depth > _DEEPEST:
        return None
    if node is not None:
        dotted = dotted_name(view, node)
        for prefix, kind in _LIBRARIES:
            is_class = kind not in ("linen", "eqx", "nnx") or dotted.rsplit(".", 1)[-1][:1].isupper()
            if dotted.startswith(prefix) and is_class:
                return kind
        if isinstance(node, Constant) and isinstance(node.value, str):
            return kind_of_class(view, node.value, None, depth + 1)
        if isinstance(node, Subscript):
            return kind_of_class(view, "", node.object, depth + 1)
        return kind_of_class(view, node.name, None, depth + 1) if isinstance(node, Name) else None
    shape = next((one for one in view.facts.statements if isinstance(one, ClassDef) and one.name == name), None)
    if shape is None:
        return None
    marks = [dotted_name(view, one.callee if isinstance(one, Call) else one) for one in shape.decorators]
    if any(mark.startswith(_PYTREE_DECORATORS) for mark in marks):
        return "pytree"
    kinds = [kind_of_class(view, "", base.value, depth + 1) for base in shape.bases if base.label is None]
    known = next((kind for kind in kinds if kind not in (None, "plain")), None)
    return known or ("plain" if all(kind == "plain" for kind in kinds) else None)


def _of_call(view: FileView, call: Call) -> str:
    """Returns the kind of a call's result; \"\" if unknown."""
    dotted = dotted_name(view, call.callee)
    if dotted.startswith("flax.nnx."):
        return "nnx" if dotted.rsplit(".", 1)[-1][:1].isupper() else ""
    if dotted in ("functools.partial", "jax.jit", "jax.vmap", "jax.grad", "jax.value_and_grad"):
        return "function"
    if dotted.startswith("equinox."):
        return "eqx" if dotted.startswith("equinox.nn.") else ""
    if dotted.startswith("haiku."):
        return "function" if dotted.startswith(("haiku.transform", "haiku.without_apply_rng")) else ""
    kind = kind_of_class(view, "", call.callee)
    if kind is None and isinstance(call.callee, Attribute):
        # TrainState.create(…)
        kind = kind_of_class(view, "", call.callee.object) if call.callee.name in ("create", "init", "empty") else None
        return kind or ""
    return kind if kind is not None and kind != "plain" else ""


def _is_of(view: FileView, call: Call, name: str) -> bool:
    """Returns whether a call receives the variable that its result is assigned to."""
    return any(isinstance(value, Name) and value.name == name for _, _, value in call.arguments)
