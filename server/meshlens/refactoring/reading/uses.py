"""Every reference to a function or its transformed versions in a file, and whether plain Python runs at a place."""

from __future__ import annotations

import re

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Call, FunctionDef, Lambda, Name
from meshlens.project.trees import Node, path_to, tree
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.decorators import is_transparent
from meshlens.refactoring.reading.functions import Target, Use, dotted_name, functions_called, line_of
from meshlens.refactoring.reading.made import compiled_under_its_name
from meshlens.refactoring.reading.mentions import (
    Mention,
    attributes_called,
    bound_at_top,
    bound_inside,
    made_of,
    mentions_of,
)
from meshlens.refactoring.reading.scopes import class_around, home_of, parent_of

_TRACES = ("jax.", "flax.", "haiku.", "equinox.", "optax.", "chex.", "functools.partial")


def uses_of(view: FileView, target: Target) -> tuple[Use, ...]:
    """Returns every reference to a function.

    Raises:
        Obstacle: the name has several meanings, or a method's instance is unknown.
    """
    definition = target.at(target.node.site)
    if target.is_method:
        if sum(one.is_method for one in functions_called(view, target.name)) > 1:
            raise Obstacle("several-definitions", f'several methods are named "{target.name}" here')
        return uses_of_attribute(view, target.name, class_around(view, definition))
    return uses_of_name(view, target.name, home_of(view, definition))


def uses_of_name(view: FileView, name: str, home: str | None) -> tuple[Use, ...]:
    """Returns every reference to a variable.

    Args:
        view: the file.
        name: the variable.
        home: the outermost function around its binding; None for the top level.

    Raises:
        Obstacle: the variable is bound in several places.
    """
    count = bound_at_top(view, name) if home is None else bound_inside(view, name).get(home, 0)
    if count != 1 and not is_compiled_first(view, name, home):
        raise Obstacle("several-definitions", f'several objects are named "{name}" here')
    return tuple(Use(one.site, one.call) for one in _mentions_in(view, name, home))


def _mentions_in(view: FileView, name: str, home: str | None) -> list[Mention]:
    inside = bound_inside(view, name)
    return [one for one in mentions_of(view, name) if (one.root not in inside if home is None else one.root == home)]


def is_compiled_first(view: FileView, name: str, home: str | None) -> bool:
    """Returns whether a function's name is rebound to the jitted function before any use: `step = jax.jit(step)`."""
    statement = compiled_under_its_name(view, home, name)
    count = bound_at_top(view, name) if home is None else bound_inside(view, name).get(home, 0)
    if statement is None or count != 2:
        return False
    mentions = _mentions_in(view, name, home)
    starts = [view.span(one.site).start for one in mentions if parent_of(view, one.site) == statement.value]
    start = min(starts, default=len(view.source))
    return all(view.span(one.site).start >= start or _runs_later(view, one.site, home) for one in mentions)


def _runs_later(view: FileView, site: Site, home: str | None) -> bool:
    """Returns whether a place is in a function nested in a scope, and so runs when that function is called."""
    around = [node for node in path_to(view, site)[:-1] if isinstance(node, (FunctionDef, Lambda))]
    return len(around) > (home is not None and site.block == home)


def uses_of_attribute(view: FileView, name: str, home: str | None) -> tuple[Use, ...]:
    """Returns every read of an attribute on instances of a class.

    Args:
        view: the file.
        name: the attribute.
        home: the key of the class.

    Raises:
        Obstacle: the object of an attribute with this name is unknown.
    """
    found = attributes_called(view, name)
    for one in found:
        if not home or not is_object(view, one.site, one.node.object, home):
            message = f'line {line_of(view, one.site)} uses the attribute "{name}" of an object whose class is unknown'
            raise Obstacle("unknown-object", message)
    return tuple(Use(one.site, one.call) for one in found)


def is_object(view: FileView, site: Site, value: Node, home: str) -> bool:
    """Returns whether an expression is certainly an instance of a class.

    Args:
        view: the file.
        site: its site.
        value: the expression.
        home: the key of the class.
    """
    if not isinstance(value, Name):
        return False
    root = tree(view, str(view.path), site.block)
    parameters = root.function.parameters if isinstance(root, FunctionDef) else ()
    is_own = site.block.rpartition(".")[0] == home and bool(parameters) and value.name == parameters[0].name
    return is_own or value.name in made_of(view, home)


def used_elsewhere(view: FileView, name: str) -> str | None:
    """Returns the name of another workspace file that may use a name from this file; None if there is none."""
    word = re.compile(rb"\b" + name.encode() + rb"\b")
    stem = re.escape(view.path.stem.encode())
    module = re.compile(rb"import.*\b" + stem + rb"\b|\b" + stem + rb"\s+import\b")
    for path, text in view.texts.items():
        if name.encode() in text and path != str(view.path) and word.search(text) and module.search(text):
            return path.rsplit("/", 1)[-1]
    return None


def is_on_host(view: FileView, site: Site, seen: frozenset[Site] = frozenset()) -> bool:
    """Returns whether plain Python runs at a place: no enclosing function is traced or given to code that may trace."""
    around = [node for node in path_to(view, site)[:-1] if isinstance(node, (FunctionDef, Lambda))]
    if not around:
        return True
    node = around[-1]
    if isinstance(node, Lambda):
        return False
    name = Site(site.path, site.block, node.function.site)
    if name in seen:
        return True
    if any(_may_trace(view, decorator) for decorator in node.function.decorators):
        return False
    is_method = class_around(view, Site(site.path, site.block, node.site)) is not None
    # Also check methods of other classes and other functions of this name, which may be meant.
    return all(
        is_on_host(view, one.site, seen | {name}) if one.call is not None else _is_harmless(view, one.site)
        for one in (attributes_called if is_method else mentions_of)(view, node.function.name)
    )


def _is_harmless(view: FileView, site: Site) -> bool:
    """Returns whether a function is only passed to external code that does not trace, such as `app.run(main)`."""
    above = parent_of(view, site)
    dotted = dotted_name(view, above.callee) if isinstance(above, Call) else ""
    return bool(dotted) and not dotted.startswith(_TRACES)


def _may_trace(view: FileView, decorator: Node) -> bool:
    if isinstance(decorator, Name) and decorator.name in ("property", "staticmethod", "classmethod"):
        return False
    dotted = dotted_name(view, decorator.callee if isinstance(decorator, Call) else decorator)
    return (not dotted or dotted.startswith(_TRACES)) and not is_transparent(view, decorator)
