"""`tree.map`: runs a function on the leaves of trees, and keeps the structure where it is known."""

from __future__ import annotations

from collections.abc import Callable

from meshlens.axes.arrays import is_array
from meshlens.axes.joining import join_all, labels_of
from meshlens.axes.labels import travelling
from meshlens.axes.values import UNKNOWN, Arg, Const, Data, Dict, Seq, Site, Value

_DEEPEST_TREE = 10


def leaf(value: Value) -> Value:
    """What a function sees of a tree that is mapped, any of its leaves."""
    if isinstance(value, Seq):
        return join_all(leaf(item) for item in value.items) if value.items else UNKNOWN
    labels = labels_of(value)
    return value if isinstance(value, (Data, Const)) else Data(travelling(labels))


def mapped_tree(run_operand: Callable[..., Value], operand: Arg, tree: Value, site: Site, depth: int = 0) -> Value:
    """Runs a function on each leaf of a tree whose structure is known, else once."""
    if isinstance(tree, Seq) and not tree.open and len(tree.items) <= 8 and depth < _DEEPEST_TREE:
        return Seq(tree.kind, tuple([mapped_tree(run_operand, operand, one, site, depth + 1) for one in tree.items]))
    if isinstance(tree, Dict) and not tree.open and len(tree.items) <= 8 and depth < _DEEPEST_TREE:
        entries = [(key, mapped_tree(run_operand, operand, one, site, depth + 1)) for key, one in tree.items]
        return Dict(tuple(entries))
    value = run_operand(operand, (Arg(None, leaf(tree), None, site),))
    return value if is_array(tree) else as_tree(value)


def as_tree(leaf: Value) -> Value:
    """A tree with such leaves: nothing says that it is one array."""
    return Data(leaf.labels) if isinstance(leaf, Data) else leaf
