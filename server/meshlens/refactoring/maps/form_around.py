"""Maps a function at its definition, with a decorator that splits the batch, so that no call changes.

This suits functions called in other files or through unknown objects, and functions passed as arguments.
"""

from __future__ import annotations

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import NOTHING, Argument, Assign, Attribute, Call, ClassDef, FunctionDef, Name, last_name
from meshlens.project.trees import path_to
from meshlens.project.view import FileView
from meshlens.refactoring.maps.form import Form
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.calls import PlainCall
from meshlens.refactoring.reading.functions import Target, Use, dotted_name, functions, line_of
from meshlens.refactoring.reading.jit import folded_jit, jit_above, jit_around
from meshlens.refactoring.reading.mentions import (
    AttributeMention,
    Mention,
    attributes_called,
    bound_inside,
    mentions_of,
)
from meshlens.refactoring.reading.scopes import class_around, home_of, parent_of
from meshlens.refactoring.reading.siblings import calls_elsewhere
from meshlens.refactoring.reading.uses import is_compiled_first, is_object

UNSEEN = frozenset(
    "used-elsewhere unknown-object several-definitions traced-call used-as-value keyword-arguments several-counts "
    "compiled-for-others several-maps nameless-batch rows-among-results batch-apart object-argument method".split()
)
"""The reasons why the calls cannot be changed, although the function can."""
_TRACES = ("jax.", "flax.", "haiku.", "equinox.", "optax.", "chex.", "diffrax.", "numpyro.", "blackjax.")
_COMPILES = frozenset({"jax.jit", "equinox.filter_jit", "flax.nnx.jit"})
_DEEPEST = 8


def form_around(view: FileView, target: Target) -> Form | None:
    """Returns the form for mapping a compiled function at its definition; None if the function is not compiled.

    Raises:
        Obstacle: JAX certainly traces a use of the function, or its decorators cannot be analyzed.
    """
    mentions = _mentions(view, target)
    try:
        folded = jit_above(view, target)
    except Obstacle as obstacle:
        if obstacle.code != "method":
            raise
        folded = None
    how, others = "decorator", False
    if folded is None:
        compiled = [call for one in mentions if one.call is None for call in [jit_around(view, one.site)] if call]
        if len(compiled) != 1:
            for one in mentions if target.is_method else ():
                _must_not_be_traced(view, target, one)
            return None
        folded = folded_jit(view, target, compiled[0], is_bound=target.has_object)
        above = parent_of(view, compiled[0].call)
        bound = above.targets if isinstance(above, Assign) else ()
        home = home_of(view, target.at(target.node.site))
        others = len(mentions) > 1 and not is_compiled_first(view, target.name, home)
        mentions = tuple(
            use
            for one in bound
            if isinstance(one, (Name, Attribute))
            for use in (mentions_of if isinstance(one, Name) else attributes_called)(view, last_name(one))
            if use.site != compiled[0].args[0].site
        )
        how = "call"
    for one in mentions:
        _must_not_be_traced(view, target, one)
    calls = [call for one in mentions if one.call and (call := _read(view, target, one, one.call)) is not None]
    most = max((len(call.values) for call in calls), default=0)
    seen = tuple(call for call in calls if len(call.values) == most)
    is_bound = target.has_object and how == "call"
    return Form("call" if how == "call" else "decorator", seen, folded, is_bound, others, around=True)


def _mentions(view: FileView, target: Target) -> tuple[Mention, ...]:
    """Returns the places that may use a function, up to the next definition of the same name."""
    if target.is_method:
        owner = class_around(view, target.at(target.node.site)) or ""
        return tuple(one for one in attributes_called(view, target.name) if _is_of_class(view, one, owner))
    home = home_of(view, target.at(target.node.site))
    starts = view.span(target.site).start
    later = (
        view.span(one.site).start
        for one in functions(view)
        if one.name == target.name and not one.is_method and home_of(view, one.at(one.node.site)) == home
    )
    until = min((place for place in later if place > starts), default=len(view.source) + 1)
    inside = bound_inside(view, target.name)
    found = mentions_of(view, target.name)
    if home is not None:
        return tuple(one for one in found if one.root == home and view.span(one.site).start < until)
    return tuple(one for one in found if one.root not in inside and view.span(one.site).start < until)


def _is_of_class(view: FileView, mention: AttributeMention, owner: str) -> bool:
    """Returns whether an attribute is read from an instance of a class, or from the class by name."""
    value = mention.node.object
    name = value.name if isinstance(value, Name) else ""
    block = view.facts.blocks.get(owner)
    shape = block.shape if block is not None else None
    is_inside = mention.site.block.startswith(f"{owner}.")
    is_named = (name in ("self", "cls") and is_inside) or (isinstance(shape, ClassDef) and name == shape.name)
    return is_named or is_object(view, mention.site, value, owner)


def _must_not_be_traced(view: FileView, target: Target, mention: Mention) -> None:
    """Checks that JAX does not trace a use of a function, for example to take the function's gradients.

    Raises:
        Obstacle: JAX traces the use.
    """
    line = line_of(view, mention.site)
    if mention.call is None:
        above = parent_of(view, mention.site)
        dotted = dotted_name(view, above.callee) if isinstance(above, Call) else ""
        if dotted.startswith(_TRACES) and dotted not in _COMPILES:
            message = (
                f'line {line} passes "{target.name}" to {dotted}; '
                "instead, convert the outer function, the one called from untraced code"
            )
            raise Obstacle("traced-use", message)
        return
    if is_traced(view, mention.site):
        message = (
            f'line {line} calls "{target.name}" in traced code; '
            "instead, convert the outer function, the one called from untraced code"
        )
        raise Obstacle("traced-use", message)


def must_not_be_differentiated_elsewhere(view: FileView, target: Target) -> None:
    """Checks that a function is not called by traced code in another file, for example by a loss function.

    Raises:
        Obstacle: traced code does.
    """
    for other, key, node in calls_elsewhere(view, target.name) if not target.is_method else ():
        site = Site(str(other.path), key, node.site)
        around = [one for one in path_to(other, site)[:-1] if isinstance(one, FunctionDef)]
        if around and not around[-1].function.decorators and is_traced(other, site):
            where = f"{other.path.name}, line {line_of(other, site)},"
            message = (
                f'{where} calls "{target.name}" in traced code; '
                "instead, convert the outer function, the one called from untraced code"
            )
            raise Obstacle("traced-use", message)


def is_traced(view: FileView, site: Site, depth: int = 0) -> bool:
    """Returns whether JAX certainly traces the code around a place."""
    around = [node for node in path_to(view, site)[:-1] if isinstance(node, FunctionDef)]
    if not around or depth > _DEEPEST:
        return False
    node = around[-1]
    decorators = [one.callee if isinstance(one, Call) else one for one in node.function.decorators]
    partials = [one.arguments[0].value for one in node.function.decorators if isinstance(one, Call) and one.arguments]
    if any(
        dotted_name(view, one).startswith(_TRACES)
        for one in (*decorators, *partials)
        if isinstance(one, (Name, Attribute))
    ):
        return True
    here = Site(site.path, site.block, node.site)
    is_method = class_around(view, here) is not None
    for one in (attributes_called if is_method else mentions_of)(view, node.function.name):
        if isinstance(one, AttributeMention) and last_name(one.node.object) not in ("self", "cls"):
            continue
        if one.call is not None and one.root != here.block and is_traced(view, one.site, depth + 1):
            return True
        above = parent_of(view, one.site) if one.call is None else NOTHING
        if isinstance(above, Call) and dotted_name(view, above.callee).startswith(_TRACES):
            return True
    return False


def _read(view: FileView, target: Target, mention: Mention, made: Call) -> PlainCall | None:
    """Returns a call with its arguments in the order of the parameters; None if they do not match."""
    names = [parameter.name for parameter in target.parameters]
    given: dict[int, Argument] = {}
    for place, one in enumerate(made.arguments):
        if one.label in ("*", "**") or (one.label is not None and one.label not in names) or place >= len(names):
            return None
        given[place if one.label is None else names.index(one.label)] = one
    if sorted(given) != list(range(len(given))):
        return None
    ordered = tuple(given[place] for place in range(len(given)))
    call = made._replace(arguments=ordered)
    spans = tuple(view.span(Site(mention.site.path, mention.site.block, one.site)) for one in ordered)
    return PlainCall(Use(mention.site, call), tuple(one.value for one in ordered), spans)
