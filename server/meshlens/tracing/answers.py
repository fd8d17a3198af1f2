"""Converts a worker's output files into a trace."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

from meshlens.foreign_files import read_bytes
from meshlens.tracing import faults
from meshlens.tracing.groups import Groups
from meshlens.tracing.hlo import Instruction, Module, places_in, read_module
from meshlens.tracing.machines import least_time
from meshlens.tracing.model import (
    REMATERIALIZATION,
    Collective,
    Estimate,
    Fault,
    Line,
    Place,
    ReadFile,
    Trace,
    totals_of,
)
from meshlens.tracing.partitioned import Mesh, ToUser, read_partitioned, shardings_in
from meshlens.tracing.request import TraceRequest
from meshlens.tracing.room import MOST_ANSWER, newest_dump, read_json
from meshlens.tracing.suggestion import suggested_entry
from meshlens.tracing.worker.places import Inside

_REMATERIALIZED = re.compile(r"Involuntary full rematerialization\.(.*?)(?=\n[A-Z]\d{4} |\Z)", re.DOTALL)
_METADATA = re.compile(r"metadata=\{.*?\}(?=[,.\s)]|$)")
_FROM_TO = re.compile(r"from sharding (\{.*?\}) to (\{.*?\}) (?:efficiently|without)")
_MOST_OUTPUT = 40_000_000


_UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def trace_from(room: Path, request: TraceRequest, blank: Trace) -> Trace:
    """Returns a worker's output as a trace, as far as the worker got; any unreadable output results in an error.

    Args:
        room: the folder with the output.
        request: the request.
        blank: an empty trace with the entry and its target.
    """
    try:
        return _trace_from(room, request, blank)
    except _UNREADABLE as error:
        return replace(blank, errors=(faults.unreadable(error),))


def _trace_from(room: Path, request: TraceRequest, blank: Trace) -> Trace:
    traced = read_json(room / "traced.json")
    found = _traced(traced, request, blank) if traced else blank
    if failed := read_json(room / "failed.json"):
        found = replace(
            found,
            jax=found.jax or str(failed.get("jax", "")),
            errors=(*found.errors, faults.raised(failed, request)),
            files=found.files or _files(failed, {}),
            suggestion=_suggestion(failed, request),
        )
    after = _after(room)
    if after is not None and traced:
        found = _with_module(found, room, after, request, _jitted(traced, blank.entry))
    return found


def _jitted(traced: Mapping[str, Any], entry: str) -> str:
    """Returns a note on the jitted functions that an entry without `jit` calls; "" if it calls none."""
    file, _, name = entry.rpartition("::")
    names = ", ".join(f"{file}::{one}" for one in traced.get("jitted", []))
    return f'"{name}" calls jitted functions, which JAX compiles one by one; measure {names}' if names else ""


def _suggestion(failed: Mapping[str, Any], request: TraceRequest) -> str:
    more = failed.get("more")
    parameters = more.get("parameters") if isinstance(more, dict) else None
    return suggested_entry(request.name, parameters) if isinstance(parameters, list) else ""


def _after(room: Path) -> tuple[Module, str] | None:
    """Returns the module after the partitioner, or at the closest available stage, and the name of the stage."""
    for path, kind in (
        (newest_dump(room, "after_spmd-partitioning"), "partitioned"),
        (room / "lowered.txt", "lowered"),
        (room / "compiled.txt", "compiled"),
    ):
        raw = read_bytes(path, MOST_ANSWER) if path is not None else None
        if isinstance(raw, bytes) and raw.strip():
            return read_module(raw.decode("utf-8", "replace")), kind
    return None


def _traced(traced: Mapping[str, Any], request: TraceRequest, blank: Trace) -> Trace:
    mesh = _mesh(traced, request.target.count)
    rows: dict[str, set[int]] = defaultdict(set)
    for place in map(faults.place_of, traced.get("rows", [])):
        if place is not None:
            rows[place.filename].add(place.row)
    collectives = tuple(_together(_written(one, request) for one in traced.get("collectives", [])))
    equations = traced.get("equations", [0, 0])
    return replace(
        blank,
        level="traced",
        jax=str(traced.get("jax", "")),
        mesh=mesh,
        lines=tuple(sorted(_lines(traced.get("lines", [])), key=lambda line: line.place)),
        collectives=collectives,
        totals=totals_of(collectives),
        flops=float(traced.get("flops", 0.0)) / max(request.target.count, 1),
        notes=tuple(
            dict.fromkeys(
                [
                    *map(str, traced.get("notes", [])),
                    *_loops(traced.get("unknown_loops", [])),
                    *_branches(traced.get("unequal_branches", [])),
                    *_kernels(traced.get("kernels", [])),
                ]
            )
        ),
        files=_files(traced, rows),
        placed=(int(equations[0]), int(equations[1])),
    )


def _files(answer: Mapping[str, Any], rows: Mapping[str, Iterable[int]]) -> tuple[ReadFile, ...]:
    return tuple(
        ReadFile(one["path"], one["sha256"], tuple(sorted(rows.get(one["path"], ()))))
        for one in answer.get("files", [])
    )


def _lines(listed: Iterable[Any]) -> Iterable[Line]:
    for filename, row, line in listed:
        sharding = line["sharding"]
        yield Line(
            Place(str(filename), int(row)),
            str(line["dtype"]),
            tuple(size if isinstance(size, int) else str(size) for size in line["shape"]),
            None if sharding is None else str(sharding),
            tuple(map(str, line["varying"])),
        )


def _loops(places: Iterable[Any]) -> Iterable[str]:
    for place in map(faults.place_of, places):
        if place is not None:
            yield (
                f"{Path(place.filename).name}:{place.row}: the number of iterations depends on data; "
                "the loop body is counted once"
            )


def _branches(places: Iterable[Any]) -> Iterable[str]:
    for place in map(faults.place_of, places):
        if place is not None:
            yield (
                f"{Path(place.filename).name}:{place.row}: which branch runs depends on data; "
                "the branch that moves the most data is counted"
            )


def _kernels(places: Iterable[Any]) -> Iterable[str]:
    for place in map(faults.place_of, places):
        if place is not None:
            yield f"{Path(place.filename).name}:{place.row}: the operations of this Pallas kernel are not counted"


def _mesh(traced: Mapping[str, Any], devices: int) -> Mesh:
    """Returns the mesh of all devices with the most axes; if no mesh has all devices, the largest mesh."""
    meshes = [tuple((str(name), int(size)) for name, size in one["axes"].items()) for one in traced.get("meshes", [])]
    fitting = [mesh for mesh in meshes if prod(size for _, size in mesh) == devices] or meshes
    return max(fitting, key=lambda mesh: (prod(size for _, size in mesh), len(mesh)), default=())


def _written(one: Mapping[str, Any], request: TraceRequest) -> Collective:
    times, size, number = int(one["times"]), int(one["bytes"]), int(one["group_size"])
    seconds = _estimator(request)(str(one["kind"]), size, (tuple(range(number)),))
    return Collective(
        place=faults.place_of(one["place"]),
        kind=str(one["kind"]),
        axes=tuple(map(str, one["axes"])),
        group_size=number,
        count=times,
        bytes=size * times,
        seconds=seconds and replace(seconds, lower_bound=seconds.lower_bound * times),
    )


def _together(collectives: Iterable[Collective]) -> list[Collective]:
    rows: dict[object, Collective] = {}
    for one in collectives:
        key = (one.place, one.kind, one.axes, one.group_size)
        before = rows.get(key)
        if before is not None:
            seconds = one.seconds
            if seconds is not None and before.seconds is not None:
                seconds = replace(seconds, lower_bound=seconds.lower_bound + before.seconds.lower_bound)
            one = replace(one, count=one.count + before.count, bytes=one.bytes + before.bytes, seconds=seconds)
        rows[key] = one
    return sorted(rows.values(), key=lambda one: (-one.bytes, one.place or Place("", 0)))


def _with_module(found: Trace, room: Path, after: tuple[Module, str], request: TraceRequest, jitted: str) -> Trace:
    module, kind = after
    inside = Inside(str(request.root), str(request.file))
    read = read_partitioned(module, found.mesh, request.target.count, inside.places, _estimator(request))
    notes = [
        *found.notes,
        *_loops([[place.filename, place.row] for place in read.unknown_loops]),
        *_branches([[place.filename, place.row] for place in read.unequal_branches]),
    ]
    if kind == "compiled":
        notes.append(
            "this release of XLA wrote no partitioned module, so the costs are those of the module compiled for CPUs, "
            "in which bfloat16 collectives count double"
        )
    # If XLA has nothing to partition, only collectives in the jaxpr move data, and the jaxpr has more precise lines.
    collectives = found.collectives if kind == "lowered" else read.collectives
    if not collectives and request.target.count > 1 and jitted:
        notes.append(jitted)
    elif kind == "lowered" and not found.mesh and not collectives and request.target.count > 1:
        notes.append(
            "no argument is sharded and the program shards nothing, so it runs on one device; "
            "give an argument a NamedSharding"
        )
    found = replace(
        found,
        level="compiled" if kind == "compiled" else "partitioned",
        partitioner="GPU" if request.with_plugin else "CPU",
        collectives=collectives,
        totals=totals_of(collectives),
        flops=read.flops or found.flops,
        notes=tuple(dict.fromkeys(notes)),
    )
    before = newest_dump(room, "before_spmd-partitioning")
    raw = read_bytes(before, MOST_ANSWER) if before is not None else None
    if not isinstance(raw, bytes):
        return found
    spread = read_module(raw.decode("utf-8", "replace"))
    shardings, placed = shardings_in(spread, found.mesh, inside.places)
    lines = tuple(_with_sharding(line, shardings.get(line.place, [])) for line in found.lines)
    warnings = _rematerialized(room, spread, inside.places)
    return replace(found, lines=lines, placed=placed, errors=(*found.errors, *warnings))


def _with_sharding(line: Line, found: list[tuple[tuple[int, ...], str]]) -> Line:
    if line.sharding is not None or line.varying:
        return line
    fitting = [spec for shape, spec in found if shape == line.shape]
    return replace(line, sharding=fitting[-1]) if fitting else line


def _rematerialized(room: Path, module: Module, to_user: ToUser) -> list[Fault]:
    """Returns XLA's warnings about replicating a value to reshard it, each with its line."""
    raw = read_bytes(room / "output", _MOST_OUTPUT)
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else ""
    locate = places_in(module)
    found: dict[object, Fault] = {}
    for warning in _REMATERIALIZED.findall(text):
        metadata = _METADATA.search(warning)
        shardings = _FROM_TO.search(warning)
        places = to_user(locate(Instruction("", "", (), (), metadata[0]))) if metadata else []
        place = Place(*places[0]) if places else None
        between = f" from {shardings[1]} to {shardings[2]}" if shardings else ""
        message = (
            f"XLA gathers the whole value on every device to change its sharding{between}; "
            "change the spec or add a sharding constraint before this line"
        )
        found.setdefault((place, message), Fault(message, REMATERIALIZATION, place))
    return list(found.values())


def _estimator(request: TraceRequest) -> Callable[[str, int, Groups], Estimate | None]:
    if request.machine is None:
        return lambda kind, size, groups: None
    return partial(least_time, request.machine, request.target.shape)
