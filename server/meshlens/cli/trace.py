"""`meshlens trace`."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from meshlens.cli.printing.terminal import speak_utf8
from meshlens.cli.printing.trace_table import trace_report
from meshlens.cli.tracing import failed, trace_options, traces_for
from meshlens.tracing.model import to_json


@click.command("trace")
@trace_options
def command(**options: Any) -> int:
    """Show what each line of a program computes on N devices: shapes, shardings, collectives.

    The entry is a function without required parameters that returns (function, args) or (function, args, kwargs).
    Pass it as FILE::NAME, or by its name in "entries" of the configuration. MeshLens runs it on virtual CPU devices.
    """
    speak_utf8()
    traces = traces_for(options)
    if options["output_format"] == "json":
        found = [to_json(trace) for trace in traces]
        click.echo(json.dumps(found[0] if len(found) == 1 else found, indent=2))
    else:
        sys.stdout.write(trace_report(traces))
    return 2 if any(map(failed, traces)) else 0
