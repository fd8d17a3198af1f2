"""flax.nnx objects, which change in place: assists replace their contents but never the objects themselves."""

from __future__ import annotations

from meshlens.facts.nodes import Assign, Call, ClassDef, FunctionDef, Name
from meshlens.project.trees import Node, nodes_of_block, path_to
from meshlens.project.view import FileView
from meshlens.refactoring.reading.functions import dotted_name
from meshlens.refactoring.reading.host_calls import HostCall
from meshlens.refactoring.reading.mentions import entries

_NNX = "flax.nnx."


def is_graph_object(view: FileView, call: HostCall, name: str) -> bool:
    """Returns whether a variable around a call certainly holds a flax.nnx object."""
    around = [node for node in path_to(view, call.site) if isinstance(node, FunctionDef)]
    parameters = {parameter.name: parameter.annotation for node in around for parameter in node.function.parameters}
    if name in parameters:
        annotation = parameters[name]
        return annotation is not None and _is_class(view, annotation)
    return any(
        isinstance(node, Assign)
        and isinstance(node.value, Call)
        and len(node.targets) == 1
        and isinstance(node.targets[0], Name)
        and node.targets[0].name == name
        and _is_class(view, node.value.callee)
        for entry in entries(view)
        for node in nodes_of_block(view, str(view.path), entry.key)
    )


def _is_class(view: FileView, node: Node) -> bool:
    dotted = dotted_name(view, node)
    if dotted.startswith(_NNX):
        return dotted.rsplit(".", 1)[-1][:1].isupper() and dotted not in ("flax.nnx.State", "flax.nnx.GraphDef")
    if not isinstance(node, Name):
        return False
    return any(
        isinstance(shape, ClassDef)
        and shape.name == node.name
        and any(dotted_name(view, base.value) == "flax.nnx.Module" for base in shape.bases)
        for shape in view.facts.statements
    )
