"""Calls that make gradient functions."""

from __future__ import annotations

from meshlens.facts.nodes import Call
from meshlens.project.trees import Node
from meshlens.project.view import FileView
from meshlens.refactoring.reading.functions import dotted_name

TAKES = {
    "jax.grad": False,
    "jax.value_and_grad": True,
    "equinox.filter_grad": False,
    "equinox.filter_value_and_grad": True,
    "flax.nnx.grad": False,
    "flax.nnx.value_and_grad": True,
}
"""The functions that make gradient functions, each with whether its gradient functions also return the value."""


def takes(view: FileView, node: Node) -> bool:
    """Returns whether an expression makes a gradient function."""
    return isinstance(node, Call) and dotted_name(view, node.callee) in TAKES
