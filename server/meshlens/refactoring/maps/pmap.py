"""An application of `jax.pmap` that is to be rewritten: all its arguments, and all visible calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from meshlens.axes.domain.map_values import Binder
from meshlens.axes.domain.values import Arg, Const, Data, Seq, Site, Value
from meshlens.axes.runs.records import Binding, MappedCall
from meshlens.facts.nodes import Attribute, FunctionDef, Name
from meshlens.facts.walking import nodes
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.jaxapi.names import canonical
from meshlens.project.trees import blocks_at, path_to
from meshlens.project.view import FileView
from meshlens.project.writing.import_statements import name_of_module
from meshlens.refactoring.maps.prefix import Items, Prefix, Unknown, prefix_of
from meshlens.text import Span


class Obstacle(Exception):
    """An obstacle to a rewrite.

    Attributes:
        code: the name of the reason.
        message: one short sentence.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Pmap:
    """An application of `jax.pmap` about which everything is known.

    Attributes:
        binding: its record; if several routes lead to it, their records agree.
        calls: the visible calls to its result.
        in_axes, out_axes: the mapped axes.
        static: the positions of the static arguments.
        arguments: its arguments by parameter.
        parameters: the names of the operand's positional parameters; None if unknown.
    """

    binding: Binding
    calls: tuple[MappedCall, ...]
    in_axes: Prefix
    out_axes: Prefix
    static: tuple[int, ...]
    arguments: dict[str, Arg]
    parameters: tuple[str, ...] | None

    @property
    def binder(self) -> Binder:
        """Returns the map."""
        return self.binding.binder

    def given(self, name: str) -> Arg | None:
        """Returns an argument, unless it is missing or a literal `None`."""
        arg = self.arguments.get(name)
        if arg is None or (isinstance(arg.value, Const) and arg.value.value is None):
            return None
        return arg


def pmap_at(view: FileView, span: Span, dotted: str = "jax.pmap") -> Binding | None:
    """Returns the innermost application of a map whose code, or whose decorated function, contains a selection.

    Args:
        view: the file.
        span: the cursor or selection.
        dotted: the map to look for.
    """
    found = [
        (places[0].end - places[0].start, number, binding)
        for number, (binding, places) in enumerate(_places_applied(view, dotted))
        if any(one.start <= span.start and span.end <= one.end for one in places)
    ]
    return min(found, key=lambda one: one[:2])[2] if found else None


def _places_applied(view: FileView, dotted: str) -> tuple[tuple[Binding, list[Span]], ...]:
    """Returns the applications of a map in a file, with the places of each and of the function that it decorates."""
    known: dict[int, tuple[object, tuple[tuple[Binding, list[Span]], ...]]] = view.solution.once(
        f"assists: places of {dotted} in {view.path}", lambda _: {}
    )
    # A solution survives edits that only move lines, but facts do not; so the facts are stored with the results.
    if id(view.facts) not in known:
        known[id(view.facts)] = view.facts, tuple(_find_applied(view, dotted))
    return known[id(view.facts)][1]


def _find_applied(view: FileView, dotted: str) -> Iterator[tuple[Binding, list[Span]]]:
    for binding in view.records.bindings:
        if canonical(binding.binder.dotted) != dotted or not view.is_here(binding.binder.site):
            continue
        places = [view.span(binding.binder.site)]
        function = decorated(view, binding)
        if function is not None:
            places.append(view.span(_at(binding.binder.site, function.function.site)))
        if function is not None or not binding.decorator:
            yield binding, places


def applications(view: FileView) -> tuple[Span, ...]:
    """Returns the places where a file applies `jax.pmap`, or mentions it without a visible application, in order."""
    known = {
        view.span(binding.binder.site)
        for binding in view.records.bindings
        if canonical(binding.binder.dotted) == "jax.pmap" and view.is_here(binding.binder.site)
    }
    return tuple(sorted({*known, *mentions(view)}))


def mentions(view: FileView, around: Span | None = None) -> tuple[Span, ...]:
    """Returns the places where a file mentions `jax.pmap` outside any visible application.

    Args:
        view: the file.
        around: if given, only the blocks that contain this place are searched.
    """
    names = {name for name in (name_of_module(view, "jax.pmap"),) if name is not None}
    jax = name_of_module(view, "jax")
    known = [view.span(binding.binder.site) for binding in view.records.bindings if view.is_here(binding.binder.site)]
    found = []
    keys = view.facts.blocks if around is None else blocks_at(view, around)
    for block in (view.facts.blocks[key] for key in keys):
        for node in nodes(block.shape):
            if isinstance(node, (Name, Attribute)) and _is_pmap(node, names, jax):
                span = block.span(node.site)
                if not any(one.contains(span) for one in known):
                    found.append(span)
    return tuple(sorted(found))


def _is_pmap(node: Name | Attribute, names: set[str], jax: str | None) -> bool:
    if isinstance(node, Name):
        return node.name in names
    return node.name == "pmap" and isinstance(node.object, Name) and node.object.name == jax


def decorated(view: FileView, binding: Binding) -> FunctionDef | None:
    """Returns the function node that an application decorates; None for a call."""
    if not binding.decorator:
        return None
    site = binding.binder.site
    for node in path_to(view, site):
        if isinstance(node, FunctionDef) and any(
            decorator.site == site.index for decorator in node.function.decorators
        ):
            return node
    return None


def read_pmap(view: FileView, binding: Binding) -> Pmap:
    """Returns everything needed to rewrite an application of `jax.pmap`.

    Raises:
        Obstacle: something about the application is unknown, or it cannot be rewritten where it is.
    """
    binder = binding.binder
    same = [one for one in view.records.bindings if one.binder.site == binder.site]
    calls = tuple(one for one in view.records.calls_of_maps if one.binder.site == binder.site and one.visible)
    _stands_alone(view, same, calls)
    arguments = dict(binder.arguments)
    if "*" in arguments or "**" in arguments:
        raise Obstacle("splat", "a splat hides the arguments of this pmap")
    found = {(_prefix(one.binder, "in_axes"), _prefix(one.binder, "out_axes"), _static(one.binder)) for one in same}
    if len(found) > 1:
        raise Obstacle("several-meanings", "this pmap gets different arguments from different callers")
    ((in_axes, out_axes, static),) = found
    return Pmap(binding, calls, in_axes, out_axes, static, arguments, _parameters(binding))


def argument_count(pmap: Pmap) -> int | None:
    """Returns the number of positional arguments that the mapped function is called with, if certain."""
    if isinstance(pmap.in_axes, Items):
        return len(pmap.in_axes.items)
    seen = {sum(arg.label is None for arg in call.args) for call in pmap.calls if call.exact}
    if len(seen) == 1 and all(call.exact for call in pmap.calls):
        return seen.pop()
    parameters = pmap.binding.parameters
    if seen or parameters is None or any(how in ("*", "**") or optional for _, how, optional in parameters):
        return None
    return len(parameters)


def rows(pmap: Pmap) -> set[int]:
    """Returns the sizes of the mapped axis that are known from the calls."""
    sizes: set[int] = set()
    for call in pmap.calls:
        for place, arg in enumerate(call.args):
            axis = _axis_of(pmap, place, arg)
            shape = arg.value.shape if isinstance(arg.value, Data) else None
            size = shape[axis] if axis is not None and shape is not None and axis < len(shape) else None
            if size is not None:
                sizes.add(size)
            if arg.label == "*":
                # The places of the arguments after it are unknown.
                break
    return sizes


def _axis_of(pmap: Pmap, place: int, arg: Arg) -> int | None:
    if arg.label == "*":
        return _axis_of_splat(pmap, place)
    if arg.label is not None:
        return 0 if arg.label != "**" else None
    if place in pmap.static:
        return None
    axes = pmap.in_axes
    if isinstance(axes, Items):
        axes = axes.items[place] if place < len(axes.items) else None
    return axes if isinstance(axes, int) else None


def _axis_of_splat(pmap: Pmap, place: int) -> int | None:
    """Returns the mapped axis of an array whose items are passed with a star, if every item is mapped alike."""
    axes = pmap.in_axes
    if isinstance(axes, Items):
        kinds = set(axes.items[place:])
        axes = kinds.pop() if len(kinds) == 1 else None
    return axes + 1 if isinstance(axes, int) and not pmap.static else None


def _stands_alone(view: FileView, bindings: list[Binding], calls: tuple[MappedCall, ...]) -> None:
    site = bindings[0].binder.site
    contexts = [*(one.context for one in bindings), *(one.context for one in calls)]
    maps = [binder for context in contexts for binder in context.env.maps]
    around = next((binder for binder in maps if binder.kind in MAPS_ON_DEVICES), None)
    if around is not None:
        raise Obstacle("nested-map", f"this pmap runs inside the {around.kind} {_where(view, around.site)}")
    for records in view.solution.by_file.values():
        applied = [(one.binder, one.context) for one in records.bindings]
        applied += [(one.binder, one.context) for one in records.calls_of_maps]
        for inner, context in applied:
            if inner.kind in MAPS_ON_DEVICES and any(one.site == site for one in context.env.maps):
                place = _where(view, inner.site)
                raise Obstacle("nested-map", f"the mapped function applies the {inner.kind} {place}")


def _where(view: FileView, site: Site) -> str:
    line = view.texts[site.path].count(b"\n", 0, view.span(site).start) + 1
    return f"on line {line}" if view.is_here(site) else f"in {view.path_of(site).name}, line {line}"


def _prefix(binder: Binder, name: str) -> Prefix:
    arg = binder.argument(name)
    if arg is None:
        return 0
    try:
        found = prefix_of(arg.value)
    except Unknown:
        raise Obstacle(f"unknown-{name.replace('_', '-')}", f"{name} is unknown here") from None
    if name == "in_axes" and isinstance(found, Items) and found.kind == "list":
        raise Obstacle("unknown-in-axes", "in_axes is a list, which pmap does not accept; use a tuple")
    return found


def _static(binder: Binder) -> tuple[int, ...]:
    arg = binder.argument("static_broadcasted_argnums")
    if arg is None:
        return ()
    value: Value = arg.value
    items = value.items if isinstance(value, Seq) and not value.open else (value,)
    numbers = [item.value for item in items if isinstance(item, Const) and type(item.value) is int and item.value >= 0]
    if len(numbers) != len(items):
        raise Obstacle("unknown-static", "static_broadcasted_argnums is unknown here")
    return tuple(sorted(numbers))


def _parameters(binding: Binding) -> tuple[str, ...] | None:
    if binding.parameters is None:
        return None
    names = []
    for name, how, _ in binding.parameters:
        if how not in ("only", "any"):
            break
        names.append(name)
    return tuple(names)


def _at(site: Site, index: int) -> Site:
    return Site(site.path, site.block, index)
