"""Compares the sizes of mapped arguments along their mapped axes, which must be equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.domain.values import Const, Data, Site
from meshlens.axes.jax.mapped_values import axis_of
from meshlens.axes.runs.records import MappedCall
from meshlens.checking.model import Finding, Related
from meshlens.checking.routes import certain
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.rules.helpers.static import static_places

_Sizes = tuple[int, int, int, int]


def unlike_sizes(view: FileView, wanted: frozenset[str]) -> Iterator[Finding]:
    """Yields a finding for each call whose arguments have different sizes along their mapped axes.

    Args:
        view: the file.
        wanted: canonical names of the maps to check.
    """
    calls: dict[Site, list[MappedCall]] = defaultdict(list)
    for call in view.records.mapped_calls:
        if canonical(call.binder.dotted) in wanted and call.visible and view.is_here(call.call):
            calls[call.call].append(call)
    for group in calls.values():
        found = certain((call, call.context, _differing(call) is not None) for call in group)
        sizes = _differing(found) if found is not None else None
        if found is None or sizes is None:
            continue
        first, size, second, other = sizes
        site = found.args[second].site
        if site is not None and view.is_here(site):
            message = f"mapped axes differ in size: argument {second} has {other}, argument {first} has {size}"
            mapped = Related(view.path_of(found.binder.site), view.span(found.binder.site), "mapped here")
            yield Finding(view.span(site), message, (), (mapped,))


def _differing(call: MappedCall) -> _Sizes | None:
    """Returns the first two positional arguments whose sizes differ, each with its size."""
    known: tuple[int, int] | None = None
    for place, arg in enumerate(call.args):
        if arg.label is not None:
            return None
        axis = axis_of(call.binder, place, None)
        shape = shape_of(arg.value) if isinstance(arg.value, Data) else None
        if (
            place in static_places(call.binder)
            or not isinstance(axis, Const)
            or type(axis.value) is not int
            or not shape
        ):
            continue
        size = shape[axis.value] if 0 <= axis.value < len(shape) else None
        if size is None:
            continue
        if known is not None and known[1] != size:
            return (*known, place, size)
        known = known or (place, size)
    return None
