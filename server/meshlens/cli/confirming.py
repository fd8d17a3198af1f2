"""Joins the errors of traces with the findings of `meshlens check` that they confirm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from meshlens.caches.folder import cache_of
from meshlens.checking.model import Severity
from meshlens.cli.printing.progress import progress
from meshlens.cli.request import ask
from meshlens.cli.run import run
from meshlens.tracing.faults import OF_OURS
from meshlens.tracing.model import REMATERIALIZATION, Fault, Place, Trace


def with_findings(traces: Sequence[Trace]) -> tuple[Trace, ...]:
    """Returns traces in which each JAX error has the finding on its line, if there is one.

    Files without JAX errors are not checked.
    """
    places = {fault.place for trace in traces for fault in trace.errors if fault.place and _is_jax(fault)}
    if not places:
        return tuple(traces)
    found = _findings(sorted({place.filename for place in places}))
    return tuple(replace(trace, errors=tuple(_confirming(one, found) for one in trace.errors)) for trace in traces)


def _confirming(fault: Fault, found: dict[Place, tuple[str, str]]) -> Fault:
    finding = found.get(fault.place) if fault.place is not None and _is_jax(fault) else None
    return replace(fault, finding=finding)


def _is_jax(fault: Fault) -> bool:
    return fault.type != REMATERIALIZATION and fault.type not in OF_OURS


def _findings(files: Sequence[str]) -> dict[Place, tuple[str, str]]:
    """Returns the first finding of severity "error" on each line of the given files."""
    with progress() as bar:
        report = run(ask([file for file in files if Path(file).is_file()], {}), (), bar, cache_of).report
    found: dict[Place, tuple[str, str]] = {}
    for one in report.findings:
        if one.severity == Severity.ERROR.value:
            found.setdefault(Place(one.place.path, one.place.start[0]), (one.code, one.message))
    return found
