"""Objects of flax.nnx: they are changed in place, so what they hold is replaced and never the object."""

from __future__ import annotations

from meshlens.assists._functions import dotted_name
from meshlens.assists._host_calls import HostCall
from meshlens.assists._mentions import entries
from meshlens.project.trees import Node, path_to, tree, walk
from meshlens.project.view import FileView

_NNX = "flax.nnx."


def is_graph_object(view: FileView, call: HostCall, name: str) -> bool:
    """Returns whether a variable around a call certainly holds an object of flax.nnx."""
    around = [node for node in path_to(view, call.site) if node[0] == "fn"]
    parameters = {parameter[0]: parameter[4] for node in around for parameter in node[2][2]}
    if name in parameters:
        annotation = parameters[name]
        return annotation is not None and _is_class(view, annotation)
    return any(
        node[0] == "assign"
        and node[3][0] == "call"
        and len(node[2]) == 1
        and node[2][0][0] == "name"
        and node[2][0][2] == name
        and _is_class(view, node[3][2])
        for entry in entries(view)
        for node in walk(tree(view, str(view.path), entry.key) or ("", 0))
    )


def _is_class(view: FileView, node: Node) -> bool:
    dotted = dotted_name(view, node)
    if dotted.startswith(_NNX):
        return dotted.rsplit(".", 1)[-1][:1].isupper() and dotted not in ("flax.nnx.State", "flax.nnx.GraphDef")
    if node[0] != "name":
        return False
    blocks = (view.facts.blocks[key].shape for key in view.facts.top)
    return any(
        shape[0] == "class"
        and shape[2] == node[2]
        and any(dotted_name(view, base[2]) == "flax.nnx.Module" for base in shape[4])
        for shape in blocks
    )
