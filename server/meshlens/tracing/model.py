"""A trace as data: what each line computes, the collectives that it costs, their sums, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Level: TypeAlias = Literal["none", "traced", "partitioned", "compiled"]
"""How far a trace came: nothing was traced, the function was, XLA has partitioned it, XLA has compiled it."""


REMATERIALIZATION = "Rematerialization"
"""The type of the faults that are warnings of XLA's partitioner."""


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
    """The value that a line computes: the last one of its forward pass.

    Attributes:
        place: the line.
        dtype: as JAX writes it: "bfloat16".
        shape: its sizes; inside of a shard_map those on one device.
        sharding: how it lies on the devices, as a spec; None where it is not known.
        varying: the axes that it varies over, inside of a shard_map.
    """

    place: Place
    dtype: str
    shape: tuple[int | str, ...]
    sharding: str | None = None
    varying: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimate:
    """The least time that a collective takes on a machine.

    Attributes:
        lower_bound: seconds in one step, at the full bandwidth of the link.
        link: what the bytes go over: "ICI", "NVLink", "InfiniBand".
    """

    lower_bound: float
    link: str


@dataclass(frozen=True, slots=True)
class Collective:
    """Collectives of one kind that one line costs, over the same axes.

    Attributes:
        place: the line; None for what no line of the user's leads to.
        kind: as XLA names it: "all-reduce".
        axes: the axes of the mesh that the devices of a group differ in; empty where no mesh is known.
        group_size: how many devices take part in each.
        count: how often one runs in a step.
        bytes: those of its results on one device, in all runs of a step.
        dtype: of what is moved.
        backward: whether differentiation made it.
        seconds: the least time; None where no machine was named.
        others: more lines that share it, after gradients of several lines are reduced together.
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
        count: how often one runs in a step.
        bytes: those of their results on one device.
    """

    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that went wrong, or that XLA warns of.

    Attributes:
        message: a sentence.
        type: the name of the exception: "ShardingTypeError"; "Rematerialization" for XLA's warning.
        place: the line of the user's where it came about; None where there is none.
        route: the lines that led there, the innermost first.
    """

    message: str
    type: str
    place: Place | None = None
    route: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file of the user's that the trace depends on.

    Attributes:
        path: where it lies.
        sha256: the digest of what it held.
        rows: its lines that computed something.
    """

    path: str
    sha256: str
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Trace:
    """The result of tracing one entry on one number of devices.

    Attributes:
        entry: as it was named: "train.py::entry".
        target: the devices, as they were written: "v5e-16".
        devices: how many there are.
        level: how far the trace came.
        partitioner: whose it was: "CPU" or "GPU"; empty where nothing was partitioned.
        jax: the version of JAX.
        mesh: the axes of its largest mesh with their sizes.
        lines: what each line computes, by place.
        collectives: by place, the most bytes first.
        totals: by kind.
        flops: floating-point operations of matrix products and convolutions on one device.
        compute_seconds: the least time that these take; None where no machine was named.
        communication_seconds: the least time of the collectives, one after the other.
        verdict: which of the two is larger, in words; empty where no machine was named.
        errors: what went wrong; with the level "none" there is at least one.
        notes: what one has to know to read the numbers.
        files: what the trace read; where one of these has changed, it is stale.
        placed: how many operations there are, and how many of them lie on a line of the user's.
        seconds: how long it took, by the clock.
        suggestion: an entry to paste, where arguments were missing.
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
    """Returns the sums of collectives by kind, the most bytes first."""
    found: dict[str, Total] = {}
    for one in collectives:
        before = found.get(one.kind, Total(0, 0))
        found[one.kind] = Total(before.count + one.count, before.bytes + one.bytes)
    return tuple(sorted(found.items(), key=lambda item: -item[1].bytes))


def to_json(trace: Trace) -> dict[str, Any]:
    """Returns a trace as JSON has it."""
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
        "errors": [{**_place(one.place), "message": one.message, "type": one.type} for one in trace.errors],
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


def _place(place: Place | None) -> dict[str, Any]:
    return {"filename": place and place.filename, "row": place and place.row}
