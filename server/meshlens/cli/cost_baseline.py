"""Limits on the cost of a program: known and accepted collectives, and limits from the command line.

A collective is identified by its file, the text of its line, its kind, its axes and whether differentiation created it,
so lines may move. A collective is new if the baseline lacks it, and has grown if its bytes increased by more than 1%.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meshlens.cli.baseline import BadBaseline
from meshlens.cli.formats.fingerprints import relative
from meshlens.foreign_files import BASELINE, SOURCE, Unread, read_bytes, read_text
from meshlens.settings import BadSetting
from meshlens.tracing.model import REMATERIALIZATION, Collective, Place, Trace

_VERSION = 1
_GROWN = 1.01
_LIMIT = re.compile(r"\s*([a-z\-]+)\s*(?:>\s*([\d.]+)\s*([KMGT]?)(i?)B?)?\s*", re.IGNORECASE)
_KINDS = (
    "all-reduce",
    "all-gather",
    "reduce-scatter",
    "all-to-all",
    "collective-permute",
    "rematerialization",
    "any",
)

_Key = tuple[str, str, str, tuple[str, ...], bool]


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on the bytes that a program moves.

    Attributes:
        text: the text as written, such as "all-gather>64MiB".
        kind: the kind of collective, "rematerialization", or "any".
        bytes: the maximum number of bytes that one line may move.
    """

    text: str
    kind: str
    bytes: float


@dataclass(frozen=True, slots=True)
class Excess:
    """A collective that is new, has grown, or exceeds a limit; a forbidden rematerialization; or a new trace.

    Attributes:
        trace: the entry and its target.
        place: the line; None for a trace that the baseline lacks, or if no user line is known.
        message: what is wrong.
    """

    trace: str
    place: Place | None
    message: str


def parse_limit(value: object) -> Limit:
    """Returns the limit that a text describes.

    Raises:
        BadSetting: the text is not a limit.
    """
    found = _LIMIT.fullmatch(str(value))
    if found is None or found[1].lower() not in _KINDS:
        raise BadSetting(
            f'expected a kind ({", ".join(_KINDS)}), optionally with the largest size allowed, as in "all-gather>64MiB"'
        )
    base = 1024 if found[4] else 1000
    size = float(found[2]) * base ** " KMGT".index(found[3].upper() or " ") if found[2] else 0.0
    return Limit(str(value).strip(), found[1].lower(), size)


def beyond(traces: Sequence[Trace], limits: Sequence[Limit]) -> list[Excess]:
    """Returns the collectives that exceed a limit, and the rematerializations that a limit forbids."""
    found = []
    for trace in traces:
        for limit in limits:
            for one in trace.collectives:
                if limit.kind in (one.kind, "any") and one.bytes > limit.bytes:
                    message = f'{one.kind} of {one.bytes:,} bytes on each device exceeds the limit "{limit.text}"'
                    found.append(Excess(_name(trace), one.place, message))
            if limit.kind in ("rematerialization", "any"):
                found += [
                    Excess(_name(trace), error.place, error.message)
                    for error in trace.errors
                    if error.type == REMATERIALIZATION
                ]
    return found


def written(traces: Sequence[Trace], folder: Path) -> bytes:
    """Returns the costs of traces as a baseline.

    Args:
        traces: the traces.
        folder: the folder of the baseline, to which its paths are relative.
    """
    entries = {
        _name(trace): [
            {"file": file, "line": line, "kind": kind, "axes": list(axes), "backward": backward, "bytes": size}
            for (file, line, kind, axes, backward), size in sorted(_costs(trace, folder).items())
        ]
        for trace in traces
    }
    return (json.dumps({"version": _VERSION, "costs": entries}, indent=2, ensure_ascii=False) + "\n").encode()


def against(traces: Sequence[Trace], baseline: Path) -> list[Excess]:
    """Returns the collectives that are new or have grown since a baseline was written, and the traces that it lacks.

    Raises:
        BadBaseline: the file is not a baseline, or cannot be read.
    """
    known = _read(baseline)
    found = []
    for trace in traces:
        name = _name(trace)
        if name not in known:
            found.append(Excess(name, None, "this trace is not in the baseline; add it with --write-baseline"))
            continue
        places = {_key(one, baseline.parent): one.place for one in trace.collectives}
        for key, size in _costs(trace, baseline.parent).items():
            before = known[name].get(key)
            over = f" over {', '.join(key[3])}" if key[3] else ""
            if before is None:
                found.append(Excess(name, places[key], f"new {key[2]}{over}: {size:,} bytes on each device"))
            elif size > before * _GROWN:
                found.append(
                    Excess(
                        name, places[key], f"{key[2]}{over} has grown from {before:,} to {size:,} bytes on each device"
                    )
                )
    return found


def _name(trace: Trace) -> str:
    return f"{trace.entry} on {trace.target}"


def _costs(trace: Trace, folder: Path) -> Mapping[_Key, int]:
    costs: dict[_Key, int] = defaultdict(int)
    for one in trace.collectives:
        costs[_key(one, folder)] += one.bytes
    return costs


def _key(one: Collective, folder: Path) -> _Key:
    if one.place is None:
        return "", "", one.kind, one.axes, one.backward
    lines = read_text(one.place.filename, SOURCE).splitlines()
    text = lines[one.place.row - 1].strip() if one.place.row <= len(lines) else ""
    return relative(one.place.filename, str(folder)), text, one.kind, one.axes, one.backward


def _read(path: Path) -> dict[str, dict[_Key, int]]:
    if not path.exists():
        raise BadBaseline("no such file; create it with --write-baseline")
    raw = read_bytes(path, BASELINE)
    if isinstance(raw, Unread):
        raise BadBaseline(raw.message)
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadBaseline(f"not a baseline: {error}") from error
    if not isinstance(data, dict) or data.get("version") != _VERSION or not isinstance(data.get("costs"), dict):
        raise BadBaseline("not a baseline of `meshlens cost`; write one with --write-baseline")
    try:
        return {str(name): dict(_entries(listed)) for name, listed in data["costs"].items()}
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        fields = '"file", "line", "kind", "axes", "backward" or "bytes"'
        raise BadBaseline(f"not a baseline: an entry lacks a valid {fields}") from error


def _entries(listed: Iterable[Mapping[str, Any]]) -> Iterable[tuple[_Key, int]]:
    for one in listed:
        axes = tuple(map(str, one["axes"]))
        yield (str(one["file"]), str(one["line"]), str(one["kind"]), axes, bool(one["backward"])), int(one["bytes"])
