"""The table of `meshlens devices`: the interpreter, its packages, its devices and their picture."""

from __future__ import annotations

import io
import shutil
import sys

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from meshlens.cli.printing.terminal import wants_colour
from meshlens.cli.printing.visible import visible_fields
from meshlens.devices.interpreters import Interpreter
from meshlens.devices.picture import picture
from meshlens.devices.report import Device, Report, summary
from meshlens.devices.topology import DETECTED, Topology, describe

_FIRST = ("jax", "jaxlib")
_MOST_ROWS = 64
_PLAIN_WIDTH = 240


def render(interpreter: Interpreter, report: Report, target: Topology | None) -> str:
    """Returns the report as styled lines for a terminal, or plain ones for a pipe."""
    interpreter, report = visible_fields(interpreter), visible_fields(report)
    parts: list[RenderableType] = [_facts(interpreter, report, target)]
    devices = report.devices or report.accelerators
    if devices:
        parts += ["", _devices(devices)]
    if len(devices) > 1:
        parts += ["", picture(devices)]
    file = io.StringIO()
    colour = wants_colour(sys.stdout)
    width = shutil.get_terminal_size((_PLAIN_WIDTH, 24)).columns if sys.stdout.isatty() else _PLAIN_WIDTH
    console = Console(file=file, width=width, force_terminal=colour, no_color=not colour, highlight=False, markup=False)
    console.print(*parts, sep="\n")
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def _facts(interpreter: Interpreter, report: Report, target: Topology | None) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("interpreter", f"{interpreter.path} ({interpreter.origin})")
    if report.python:
        table.add_row("python", report.python)
    for name in _FIRST:
        if version := report.version(name):
            table.add_row(name, version)
    if rest := ", ".join(f"{name} {version}" for name, version in report.versions if name not in _FIRST):
        table.add_row("packages", rest)
    table.add_row("devices", _what_there_is(report))
    if target is not None and target.text != DETECTED:
        table.add_row("target", describe(target))
    return table


def _what_there_is(report: Report) -> str:
    words = summary(report)
    if report.devices:
        processes = report.process_count or 1
        more = f", {processes} processes" if processes > 1 else ""
        return f"{words} (backend {report.default_backend}{more})"
    if report.accelerators:
        return f"{words} (found without starting JAX)"
    if report.failure:
        return "not known"
    return "not detected; JAX was not started" if report.level == "installed" else words


def _devices(devices: tuple[Device, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    on_network = any(device.coordinates is not None for device in devices)
    with_memory = any(device.memory_limit is not None for device in devices)
    several = any(device.process_index for device in devices)
    table.add_column("id", justify="right")
    for name in ("platform", "kind"):
        table.add_column(name)
    for name, shown in (("process", several), ("coordinates", on_network), ("memory in use", with_memory)):
        if shown:
            table.add_column(name)
    for device in devices[:_MOST_ROWS]:
        cells = [str(device.id), device.platform, device.kind]
        cells += [f"{device.process_index}{' (this one)' if device.local else ''}"] if several else []
        cells += [_place(device)] if on_network else []
        cells += [_memory(device)] if with_memory else []
        table.add_row(*cells)
    if len(devices) > _MOST_ROWS:
        table.add_row("…", f"{len(devices) - _MOST_ROWS} more")
    return table


def _place(device: Device) -> str:
    if device.coordinates is None:
        return ""
    core = f" core {device.core_on_chip}" if device.core_on_chip is not None else ""
    return f"({', '.join(map(str, device.coordinates))}){core}"


def _memory(device: Device) -> str:
    if device.memory_limit is None:
        return ""
    used = f"{device.memory_in_use / 2**30:.1f}" if device.memory_in_use is not None else "?"
    return f"{used} of {device.memory_limit / 2**30:.1f} GiB"
