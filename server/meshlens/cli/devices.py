"""`meshlens devices`."""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import replace

import click

from meshlens.caches.folder import cache_of
from meshlens.cli.options import read_by
from meshlens.cli.printing.device_table import render
from meshlens.cli.printing.progress import progress
from meshlens.cli.printing.terminal import complain, speak_utf8
from meshlens.cli.request import absolute, shown
from meshlens.devices import failures
from meshlens.devices.interpreters import Interpreter, Wishes, choose_interpreter
from meshlens.devices.report import Report, summary, to_json
from meshlens.devices.reports import new_report, report_of
from meshlens.devices.runner import Question
from meshlens.devices.topology import BadTopology, Topology, parse_topology
from meshlens.devices.trust import enclosing
from meshlens.devices.virtual import virtual_environment
from meshlens.project.settings.configuration import find_configuration, project_root, read_configuration
from meshlens.project.settings.devices import target_of
from meshlens.settings import BadSetting

_NO_PYTHON = 'found no Python for this folder; use --interpreter or set "interpreter" to name the one that has JAX'
_START = "the TPU was not started, because it serves one process at a time; pass --refresh to start it"


def _topology(value: object) -> Topology:
    try:
        return parse_topology(value)
    except BadTopology as error:
        raise BadSetting(str(error)) from None


@click.command("devices")
@click.argument("path", default=".", type=click.Path(), metavar="[PATH]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--interpreter",
    type=click.Path(),
    metavar="PATH",
    help="The Python or environment to query instead of the project's.",
)
@click.option("--installed", is_flag=True, help="Read package versions only; do not start JAX.")
@click.option("--refresh", is_flag=True, help="Query again instead of using a cached answer; this may start a TPU.")
@click.option(
    "--untrusted",
    is_flag=True,
    help="Treat the project as untrusted: only read package versions; start nothing.",
)
@click.option(
    "--env",
    "virtual",
    metavar="N",
    callback=read_by(_topology),
    help='Print the shell commands that set up N virtual devices; N is a number or a shape such as "2x4".',
)
def command(
    path: str,
    as_json: bool,
    interpreter: str | None,
    installed: bool,
    refresh: bool,
    untrusted: bool,
    virtual: Topology | None,
) -> int:
    """Show the devices of a project: those that its JAX sees, those of this machine, and the target."""
    speak_utf8()
    if virtual is not None:
        _print_environment(virtual, as_json=as_json)
        return 0
    start = absolute(path)
    if not start.exists():
        raise click.ClickException(f"{shown(start)}: no such file or folder")
    root = project_root(start)
    home = find_configuration(start if start.is_dir() else start.parent)
    configuration = read_configuration(home, shown(home) if home else "")
    settings = configuration.settings
    for error in configuration.errors:
        complain(error)
    closed = enclosing((root, start)) if untrusted else ()
    wishes = Wishes(settings.interpreter, settings.folder, given=interpreter)
    chosen = choose_interpreter(root, wishes, untrusted=closed)
    if chosen is None:
        raise click.ClickException(_NO_PYTHON)
    if interpreter is not None and chosen.origin != "given":
        raise click.ClickException(failures.untrusted(interpreter))
    question = Question(chosen.path, "installed" if installed else "devices", closed, may_start_tpu=refresh)
    ask = new_report if refresh else report_of
    with progress() as bar:
        bar.stage(f"Asking {chosen.path}", None)
        found = ask(question, cache_of(root))
    report = _noted(found, installed=installed or untrusted)
    target = target_of(settings.devices, report)
    _print(chosen, report, target, as_json=as_json)
    return 2 if report.failure or configuration.errors else 0


def _noted(report: Report, *, installed: bool) -> Report:
    """Returns the report, with a note on why the TPU was not started if its devices were requested but not listed."""
    if installed or report.level == "devices" or report.failure or report.note:
        return report
    return replace(report, note=_START)


def _print(interpreter: Interpreter, report: Report, target: Topology | None, *, as_json: bool) -> None:
    if as_json:
        more = {"origin": interpreter.origin, "summary": summary(report), "target": target and target.text}
        click.echo(json.dumps({**to_json(report), **more}, indent=2))
        return
    sys.stdout.write(render(interpreter, report, target))
    sys.stdout.flush()
    for line in filter(None, (report.failure, report.note)):
        complain(line)


def _print_environment(topology: Topology, *, as_json: bool) -> None:
    environment = virtual_environment(topology.count, os.environ)
    if as_json:
        click.echo(json.dumps(environment, indent=2))
        return
    for name, value in environment.items():
        if sys.platform == "win32":
            click.echo(f'$env:{name} = "{value}"')
        else:
            click.echo(f"export {name}={shlex.quote(value)}")
