"""The `jit` directly around the application of a map, which becomes unnecessary if the new map compiles itself."""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import Binding
from meshlens.facts.nodes import Argument, Call
from meshlens.jaxapi.transparent import COMPILES
from meshlens.project.trees import Node, path_to
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle, decorated
from meshlens.refactoring.reading.functions import dotted_name
from meshlens.refactoring.reading.jit import Library
from meshlens.text import Span

_FOLDED = {"static_argnums": "static_broadcasted_argnums", "donate_argnums": "donate_argnums"}


@dataclass(frozen=True, slots=True)
class Outer:
    """A `jit` around a mapped function.

    Attributes:
        span: the `jit` and the map together.
        arguments: the arguments of the `jit`, each as pmap's name for it and the site of its value.
        library: its library; equinox's `jit` accepts values other than arrays.
    """

    span: Span
    arguments: tuple[tuple[str, Site], ...]
    library: Library = "jax"


def jit_around(view: FileView, binding: Binding) -> Outer | None:
    """Returns the `jit` above the decorator, or around the call, that applies a map; None if there is none.

    Raises:
        Obstacle: the `jit` has arguments that pmap does not accept.
    """
    site = binding.binder.site
    function = decorated(view, binding)
    node: Node | None
    if function is not None:
        decorators = function.function.decorators
        place = next(number for number, one in enumerate(decorators) if one.site == site.index)
        node = decorators[place - 1] if place else None
        span = Span(view.span(_at(site, node.site)).start, view.span(site).end) if node is not None else None
        given = _of_decorator(view, node) if node is not None else None
    else:
        path = path_to(view, site)
        node = path[-2] if len(path) > 1 else None
        is_jit = isinstance(node, Call) and dotted_name(view, node.callee) in COMPILES
        is_ours = isinstance(node, Call) and is_jit and node.arguments[0].value.site == site.index
        given = node.arguments if isinstance(node, Call) and is_ours else None
        span = view.span(_at(site, node.site)) if node is not None else None
    if node is None or given is None or span is None:
        return None
    found = []
    for label, _, value in given:
        if label in _FOLDED:
            found.append((_FOLDED[label], _at(site, value.site)))
        elif label is not None:
            raise Obstacle(
                "jit-arguments", f'pmap has no equivalent of the argument "{label}" of the jit around this map'
            )
    applied = [node, node.callee, *(one.value for one in node.arguments[:1])] if isinstance(node, Call) else [node]
    is_of_equinox = any(dotted_name(view, one) == "equinox.filter_jit" for one in applied)
    return Outer(span, tuple(found), "equinox" if is_of_equinox else "jax")


def _of_decorator(view: FileView, node: Node) -> tuple[Argument, ...] | None:
    """Returns the arguments of a decorator that is `jit` or a `partial` of it."""
    if dotted_name(view, node) in COMPILES:
        return ()
    if not isinstance(node, Call):
        return None
    if dotted_name(view, node.callee) in COMPILES:
        return node.arguments
    if not node.arguments or dotted_name(view, node.callee) != "functools.partial":
        return None
    return node.arguments[1:] if dotted_name(view, node.arguments[0].value) in COMPILES else None


def _at(site: Site, index: int) -> Site:
    return Site(site.path, site.block, index)
