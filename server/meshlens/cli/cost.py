"""`meshlens cost`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from meshlens.cli.baseline import BadBaseline
from meshlens.cli.cost_baseline import Excess, against, beyond, parse_limit, written
from meshlens.cli.options import read_by
from meshlens.cli.printing.terminal import complain, speak_utf8
from meshlens.cli.printing.trace_table import cost_report
from meshlens.cli.printing.visible import visible
from meshlens.cli.request import absolute, shown
from meshlens.cli.tracing import failed, trace_options, traces_for
from meshlens.cli.writing import CannotWrite, write_all
from meshlens.tracing.model import Trace, to_json


@click.command("cost")
@trace_options
@click.option(
    "--baseline",
    type=click.Path(),
    metavar="FILE",
    help="Fail on collectives that are new or have grown since this file was written.",
)
@click.option("--write-baseline", is_flag=True, help="Write the collectives to the --baseline file.")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="LIMIT",
    callback=read_by(parse_limit),
    help='Fail if a line exceeds this limit, such as "all-gather>64MiB", "rematerialization" or "any>1GiB".',
)
def command(**options: Any) -> int:
    """Show which lines of a program make XLA move data between N devices, how much, and how long it takes.

    The entry is a function without required parameters that returns (function, args) or (function, args, kwargs).
    Pass it as FILE::NAME, or by its name in "entries" of the configuration. MeshLens runs it on virtual CPU devices.
    """
    if options["write_baseline"] and not options["baseline"]:
        raise click.UsageError("--write-baseline needs --baseline FILE")
    speak_utf8()
    traces = traces_for(options)
    is_broken = any(map(failed, traces))
    baseline = absolute(options["baseline"]) if options["baseline"] else None
    excesses = beyond(traces, options["fail_on"])
    if baseline is not None and not options["write_baseline"] and not is_broken:
        try:
            excesses += against(traces, baseline)
        except BadBaseline as error:
            raise click.ClickException(f"{options['baseline']}: {error}") from None
    _print(traces, excesses, as_json=options["output_format"] == "json")
    if is_broken:
        return 2
    if baseline is not None and options["write_baseline"]:
        try:
            write_all({baseline: written(traces, baseline.parent)})
        except CannotWrite as error:
            raise click.ClickException(str(error)) from None
        count = sum(len(trace.collectives) for trace in traces)
        click.echo(f"Wrote {count} collective{'' if count == 1 else 's'} to {visible(baseline.name)}.", err=True)
        return 0
    return 1 if excesses else 0


def _print(traces: Sequence[Trace], excesses: Sequence[Excess], *, as_json: bool) -> None:
    if as_json:
        found = [to_json(trace) for trace in traces]
        click.echo(json.dumps(found[0] if len(found) == 1 else found, indent=2))
    else:
        sys.stdout.write(cost_report(traces))
        sys.stdout.flush()
    for one in excesses:
        place = f"{shown(Path(one.place.filename))}:{one.place.row}: " if one.place is not None else ""
        complain(f"{place}{one.message} ({one.trace})")
