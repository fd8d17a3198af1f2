"""A trace as data: the value of each line, its collectives, their totals, and errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Level: TypeAlias = Literal["none", "traced", "partitioned", "compiled"]
"""How far a trace got: not at all, traced, partitioned by XLA, or compiled by XLA."""


REMATERIALIZATION = "Rematerialization"
"""The type of faults that are warnings from XLA's partitioner."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line of a file.

    Attributes:
        filename: its path.
        row: its line, from 1.
    """

    filename: str
    row: int


@dataclass(frozen=True, slots=True)
class Line:
    """The last value that a line computes in the forward pass.

    Attributes:
        place: the line.
        dtype: JAX's name, such as "bfloat16".
        shape: its sizes; inside a shard_map, the sizes on one device.
        sharding: its sharding as a spec; None if unknown.
        varying: the axes that it varies over, inside a shard_map.
    """

    place: Place
    dtype: str
    shape: tuple[int | str, ...]
    sharding: str | None = None
    varying: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """The minimum time of a collective on a machine.

    Attributes:
        lower_bound: seconds per step, at the full bandwidth of the link.
        link: the connection, such as "ICI", "NVLink" or "InfiniBand".
    """

    lower_bound: float
    link: str


@dataclass(frozen=True, slots=True)
class Collective:
    """The collectives of one kind, over the same axes, that one line causes.

    Attributes:
        place: the line; None if no user line leads to it.
        kind: XLA's name, such as "all-reduce".
        axes: the mesh axes along which the devices of a group differ; empty if no mesh is known.
        group_size: the number of devices that take part in each.
        count: the number of runs per step.
        bytes: bytes of the results on one device, over all runs in a step.
        dtype: the type of the data.
        backward: whether differentiation created it.
        seconds: the minimum time; None if no machine is known.
        others: other lines that share the collective, because gradients of several lines are reduced together.
    """

    place: Place | None
    kind: str
    axes: tuple[str, ...]
    group_size: int
    count: int
    bytes: int
    dtype: str = ""
    backward: bool = False
    seconds: Estimate | None = None
    others: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Total:
    """All collectives of one kind.

    Attributes:
        count: the number of runs per step.
        bytes: bytes of their results on one device.
    """

    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Fault:
    """An error, or a warning from XLA.

    Attributes:
        message: a sentence.
        type: the name of the exception, such as "ShardingTypeError"; "Rematerialization" for XLA's warning.
        place: the user's line that caused it; None if there is none.
        route: the lines that led there, innermost first.
        finding: the code and the message of a finding on that line, which the error confirms.
    """

    message: str
    type: str
    place: Place | None = None
    route: tuple[Place, ...] = ()
    finding: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A user file that the trace depends on.

    Attributes:
        path: its path.
        sha256: the digest of its contents.
        rows: its lines that compute something.
    """

    path: str
    sha256: str
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """The result of tracing one entry for one set of devices.

    Attributes:
        entry: its name, such as "train.py::entry".
        target: the devices as written, such as "v5e-16".
        devices: the number of devices.
        level: how far the trace got.
        partitioner: "CPU" or "GPU"; empty if nothing was partitioned.
        jax: the version of JAX.
        mesh: the axes of its largest mesh with their sizes.
        lines: the value of each line, by place.
        collectives: the collectives by place, largest first.
        totals: the totals by kind.
        flops: floating-point operations of matrix products and convolutions on one device.
        compute_seconds: their minimum time; None if no machine is known.
        communication_seconds: the minimum time of the collectives if they run one at a time.
        verdict: which of the two times is larger, in words; empty if no machine is known.
        errors: the errors; with the level "none" there is at least one.
        notes: notes on how to read the numbers.
        files: the files that the trace read; the trace is stale if one of them changes.
        placed: the number of operations, and how many of them are attributed to a user's line.
        seconds: the elapsed time of the trace.
        suggestion: an entry to paste, if arguments were missing.
    """

    entry: str
    target: str
    devices: int
    level: Level = "none"
    partitioner: str = ""
    jax: str = ""
    mesh: tuple[tuple[str, int], ...] = ()
    lines: tuple[Line, ...] = ()
    collectives: tuple[Collective, ...] = ()
    totals: tuple[tuple[str, Total], ...] = ()
    flops: float = 0.0
    compute_seconds: float | None = None
    communication_seconds: float | None = None
    verdict: str = ""
    errors: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
    files: tuple[ReadFile, ...] = field(default=())
    placed: tuple[int, int] = (0, 0)
    seconds: float = 0.0
    suggestion: str = ""


def totals_of(collectives: tuple[Collective, ...]) -> tuple[tuple[str, Total], ...]:
    """Returns the totals of collectives by kind, largest first."""
    found: dict[str, Total] = {}
    for one in collectives:
        before = found.get(one.kind, Total(0, 0))
        found[one.kind] = Total(before.count + one.count, before.bytes + one.bytes)
    return tuple(sorted(found.items(), key=lambda item: -item[1].bytes))


def to_json(trace: Trace) -> dict[str, Any]:
    """Returns a trace as JSON values."""
    return {
        "entry": trace.entry,
        "level": trace.level,
        "partitioner": trace.partitioner or None,
        "jax": trace.jax,
        "target": trace.target,
        "devices": trace.devices,
        "mesh": dict(trace.mesh),
        "lines": [
            {**_place(one.place), "dtype": one.dtype, "shape": list(one.shape), "sharding": one.sharding}
            | ({"varying": list(one.varying)} if one.varying else {})
            for one in trace.lines
        ],
        "collectives": [_collective(one) for one in trace.collectives],
        "totals": {kind: {"count": total.count, "bytes": total.bytes} for kind, total in trace.totals},
        "flops": trace.flops,
        "compute_seconds": trace.compute_seconds,
        "communication_seconds": trace.communication_seconds,
        "verdict": trace.verdict,
        "errors": [_fault(one) for one in trace.errors],
        "notes": list(trace.notes),
        "files": {one.path: one.sha256 for one in trace.files},
        "operations": {"all": trace.placed[0], "placed": trace.placed[1]},
        "suggestion": trace.suggestion or None,
    }


def _collective(one: Collective) -> Mapping[str, Any]:
    seconds = one.seconds and {"lower_bound": one.seconds.lower_bound, "link": one.seconds.link}
    return {
        **_place(one.place),
        "kind": one.kind,
        "axes": list(one.axes),
        "group_size": one.group_size,
        "count": one.count,
        "bytes": one.bytes,
        "dtype": one.dtype,
        "backward": one.backward,
        "seconds": seconds,
        **({"others": [_place(place) for place in one.others]} if one.others else {}),
    }


def _fault(one: Fault) -> dict[str, Any]:
    finding = {"finding": {"code": one.finding[0], "message": one.finding[1]}} if one.finding else {}
    return {**_place(one.place), "message": one.message, "type": one.type, **finding}


def _place(place: Place | None) -> dict[str, Any]:
    return {"filename": place and place.filename, "row": place and place.row}
