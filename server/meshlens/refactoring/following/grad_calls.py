"""Which calls make functions that take gradients."""

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
"""The functions that make them, and whether what they make gives the value, too."""


def takes(view: FileView, node: Node) -> bool:
    """Tells whether an expression makes a function that takes gradients."""
    return isinstance(node, Call) and dotted_name(view, node.callee) in TAKES
