"""Per-example gradients: XLA miscompiles those of convolutions if the rows are split over devices."""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.facts.nodes import Assign, Attribute, Call, FunctionDef, Lambda, Name, SeparateDef
from meshlens.jaxapi.binders import BINDERS
from meshlens.jaxapi.transparent import TRANSPARENT
from meshlens.project.trees import Node, children, nodes_of_block, tree
from meshlens.project.view import FileView
from meshlens.refactoring.reading.functions import dotted_name, functions_called
from meshlens.refactoring.reading.importing import reached_from
from meshlens.refactoring.reading.mentions import entries
from meshlens.refactoring.reading.siblings import imported_function

_CONVOLVES = re.compile(rb"conv(?!er|en|ey|ic|in)|resnet|unet|vgg|cnn|inception", re.IGNORECASE)
_TAKES = frozenset({"grad", "value_and_grad", "jacobian", "vjp", "linearize"})
_MAPS = frozenset(row.dotted for row in BINDERS.values() if row.kind == "vmap")
_GRADIENTS = frozenset(row.dotted for row in TRANSPARENT.values() if row.how in _TAKES)
_MOST = 200


def may_convolve(view: FileView) -> bool:
    """Returns whether a file or one of its workspace imports mentions convolutions."""
    paths = (str(view.path), *reached_from(view, str(view.path)))
    return any(_CONVOLVES.search(view.texts[path]) for path in paths if path in view.texts)


def takes_gradients_by_row(view: FileView, root: Node, *, is_mapped: bool) -> bool:
    """Returns whether code maps a gradient function, as differentially private training does.

    The gradient of a mapped function, such as the mean of a `vmap`, is different and compiles correctly.

    Args:
        view: the file of the code.
        root: a function, or an expression that makes one.
        is_mapped: whether a `vmap` runs it.
    """
    if is_mapped:
        return any(_names(home, node) in _GRADIENTS for home, node in _led_to(view, root))
    for home, node in _led_to(view, root):
        if isinstance(node, Call) and _names(home, node.callee) in _MAPS:
            mapped: list[Node] = [argument.value for argument in node.arguments[:1]]
        elif isinstance(node, FunctionDef) and any(_names(home, one) in _MAPS for one in _decorators(node)):
            mapped = list(node.function.body)
        else:
            continue
        if any(_names(inside, one) in _GRADIENTS for part in mapped for inside, one in _led_to(home, part)):
            return True
    return False


def _names(view: FileView, node: Node) -> str:
    return dotted_name(view, node) if isinstance(node, (Name, Attribute)) else ""


def _decorators(function: FunctionDef) -> Iterator[Node]:
    for one in function.function.decorators:
        yield one.callee if isinstance(one, Call) else one
        if isinstance(one, Call):
            yield from (value for _, _, value in one.arguments[:1])


def _led_to(view: FileView, root: Node) -> Iterator[tuple[FileView, Node]]:
    """Yields the nodes of the given code, of the functions that it refers to, and of the values of its variables."""
    waiting = [(view, root)]
    seen: set[tuple[str, int]] = set()
    while waiting and len(seen) < _MOST:
        home, top = waiting.pop()
        if (str(home.path), id(top)) in seen:
            continue
        seen.add((str(home.path), id(top)))
        for node in _every(home, top):
            yield home, node
            if isinstance(node, Name):
                waiting += [(home, one.node) for one in functions_called(home, node.name) if not one.is_method]
                waiting += [(home, value) for value in _bound_to(home).get(node.name, ())]
            found = imported_function(home, node) if isinstance(node, (Name, Attribute)) else None
            if found is not None:
                waiting.append((found[0], found[1].node))


def _makes_function(view: FileView, value: Node) -> bool:
    """Returns whether an expression is a lambda, transforms a function or makes a gradient function."""
    if isinstance(value, Call):
        dotted = dotted_name(view, value.callee)
        return dotted in TRANSPARENT or dotted in _MAPS
    return isinstance(value, Lambda) or _names(view, value) in _GRADIENTS


def _bound_to(view: FileView) -> dict[str, list[Node]]:
    """Returns the transformed functions that the variables of a file hold, by name."""

    def find() -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = {}
        for entry in entries(view):
            for node in nodes_of_block(view, str(view.path), entry.key):
                if isinstance(node, Assign) and _makes_function(view, node.value):
                    for one in node.targets:
                        if isinstance(one, Name):
                            found.setdefault(one.name, []).append(node.value)
        return found

    known: dict[str, list[Node]] = view.solution.once(
        f"assists: functions that variables hold in {view.path}", lambda _: find()
    )
    return known


def _every(view: FileView, root: Node) -> Iterator[Node]:
    """Yields the nodes of a function, including those of nested functions in separate blocks."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, SeparateDef):
            inner = tree(view, str(view.path), node.key)
            waiting += [inner] if inner is not None else []
        else:
            waiting.extend(children(node))
