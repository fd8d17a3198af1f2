"""Computes the traces that a command line requests, for `meshlens trace` and `meshlens cost`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import click

from meshlens.cli.confirming import with_findings
from meshlens.cli.options import read_by
from meshlens.cli.printing.progress import progress
from meshlens.cli.printing.terminal import complain
from meshlens.cli.request import absolute, shown
from meshlens.devices.interpreters import Wishes, choose_interpreter
from meshlens.devices.topology import BadTopology, Topology, parse_topology
from meshlens.devices.trust import enclosing
from meshlens.project.settings.configuration import find_configuration, project_root, read_configuration
from meshlens.settings import BadSetting, Settings
from meshlens.tracing.machines import MACHINES, Machine, machine_from, machine_of
from meshlens.tracing.model import REMATERIALIZATION, Trace
from meshlens.tracing.request import PARTITIONED, TRACED, Limits, TraceRequest
from meshlens.tracing.tracer import trace
from meshlens.tracing.warm import WarmWorkers

_Decorated = TypeVar("_Decorated", bound=Callable[..., Any])
_ENTRY = re.compile(r"(.+?)::([A-Za-z_][\w.]*)")
_NO_PYTHON = 'found no Python for this folder; use --interpreter or set "interpreter" to name the one that has JAX'
_LEVELS = {"traced": TRACED, "partitioned": PARTITIONED}


def _topologies(value: object) -> tuple[Topology, ...]:
    try:
        return tuple(parse_topology(part) for part in str(value).split(","))
    except BadTopology as error:
        raise BadSetting(str(error)) from None


_OPTIONS = (
    click.argument("entry", type=click.Path(), metavar="FILE::NAME"),
    click.argument("argv", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM ARGUMENTS]"),
    click.option(
        "--devices",
        "targets",
        multiple=True,
        metavar="N",
        callback=read_by(_topologies),
        help='The target devices: 8, "4x4", "v5e-16", "8xH100"; separate several with commas. '
        "Default: those of the configuration, or else 8.",
    ),
    click.option(
        "--machine",
        metavar="NAME",
        help='The machine to estimate times for: a known model such as "H100", or a name from the "machines" setting.',
    ),
    click.option(
        "--level",
        type=click.Choice(list(_LEVELS)),
        default="partitioned",
        show_default=True,
        help="How far to go: trace the function only, or have XLA partition it too.",
    ),
    click.option(
        "--interpreter",
        type=click.Path(),
        metavar="PATH",
        help="The Python or environment to use instead of the project's.",
    ),
    click.option("--timeout", type=float, default=20.0, show_default=True, help="Time limit of a trace, in seconds."),
    click.option("--memory", type=float, default=2.0, show_default=True, help="Memory limit of a trace, in GiB."),
    click.option(
        "--run-main",
        is_flag=True,
        help="Run FILE as a program until it calls the function NAME, and trace that call.",
    ),
    click.option("--untrusted", is_flag=True, help="Treat the project as untrusted: run nothing."),
    click.option(
        "--output-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Output format.",
    ),
)


def trace_options(function: _Decorated) -> _Decorated:
    """Adds the options that both commands share."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def traces_for(options: dict[str, Any]) -> tuple[Trace, ...]:
    """Returns the trace of an entry for each of its targets.

    Raises:
        click.ClickException: the entry or the interpreter cannot be found.
    """
    here = Path.cwd()
    file, name, settings, root = _entry(options["entry"], here)
    targets = tuple(one for part in options["targets"] for one in part) or _default_target(settings)
    chosen = choose_interpreter(root, Wishes(settings.interpreter, settings.folder, given=options["interpreter"]))
    if chosen is None:
        raise click.ClickException(_NO_PYTHON)
    limits = Limits(options["timeout"], int(options["memory"] * 2**30))
    requests = [
        TraceRequest(
            chosen.path,
            root,
            file,
            name,
            target,
            level=_LEVELS[options["level"]],
            machine=_machine(options["machine"], settings) or machine_of(target),
            limits=limits,
            runs_main=options["run_main"],
            argv=options["argv"],
            untrusted=enclosing((root,)) if options["untrusted"] else (),
        )
        for target in targets
    ]
    return with_findings(tuple(_traced(requests)))


def failed(trace: Trace) -> bool:
    """Returns whether a program could not be traced to the requested level."""
    return any(error.type != REMATERIALIZATION for error in trace.errors)


def _traced(requests: Iterable[TraceRequest]) -> Iterable[Trace]:
    workers = WarmWorkers()
    with progress() as bar, ExitStack() as stack:
        stack.callback(workers.end_all)
        for request in requests:
            bar.stage(f"Starting {request.interpreter}", None)

            def tell(stage: str, on: str = request.target.text) -> None:
                bar.stage(f"{stage[:1].upper()}{stage[1:]} on {on}", None)

            yield trace(request, workers, on_stage=tell, environ=os.environ)


def _entry(written: str, here: Path) -> tuple[Path, str, Settings, Path]:
    """Returns the file and name of an entry, with the settings and folder of its project."""
    found = _ENTRY.fullmatch(written)
    start = absolute(found[1]) if found else here
    home = find_configuration(start if start.is_dir() else start.parent)
    configuration = read_configuration(home, shown(home) if home else "")
    for error in configuration.errors:
        complain(error)
    settings = configuration.settings
    if found is None:
        known = dict(settings.entries)
        if written not in known:
            names = f' or one of "entries": {", ".join(sorted(known))}' if known else ""
            raise click.UsageError(f'expected FILE::NAME, such as train.py::entry{names}, not "{written}"')
        found = _ENTRY.fullmatch(known[written])
        assert found is not None
        start = Path(os.path.normpath(Path(settings.folder, found[1])))
    if not start.is_file():
        raise click.ClickException(f"{shown(start)}: no such file")
    if start.suffix == ".ipynb":
        raise click.ClickException(f"{shown(start)}: a notebook cannot be traced; move the function to a .py file")
    return start, found[2], settings, project_root(start)


def _machine(name: str | None, settings: Settings) -> Machine | None:
    if name is None:
        return None
    own = {key: machine_from(key, dict(values)) for key, values in settings.machines}
    known = {**MACHINES, **own}
    found = next((key for key in known if key.lower() == name.lower()), None)
    if found is None:
        raise click.UsageError(f'expected a machine ({", ".join(known)}), not "{name}"')
    return known[found]


def _default_target(settings: Settings) -> tuple[Topology, ...]:
    if isinstance(settings.devices, Topology):
        return (settings.devices,)
    return (parse_topology(8),)
