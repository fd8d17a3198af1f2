"""Traces of real programs in warm processes that the tests of a module share."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from meshlens.devices.topology import parse_topology
from meshlens.tracing.machines import machine_of
from meshlens.tracing.model import Trace
from meshlens.tracing.request import Limits, TraceRequest
from meshlens.tracing.tracer import trace
from meshlens.tracing.warm import WarmWorkers

PROGRAMS = Path(__file__).with_name("programs")


@pytest.fixture(scope="module")
def workers() -> Iterator[WarmWorkers]:
    """Yields the warm processes for a module's tests."""
    kept = WarmWorkers()
    yield kept
    kept.end_all()


@pytest.fixture
def traced(workers: WarmWorkers) -> Callable[..., Trace]:
    """Returns a function that traces an entry from a file in `programs`, or from one that a test has written."""

    def of(file: str | Path, name: str = "entry", devices: str = "8", **options: object) -> Trace:
        path = PROGRAMS / file
        target = parse_topology(devices)
        limits = Limits(options.pop("seconds", 120.0), options.pop("memory", 4 << 30))
        request = TraceRequest(
            sys.executable, path.parent, path, name, target, machine=machine_of(target), limits=limits, **options
        )
        return trace(request, workers)

    return of
