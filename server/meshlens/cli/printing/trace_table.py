"""The tables of `meshlens trace` and `meshlens cost`."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from meshlens.cli.printing.terminal import wants_colour
from meshlens.cli.printing.visible import visible, visible_fields, visible_lines
from meshlens.tracing.faults import OF_OURS
from meshlens.tracing.model import REMATERIALIZATION, Collective, Line, Place, Trace
from meshlens.tracing.words import least_in_words, size_in_words, time_in_words

_PLAIN_WIDTH = 200
_BAR = 16
_EIGHTHS = " ▏▎▍▌▋▊▉"
_COLOURS = {
    "all-reduce": "yellow",
    "all-gather": "cyan",
    "reduce-scatter": "green",
    "all-to-all": "magenta",
    "collective-permute": "blue",
}


def cost_report(traces: Sequence[Trace]) -> str:
    """Returns the cost of each trace, by line, and, for several traces, a table that compares them."""
    parts: list[RenderableType] = []
    for plain in traces:
        trace = visible_fields(plain)
        parts += [*_head(trace), *_blocks(_costs(trace), _tail(trace), _suggestion(plain))]
    if len(traces) > 1:
        parts += [_compared([visible_fields(trace) for trace in traces]), ""]
    return _rendered(parts[:-1])


def trace_report(traces: Sequence[Trace]) -> str:
    """Returns, for each trace, a table of the value that each line computes and the data that the line moves."""
    parts: list[RenderableType] = []
    for plain in traces:
        trace = visible_fields(plain)
        parts += [*_head(trace), *_blocks(_lines(trace), _tail(trace), _suggestion(plain))]
    return _rendered(parts[:-1])


def _head(trace: Trace) -> list[RenderableType]:
    mesh = " × ".join(f"{name}={size}" for name, size in trace.mesh)
    count = f"{trace.devices} device{'s' if trace.devices != 1 else ''}"
    words = [count if trace.target == str(trace.devices) else f"{trace.target}: {count}"]
    words += [f"mesh {mesh}"] if mesh else []
    words += [f"JAX {trace.jax}"] if trace.jax else []
    by = f" by XLA for {trace.partitioner}s" if trace.partitioner else ""
    words += [f"level {trace.level}{by}"] if trace.level != "none" else []
    return [Text.assemble((trace.entry, "bold"), f" on {', '.join(words)}")]


def _blocks(*blocks: list[RenderableType]) -> list[RenderableType]:
    """Returns the blocks with an empty line before each, and one at the end."""
    return [*(part for block in blocks if block for part in ("", *block)), ""]


def _costs(trace: Trace) -> list[RenderableType]:
    if not trace.collectives:
        is_whole = not any(error.type != REMATERIALIZATION for error in trace.errors)
        return ["no collectives"] if is_whole else []
    timed = any(one.seconds is not None for one in trace.collectives)
    table = _table("line", "collective", "axes", "group>", "times>", "per device>", "", *(("time>",) if timed else ()))
    most = max(one.bytes for one in trace.collectives)
    for one in trace.collectives:
        cells: list[RenderableType] = [
            _where(one),
            Text(one.kind + (" (backward)" if one.backward else ""), _COLOURS.get(one.kind, "")),
            " ".join(one.axes),
            str(one.group_size),
            str(one.count),
            size_in_words(one.bytes),
            Text(_bar(one.bytes / most if most else 0.0), _COLOURS.get(one.kind, "")),
        ]
        table.add_row(*cells, *([time_in_words(one.seconds.lower_bound if one.seconds else None)] if timed else []))
    return [table, "", *_sums(trace)]


def _sums(trace: Trace) -> list[RenderableType]:
    rows = [
        f"{kind}: {size_in_words(total.bytes)} on each device in {total.count} "
        f"operation{'s' if total.count != 1 else ''}"
        for kind, total in trace.totals
    ]
    if trace.compute_seconds is not None:
        rows.append(
            f"{least_in_words(trace.communication_seconds)} of communication and "
            f"{time_in_words(trace.compute_seconds)} of computation ({trace.flops:.3g} FLOP on each device): "
            f"{trace.verdict}"
        )
    elif trace.flops:
        rows.append(f"{trace.flops:.3g} FLOP on each device; name the machine to get times: --devices v5e-16 or 8xH100")
    return list(rows)


def _lines(trace: Trace) -> list[RenderableType]:
    if not trace.lines:
        return []
    moved: dict[Place, list[Collective]] = {}
    for one in trace.collectives:
        for place in (one.place, *one.others):
            if place is not None:
                moved.setdefault(place, []).append(one)
    table = _table("line", "value", "sharding", "moves")
    for line in trace.lines:
        cost = ", ".join(dict.fromkeys(f"{one.kind} {size_in_words(one.bytes)}" for one in moved.pop(line.place, [])))
        table.add_row(_spot(line.place), _value(line), _spread(line), cost)
    for place, rest in sorted(moved.items()):
        table.add_row(_spot(place), "", "", ", ".join(f"{one.kind} {size_in_words(one.bytes)}" for one in rest))
    return [table]


def _value(line: Line) -> str:
    return f"{line.dtype}[{','.join(map(str, line.shape))}]"


def _spread(line: Line) -> str:
    return line.sharding or (f"varies over {', '.join(line.varying)}" if line.varying else "")


def _tail(trace: Trace) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for error in trace.errors:
        where = f"{_spot(error.place)}: " if error.place is not None else ""
        style = "yellow" if error.type == REMATERIALIZATION else "red"
        kind = "warning" if error.type == REMATERIALIZATION else "error" if error.type in OF_OURS else error.type
        if error.finding is not None:
            code, message = error.finding
            said = f"{message} (confirmed by {f'JAX {trace.jax}'.strip()}: {kind}: {error.message})"
            parts.append(Text.assemble((f"{where}{code}", style), f": {said}"))
            continue
        parts.append(Text.assemble((f"{where}{kind}", style), f": {error.message}"))
    parts += [f"note: {note}" for note in trace.notes]
    return parts


def _suggestion(trace: Trace) -> list[RenderableType]:
    return [visible_lines(trace.suggestion.rstrip())] if trace.suggestion else []


def _compared(traces: Sequence[Trace]) -> Table:
    kinds = list(dict.fromkeys(kind for trace in traces for kind, _ in trace.totals))
    table = _table("devices", "mesh", *(f"{kind}>" for kind in kinds), "compute>", "communication>", "result")
    for trace in traces:
        totals = dict(trace.totals)
        serious = [error for error in trace.errors if error.type != REMATERIALIZATION]
        table.add_row(
            trace.target,
            " × ".join(f"{name}={size}" for name, size in trace.mesh),
            *(size_in_words(totals[kind].bytes) if kind in totals else "" for kind in kinds),
            time_in_words(trace.compute_seconds),
            time_in_words(trace.communication_seconds),
            visible(" ".join(serious[0].message.split())) if serious else trace.verdict or "runs",
        )
    return table


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column.rstrip(">"), justify="right" if column.endswith(">") else "left", overflow="fold")
    return table


def _where(one: Collective) -> str:
    if one.place is None:
        return "(no line)"
    more = [str(place.row) for place in one.others if place.filename == one.place.filename]
    return ", ".join([_spot(one.place), *more])


def _spot(place: Place) -> str:
    shown = os.path.relpath(place.filename)
    return f"{place.filename if shown.startswith('..') else shown}:{place.row}"


def _bar(share: float) -> str:
    eighths = round(share * _BAR * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _rendered(parts: Sequence[RenderableType]) -> str:
    file = io.StringIO()
    colour = wants_colour(sys.stdout)
    width = shutil.get_terminal_size((_PLAIN_WIDTH, 24)).columns if sys.stdout.isatty() else _PLAIN_WIDTH
    console = Console(file=file, width=width, force_terminal=colour, no_color=not colour, highlight=False, markup=False)
    console.print(*parts, sep="\n")
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())
