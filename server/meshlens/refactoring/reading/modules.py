"""The requirements that layers with batch statistics or random numbers impose on a mapped function."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Attribute, Call, Constant, FunctionDef, Name, last_name
from meshlens.project.trees import Node, children, tree, walk
from meshlens.project.view import FileView
from meshlens.refactoring.following.grad_calls import TAKES
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.functions import (
    Target,
    dotted_name,
    functions,
    line_of,
    maps_around,
    reached,
)
from meshlens.refactoring.reading.jit import Library
from meshlens.refactoring.reading.layers import Layers, Norm, layers_of
from meshlens.refactoring.reading.mentions import Mention, entries, made_of, mentions_of
from meshlens.refactoring.reading.uses import is_on_host
from meshlens.text import Edit, FileEdit, Span

_NNX = "flax.nnx."
_INSTEAD = "use jit with sharding"


@dataclass(frozen=True, slots=True)
class Care:
    """The requirements of a step's layers while the step is mapped.

    Attributes:
        norms: the layers that must be created so that they average over all devices.
        joins: whether the objects passed to the step are set to average over all devices while it runs.
        draws: whether the objects passed to the step get separate random streams on each device while it runs.
    """

    norms: tuple[Norm, ...] = ()
    joins: bool = False
    draws: bool = False


NOTHING = Care()


def care_for(view: FileView, target: Target, library: Library) -> Care:
    """Returns the requirements of a step's layers while the step is mapped.

    Raises:
        Obstacle: the step's modules store or draw something that would differ between devices.
    """
    inside = [node for root in reached(view, target) for node in walk(root)]
    layers = layers_of(view)
    if works_on_modules(view, target, inside):
        return _of_modules(view, target, inside, layers, library)
    if "batch_stats" not in {
        node.value if isinstance(node, Constant) else node.name
        for node in inside
        if isinstance(node, (Attribute, Constant, Name))
    }:
        return Care()
    if not any(map(_is_updating, inside)):
        return Care()
    linen = tuple(one for one in layers.norms if one.keyword == "axis_name")
    if not linen:
        message = f'"{target.name}" updates batch statistics of layers that this project does not create'
        raise Obstacle("batch-statistics", f"{message}; {_INSTEAD}")
    _must_update_here_only(view, reached(view, target))
    return Care(tuple(one for one in linen if not one.said))


def works_on_modules(view: FileView, target: Target, inside: list[Node] | None = None) -> bool:
    """Returns whether a function works on flax.nnx objects."""
    if inside is None:
        inside = [node for root in reached(view, target) for node in walk(root)]
    decorators = [node for one in target.node.function.decorators for node in walk(one)]
    return any(
        isinstance(node, (Attribute, Name)) and dotted_name(view, node).startswith(_NNX)
        for node in (*inside, *decorators)
    )


def _of_modules(view: FileView, target: Target, inside: list[Node], layers: Layers, library: Library) -> Care:
    if not layers.classes:
        message = f'"{target.name}" works on flax.nnx objects whose classes are not in this project'
        raise Obstacle("objects", f"{message}; {_INSTEAD}")
    if layers.keeps:
        raise Obstacle("objects", f"a module stores data from each batch ({layers.keeps}); {_INSTEAD}")
    learns = any(isinstance(node, Call) and dotted_name(view, node.callee) in TAKES for node in inside)
    if not learns and any(b".eval()" in view.texts[path] for path in _paths(view, layers)):
        return Care()
    if layers.random and library != "nnx":
        message = f'the modules of "{target.name}" hold random streams, which would be the same on each device'
        raise Obstacle("random-numbers", f"{message}; {_INSTEAD}")
    open_norms = tuple(one for one in layers.norms if not one.said)
    outside = _run_on_one_device(view, target, inside, layers) if open_norms else None
    if outside is not None and library != "nnx":
        line, name = outside
        message = f'line {line} runs "{name}" outside any map, where BatchNorm would have no axis'
        raise Obstacle("batch-statistics", f"{message}; {_INSTEAD}")
    return Care(open_norms if outside is None else (), outside is not None, layers.random)


def _run_on_one_device(view: FileView, target: Target, inside: list[Node], layers: Layers) -> tuple[int, str] | None:
    """Returns the line and name of a use of batch statistics where no axis is bound; None if there is none."""
    mention = _called_on_one_device(view, layers)
    if mention is not None:
        return line_of(view, mention.site), last_name(mention.node)
    other = _trained_by(view, target, inside)
    return (line_of(view, other.site), other.name) if other is not None else None


def _trained_by(view: FileView, target: Target, inside: list[Node]) -> Target | None:
    """Returns another function that takes gradients of modules, is not run by a map, and does not run the given one."""
    known = {id(node) for node in inside}
    for one in functions(view):
        roots = reached(view, one)
        if id(one.node) in known or any(root is target.node for root in roots) or maps_around(view, one):
            continue
        nodes = [node for root in roots for node in walk(root)]
        if any(isinstance(node, Call) and dotted_name(view, node.callee) in TAKES for node in nodes) and (
            works_on_modules(view, one, nodes)
        ):
            return one
    return None


def _paths(view: FileView, layers: Layers) -> set[str]:
    return {str(view.path), *(one.site.path for one in layers.norms)}


def _is_updating(node: Node) -> bool:
    """Returns whether a call to a flax.linen module updates its variables."""
    return isinstance(node, Call) and any(
        label == "mutable" and not (isinstance(value, Constant) and value.value is False)
        for label, _, value in node.arguments
    )


def _must_update_here_only(view: FileView, functions_of_step: Collection[FunctionDef]) -> None:
    """Checks that no code outside a step, where no axis is bound, updates batch statistics.

    Raises:
        Obstacle: some code does.
    """
    for entry in entries(view):
        root = tree(view, str(view.path), entry.key)
        for node in _outside(root, functions_of_step) if root is not None else ():
            if _is_updating(node):
                line = line_of(view, Site(str(view.path), entry.key, node.site))
                message = f"line {line} also updates batch statistics, but outside any map"
                raise Obstacle("batch-statistics", f"{message}; {_INSTEAD}")


def _outside(node: Node, apart: Collection[FunctionDef]) -> Iterator[Node]:
    """Yields the nodes of code, without those of the given functions."""
    if not isinstance(node, FunctionDef) or node not in apart:
        yield node
        for one in children(node):
            yield from _outside(one, apart)


def _called_on_one_device(view: FileView, layers: Layers) -> Mention | None:
    """Returns where plain Python, with no axis bound, calls a module in training mode."""
    first = view.source.find(b".eval()")
    for name in sorted({name for one in layers.classes for name in made_of(view, one)}):
        for mention in mentions_of(view, name):
            if mention.call is None or not is_on_host(view, mention.site):
                continue
            if first < 0 or view.span(mention.site).start < first:
                return mention
    return None


def joined(norm: Norm, axis: str) -> FileEdit:
    """Returns the edit that makes a layer average over all devices.

    Raises:
        Obstacle: the argument cannot be added to the call that creates the layer.
    """
    span = norm.view.span(norm.site)
    text = norm.view.source[span.start : span.end].decode("utf-8", "replace")
    body = text[:-1].rstrip()
    if not text.endswith(")") or "#" in body.rpartition("\n")[2]:
        raise Obstacle("batch-statistics", f"cannot add an argument to BatchNorm in {norm.view.path.name}")
    at = span.start + len(body.encode())
    said = f"{norm.keyword}={axis}"
    if body.endswith("("):
        added = said
    elif body.endswith(",") and "\n" in text[len(body) :]:
        last = body.rpartition("\n")[2]
        added = f"\n{last[: len(last) - len(last.lstrip())]}{said},"
    else:
        added = f" {said}" if body.endswith(",") else f", {said}"
    return FileEdit(norm.view.path, Edit(Span(at, at), added))
