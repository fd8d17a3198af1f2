"""The values of `jax.device_count()` and similar calls, for inlay hints."""

from __future__ import annotations

import re
from collections.abc import Iterator

from meshlens.ide.cursor import call_of, expression_at, parts_at
from meshlens.ide.hovering.device_words import said_by
from meshlens.ide.values_here import dotted_at
from meshlens.jaxapi.names import canonical
from meshlens.project.settings.devices import Devices
from meshlens.project.view import FileView
from meshlens.text import Span

_CALL = re.compile(rb"\b(?:local_)?device_count(?=\(\))|\bprocess_count(?=\(\))")


def device_counts(view: FileView, within: Span) -> Iterator[tuple[int, str, str]]:
    """Yields each device count: the offset at which to show it, the count, and how it was determined.

    Args:
        view: the file.
        within: the part of the file that is shown.
    """
    devices = view.devices
    for match in _CALL.finditer(view.source, within.start, within.end):
        parts = parts_at(view, match.end())
        place = expression_at(parts)
        call = call_of(parts, place) if place is not None else None
        dotted = dotted_at(view, parts, place) if place is not None and call is not None else None
        count = _count(devices, canonical(dotted)) if dotted is not None else None
        if call is not None and count is not None:
            yield view.span(call.site).end, f"= {count}", said_by(devices)


def _count(devices: Devices, name: str) -> int | None:
    target, report = devices.target, devices.detected
    if target is not None:
        known = {"jax.device_count": target.count, "jax.local_device_count": target.local_count}
        return known.get(name, target.hosts if name == "jax.process_count" else None)
    if report is None or not report.devices:
        return None
    local = sum(device.local for device in report.devices)
    known = {"jax.device_count": len(report.devices), "jax.local_device_count": local}
    return known.get(name, report.process_count if name == "jax.process_count" else None)
