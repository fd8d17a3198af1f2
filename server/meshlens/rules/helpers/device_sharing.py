"""Arrays whose sizes do not fit the devices of a `pmap`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from meshlens.axes.data.arrays import product, shape_of
from meshlens.axes.domain.values import Const, Site
from meshlens.axes.runs.records import MappedCall
from meshlens.checking.counting import counted
from meshlens.checking.model import Finding, Related
from meshlens.checking.routes import certain
from meshlens.jaxapi.names import canonical
from meshlens.project.settings.devices import Devices, local_there_are
from meshlens.project.view import FileView
from meshlens.rules.helpers.axis_sizes import mapped_sizes
from meshlens.rules.helpers.miscounts import entries_of, positional

_Complaint = tuple[Site, str]


def shared_badly(view: FileView, devices: Devices) -> Iterator[Finding]:
    """Yields findings for `pmap` calls with arguments whose sizes do not fit the devices or `axis_size`.

    Args:
        view: the file.
        devices: the devices that the file targets.
    """
    places: dict[Site, list[MappedCall]] = defaultdict(list)
    for call in view.records.mapped_calls:
        if call.visible and canonical(call.binder.dotted) == "jax.pmap":
            places[call.call].append(call)
    for calls in places.values():
        found = certain((call, call.context, _complaint(call, devices) is not None) for call in calls)
        complaint = _complaint(found, devices) if found is not None else None
        if found is None or complaint is None or not view.is_here(complaint[0]):
            continue
        binder = found.binder.site
        related = Related(view.path_of(binder), view.span(binder), "mapped here")
        yield Finding(view.span(complaint[0]), complaint[1], (), (related,))


def _complaint(call: MappedCall, devices: Devices) -> _Complaint | None:
    if entries_of(call.binder, "in_axes") not in (None, positional(call)):
        return None
    given = call.binder.argument("devices")
    if call.binder.argument("backend") is not None:
        return None
    have = product(shape_of(given.value)) if given is not None else devices.local_count
    rows = list(mapped_sizes(call))
    if have is None or not rows:
        return None
    if given is None and rows[0][1] > have:
        return call.call, f"{counted(rows[0][1], 'row is', 'rows are')} mapped, but {local_there_are(devices)}"
    if given is not None and rows[0][1] != have:
        return call.call, f"{counted(rows[0][1], 'row is', 'rows are')} mapped, but devices= lists {have}"
    said = call.binder.argument("axis_size")
    if said is not None and isinstance(said.value, Const) and said.value.value not in (None, rows[0][1]):
        return call.call, f"{counted(rows[0][1], 'row is', 'rows are')} mapped, but axis_size is {said.value.value}"
    return None
