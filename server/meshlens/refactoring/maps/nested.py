"""Two nested applications of `jax.pmap`, and how arrays are mapped over both axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from meshlens.axes.domain.values import Data, Site
from meshlens.axes.runs.records import Binding
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle, Pmap, decorated, pmap_at
from meshlens.refactoring.maps.prefix import Entries, Items, Prefix
from meshlens.refactoring.maps.vmap import read_plainly
from meshlens.refactoring.writing.application import kept
from meshlens.refactoring.writing.writing import Source
from meshlens.text import Span

_CHOSEN = ("devices", "backend", "axis_size", "static_broadcasted_argnums")


class Axes(NamedTuple):
    """The axes that the two pmaps map, as axes of the array passed to the outer pmap; None if a pmap maps none."""

    outer: int | None
    inner: int | None


@dataclass(frozen=True, slots=True)
class Around:
    """One of the two pmaps, with the arguments that determine how it maps arrays."""

    pmap: Pmap

    def written(self, view: FileView) -> tuple[str | Source, ...]:
        """Returns the arguments as written."""
        return tuple(
            part for name in ("in_axes", "out_axes") for part in kept(view, name, self.pmap.arguments.get(name))
        )


@dataclass(frozen=True, slots=True)
class Nest:
    """A pmap of a pmap.

    Attributes:
        outer, inner: the two pmaps.
        span: the span of both.
    """

    outer: Pmap
    inner: Pmap
    span: Span

    @property
    def outer_axes(self) -> Around:
        """Returns the axes arguments of the outer pmap."""
        return Around(self.outer)

    @property
    def inner_axes(self) -> Around:
        """Returns the axes arguments of the inner pmap."""
        return Around(self.inner)

    def in_axes(self, view: FileView) -> tuple[Axes, ...]:
        """Returns the mapped axes of every argument.

        Raises:
            Obstacle: the number of arguments is unknown, or an argument has different axes for its parts.
        """
        counts = {len(pmap.in_axes.items) for pmap in (self.outer, self.inner) if isinstance(pmap.in_axes, Items)}
        counts |= {len(call.args) for call in self.outer.calls}
        if not counts and self.inner.parameters is not None:
            counts = {len(self.inner.parameters)}
        if len(counts) != 1:
            raise Obstacle("unknown-arguments", "the number of arguments of these pmaps is unknown")
        count = counts.pop()
        pairs = zip(_each(self.outer.in_axes, count), _each(self.inner.in_axes, count), strict=True)
        return tuple(_joined(outer, inner) for outer, inner in pairs)

    def out_axes(self) -> tuple[Axes, ...] | Axes:
        """Returns the mapped axes of every result; a single value if neither `out_axes` is a tuple or list.

        Raises:
            Obstacle: a result has different axes for its parts.
        """
        outer, inner = self.outer.out_axes, self.inner.out_axes
        count = next((len(one.items) for one in (outer, inner) if isinstance(one, Items)), None)
        if count is None:
            return _joined(_leaf(outer), _leaf(inner))
        pairs = zip(_each(outer, count), _each(inner, count), strict=True)
        return tuple(_joined(one, other) for one, other in pairs)

    def sizes(self, axes: tuple[Axes, ...]) -> tuple[int, int] | None:
        """Returns the numbers of rows that the calls pass along the outer and the inner axis; None if unknown."""
        found: set[tuple[int | None, int | None]] = set()
        for call in self.outer.calls:
            shapes = [arg.value.shape if isinstance(arg.value, Data) else None for arg in call.args]
            pairs = [(shape, one) for shape, one in zip(shapes, axes, strict=False) if shape is not None]
            outer = {_size(shape, one.outer) for shape, one in pairs} - {None}
            inner = {_size(shape, one.inner) for shape, one in pairs} - {None}
            found.add((outer.pop() if len(outer) == 1 else None, inner.pop() if len(inner) == 1 else None))
        if len(found) > 1:
            raise Obstacle("several-sizes", "the calls pass different numbers of rows, but a mesh has a fixed size")
        first, second = found.pop() if found else (None, None)
        return (first, second) if first is not None and second is not None else None


def nest_at(view: FileView, span: Span) -> Nest | None:
    """Returns the two nested pmaps at a cursor or selection.

    Raises:
        Obstacle: a single shard_map cannot replace them.
    """
    here = pmap_at(view, span)
    if here is None:
        return None
    for outer, inner in _pairs(view):
        if here.binder.site in (outer.binder.site, inner.binder.site):
            return _read(view, outer, inner)
    sites = [here.binder.site]
    for records in view.solution.by_file.values():
        for one in records.bindings:
            maps = [binder.site for binder in one.context.env.maps if binder.kind == "pmap"]
            nested = one.binder.kind == "pmap" and (one.binder.site in sites or set(sites) & set(maps))
            if maps and nested:
                message = (
                    "the outer function does more than call the inner pmap; "
                    "in a shard_map, its other code would see shards"
                )
                raise Obstacle("more-than-a-pmap", message)
    return None


def specs_of(axes: tuple[Axes, ...] | Axes, spec: str, names: tuple[str, str]) -> str:
    """Returns specs such as `(P("host", "chip"), P())`."""
    if isinstance(axes, Axes):
        return _spec(axes, spec, names)
    texts = [_spec(one, spec, names) for one in axes]
    return f"({', '.join(texts)}{',' * (len(texts) == 1)})"


def _spec(axes: Axes, spec: str, names: tuple[str, str]) -> str:
    places = {place: name for place, name in zip(axes, names, strict=True) if place is not None}
    entries = [places.get(place, "None") for place in range(max(places, default=-1) + 1)]
    return f"{spec}({', '.join(entries)})"


def _pairs(view: FileView) -> list[tuple[Binding, Binding]]:
    """Returns the pairs of pmaps in a file, outer and inner, in which one is applied directly to the other."""
    bindings = {
        one.binder.site: one
        for one in view.records.bindings
        if canonical(one.binder.dotted) == "jax.pmap" and view.is_here(one.binder.site)
    }
    found = []
    for outer in bindings.values():
        function = decorated(view, outer)
        if function is None:
            inner = bindings.get(outer.binder.operand_site) if outer.binder.operand_site is not None else None
        else:
            site = outer.binder.site
            below = [Site(site.path, site.block, one.site) for one in function.function.decorators]
            place = below.index(site) + 1
            inner = bindings.get(below[place]) if place < len(below) else None
        if inner is not None:
            found.append((outer, inner))
    return found


def _read(view: FileView, outer: Binding, inner: Binding) -> Nest:
    whole = Span(view.span(outer.binder.site).start, view.span(outer.binder.site).end)
    if outer.decorator:
        whole = Span(whole.start, view.span(inner.binder.site).end)
    pmaps = (read_plainly(view, outer), read_plainly(view, inner))
    for pmap in pmaps:
        if any(pmap.given(name) is not None for name in _CHOSEN):
            raise Obstacle("pmap-arguments", "one of these pmaps selects its devices or has static arguments")
    if pmaps[1].given("donate_argnums") is not None:
        raise Obstacle("pmap-arguments", "the inner pmap donates arguments")
    if any(arg.label is not None for call in pmaps[0].calls for arg in call.args):
        raise Obstacle("keyword-arguments", "a call passes arguments by keyword, which shard_map does not accept")
    return Nest(*pmaps, whole)


def _each(axes: Prefix, count: int) -> list[int | None]:
    if isinstance(axes, Items):
        if len(axes.items) != count:
            raise Obstacle("in-axes", "the two pmaps have in_axes or out_axes of different lengths")
        return [_leaf(one) for one in axes.items]
    return [_leaf(axes)] * count


def _leaf(axes: Prefix) -> int | None:
    if isinstance(axes, (Items, Entries)):
        raise Obstacle("nested-axes", "one of these pmaps has separate axes for parts of an argument or result")
    return axes


def _joined(outer: int | None, inner: int | None) -> Axes:
    """Returns both mapped axes as axes of the whole array; the inner pmap does not count the outer pmap's axis."""
    if outer is None or inner is None or inner < outer:
        return Axes(outer, inner)
    return Axes(outer, inner + 1)


def _size(shape: tuple[int | None, ...], axis: int | None) -> int | None:
    return shape[axis] if axis is not None and axis < len(shape) else None
