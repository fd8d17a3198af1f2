"""Collectives of a trace compared with the module that XLA's compiler makes for eight H100s that are not there.

The compiler's numbers are kept in `tests/tracing/h100.json`, for the tests that run without the plugin;
`pytest --update` rewrites them.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from meshlens.devices.topology import parse_topology
from meshlens.tracing.request import Limits, TraceRequest
from meshlens.tracing.tracer import trace
from tracing.totals import totals_of_module

TRACING = Path(__file__).parents[2] / "tracing"
KEPT = TRACING / "h100.json"
ENTRIES = sorted(json.loads(KEPT.read_text()))

pytestmark = pytest.mark.editors


def compiled(entry):
    """Returns the collectives of an entry that was compiled for eight H100s."""
    file, _, name = entry.partition("::")
    run = subprocess.run(
        [sys.executable, TRACING / "h100.py", TRACING / "programs" / file, name],
        capture_output=True,
        encoding="utf-8",
        timeout=600,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return totals_of_module(run.stdout)


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_partitioner_of_the_plugin_gives_what_the_compiler_does(entry, request):
    real = compiled(entry)
    if request.config.getoption("--update"):
        KEPT.write_text(json.dumps({**json.loads(KEPT.read_text()), entry: real}, indent=2, sort_keys=True) + "\n")
    file, _, name = entry.partition("::")
    path = TRACING / "programs" / file
    target = parse_topology("8xH100")
    found = trace(TraceRequest(sys.executable, TRACING, path, name, target, limits=Limits(300.0, 8 << 30)))
    assert found.partitioner == "GPU"
    totals = {kind: total.bytes for kind, total in found.totals}
    assert totals == {kind: pytest.approx(size, rel=0.01, abs=128) for kind, size in real.items()}
    assert json.loads(KEPT.read_text())[entry] == real
