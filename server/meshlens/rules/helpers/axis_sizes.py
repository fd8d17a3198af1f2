"""Compares the sizes of mapped arguments along their mapped axes, which must be equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.domain.joining import leaves
from meshlens.axes.domain.values import Arg, Const, Site
from meshlens.axes.jax.mapped_values import axis_of
from meshlens.axes.runs.records import MappedCall
from meshlens.checking.model import Finding, Related
from meshlens.checking.routes import certain
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.rules.helpers.splitting import shape_of_array
from meshlens.rules.helpers.static import static_places


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
        (first, size), (second, other) = sizes
        if second.site is not None and view.is_here(second.site):
            names = f"argument {_name(found, second)} has {other}, argument {_name(found, first)} has {size}"
            mapped = Related(view.path_of(found.binder.site), view.span(found.binder.site), "mapped here")
            yield Finding(view.span(second.site), f"mapped axes differ in size: {names}", (), (mapped,))


def mapped_sizes(call: MappedCall) -> Iterator[tuple[Arg, int]]:
    """Yields each mapped argument with its size along the mapped axis, if known, once for each array in it."""
    statics = static_places(call.binder)
    for place, arg in enumerate(call.args):
        axis = axis_of(call.binder, place, arg.label)
        if place in statics or not isinstance(axis, Const) or type(axis.value) is not int or arg.whole is None:
            continue
        for leaf in leaves(arg.value):
            shape = shape_of_array(leaf)
            size = shape[axis.value] if shape is not None and 0 <= axis.value < len(shape) else None
            if size is not None:
                yield arg, size


def _differing(call: MappedCall) -> tuple[tuple[Arg, int], tuple[Arg, int]] | None:
    """Returns the first two arguments whose sizes differ, each with its size."""
    known: tuple[Arg, int] | None = None
    for arg, size in mapped_sizes(call):
        if known is not None and known[1] != size:
            return known, (arg, size)
        known = known or (arg, size)
    return None


def _name(call: MappedCall, arg: Arg) -> str:
    return f'"{arg.label}"' if arg.label is not None else str(call.args.index(arg))
