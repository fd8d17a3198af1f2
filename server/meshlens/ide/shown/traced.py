"""A trace kept for an editor: where its lines are after edits, whether it is stale, and how it is shown as text."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path

from meshlens.facts.content import Content
from meshlens.facts.model import FileFacts
from meshlens.facts.nodes import ClassDef, FunctionDef
from meshlens.ide.hovering.prose import counted
from meshlens.project.view import FileView
from meshlens.tracing.model import Collective, Fault, Line, Place, Trace
from meshlens.tracing.words import least_in_words, size_in_words, time_in_words

_MOST_COMPARED = 2_000
_SHORT = {"bfloat": "bf", "float": "f", "uint": "u", "int": "i", "complex": "c"}
"""JAX's abbreviations of dtypes in jaxprs."""

REMATERIALIZATION = "Rematerialization"


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file as a trace read it.

    Attributes:
        path: its path.
        source: its text.
        read: the contents of the blocks that the trace depends on, by key.
    """

    path: Path
    source: bytes
    read: Mapping[str, Content]


@dataclass(frozen=True, slots=True)
class KeptTrace:
    """A trace, and the files that it read, as they were when it was made.

    Attributes:
        trace: the trace.
        path: the file of its entry.
        name: the entry.
        files: the workspace files that it read.
    """

    trace: Trace
    path: Path
    name: str
    files: tuple[KeptFile, ...]

    @property
    def summary(self) -> str:
        """Returns the trace as one line: collectives, bytes, minimum times, and the verdict; or the failure."""
        return _summary(self.trace)

    @property
    def devices(self) -> str:
        """Returns the trace's target in words: "v5e-16", "8 devices"."""
        return f"{self.trace.target} devices" if self.trace.target.isdecimal() else self.trace.target

    @property
    def jax(self) -> str:
        """Returns JAX and its version, if known."""
        return f"JAX {self.trace.jax}".strip()


@dataclass(frozen=True, slots=True)
class TracedLine:
    """A line of the current text with information from a trace.

    Attributes:
        row: the line, from 1.
        line: its computation; None if only collectives are known.
        collectives: the collectives that it causes.
    """

    row: int
    line: Line | None
    collectives: tuple[Collective, ...]


@dataclass(frozen=True, slots=True)
class TracedFault:
    """An error or a warning of a trace, at a line of the current text.

    Attributes:
        row: the line, from 1.
        fault: the error or warning.
    """

    row: int
    fault: Fault


def keep(trace: Trace, path: Path, name: str, view_of: Callable[[Path], FileView | None]) -> KeptTrace:
    """Returns a trace with the texts and blocks that it read.

    Args:
        trace: the trace.
        path: the file of its entry.
        name: the entry.
        view_of: returns a workspace file as it was when the trace began.
    """
    places = {Path(place.filename) for place in _places(trace)}
    named = {Path(file.path): file.rows for file in trace.files}
    views = {one: view for one in dict.fromkeys((path, *named, *sorted(places))) if (view := view_of(one)) is not None}
    begun = {path: {name}}
    for file, view in views.items():
        rows = (*named.get(file, ()), *(place.row for place in _places(trace) if Path(place.filename) == file))
        begun.setdefault(file, set()).update(_blocks_at(view, rows))
    mentioned = {name for file, keys in begun.items() if file in views for name in _mentioned(views[file].facts, keys)}
    files = [KeptFile(one, view.source, _read(view.facts, begun[one], mentioned)) for one, view in views.items()]
    return KeptTrace(trace, path, name, tuple(files))


def is_stale(kept: KeptTrace, view_of: Callable[[Path], FileView | None]) -> bool:
    """Returns whether code that a trace read has changed since, apart from comments and layout.

    Args:
        kept: the trace.
        view_of: returns a workspace file as it is now.
    """
    return any(_has_changed(file, view_of(file.path)) for file in kept.files)


def traced_lines(kept: KeptTrace, view: FileView) -> tuple[TracedLine, ...]:
    """Returns the trace's information about those lines of a file that still exist, in order."""
    file = next((one for one in kept.files if one.path == view.path), None)
    if file is None:
        return ()
    now = rows_now(file.source, view.source)
    lines = {row: line for line in kept.trace.lines if (row := _row(line.place, file, now))}
    moved: dict[int, list[Collective]] = defaultdict(list)
    for one in kept.trace.collectives:
        for place in (one.place, *one.others):
            if row := _row(place, file, now):
                moved[row].append(one)
    return tuple(TracedLine(row, lines.get(row), tuple(moved[row])) for row in sorted({*lines, *moved}))


def traced_faults(kept: KeptTrace, view: FileView) -> tuple[TracedFault, ...]:
    """Returns the errors and warnings of a trace in a file, at lines that still exist."""
    file = next((one for one in kept.files if one.path == view.path), None)
    if file is None:
        return ()
    now = rows_now(file.source, view.source)
    return tuple(TracedFault(row, fault) for fault in kept.trace.errors if (row := _row(fault.place, file, now)))


@lru_cache(maxsize=8)
def rows_now(before: bytes, after: bytes) -> Mapping[int, int]:
    """Returns the current line numbers by old line number, both from 1, for lines that still exist."""
    old, new = before.splitlines(), after.splitlines()
    top = _alike(old, new)
    bottom = _alike(old[top:][::-1], new[top:][::-1])
    found = {row: row for row in range(1, top + 1)}
    found |= {len(old) - row: len(new) - row for row in range(bottom)}
    left, right = old[top : len(old) - bottom], new[top : len(new) - bottom]
    if left and right and max(len(left), len(right)) <= _MOST_COMPARED:
        for match in SequenceMatcher(None, left, right, autojunk=False).get_matching_blocks():
            found |= {top + match.a + row + 1: top + match.b + row + 1 for row in range(match.size)}
    return found


def hint_text(one: TracedLine) -> str:
    """Returns a short text about a line: "all-reduce 64.0 MiB · bf16[64,512] P('data', None)".

    Editors truncate long hints, so the costs come first.
    """
    parts = []
    for kind in dict.fromkeys(collective.kind for collective in one.collectives):
        same = [collective for collective in one.collectives if collective.kind == kind]
        parts.append(f"{kind} {size_in_words(sum(collective.bytes for collective in same))}")
    if one.line is not None:
        short = re.sub(r"^(bfloat|float|uint|int|complex)", lambda found: _SHORT[found[0]], one.line.dtype)
        parts.append(_value(replace(one.line, dtype=short)))
    return " · ".join(parts)


def hover_text(kept: KeptTrace, one: TracedLine, *, stale: bool, markdown: bool) -> str:
    """Returns the trace's information about a line: its value, and each collective with its bytes and minimum time."""
    trace = kept.trace
    level = f", {trace.level}" if trace.level != "none" else ""
    rows = [f"On {kept.devices} ({kept.name}, {kept.jax}{level}):"]
    if one.line is not None:
        value = _value(one.line)
        rows.append(f"`{value}`" if markdown else value)
    bullet = "- " if markdown else "  "
    items = [bullet + _collective_in_words(collective) for collective in one.collectives]
    if stale:
        items.append(f"{bullet}Stale: the code has changed since this trace. Trace it again.")
    joint = "\n\n" if markdown else "\n"
    return joint.join([*rows, *(["\n".join(items)] if items else [])])


def _summary(trace: Trace) -> str:
    serious = [fault for fault in trace.errors if fault.type != REMATERIALIZATION]
    if serious:
        return f"{serious[0].type}: {' '.join(serious[0].message.split())}"
    count = sum(total.count for _, total in trace.totals)
    if not count:
        return "no collectives"
    size = size_in_words(sum(total.bytes for _, total in trace.totals))
    times = ""
    if trace.communication_seconds is not None and trace.compute_seconds is not None:
        moving, computing = least_in_words(trace.communication_seconds), time_in_words(trace.compute_seconds)
        times = f" · {moving} of communication, {computing} of computation"
    verdict = f" · {trace.verdict}" if trace.verdict else ""
    return f"{counted(count, 'collective')} · {size} per device{times}{verdict}"


def _collective_in_words(one: Collective) -> str:
    over = f" over {', '.join(one.axes)}" if one.axes else f" in groups of {one.group_size}"
    times = f" in {one.count} operations per step" if one.count != 1 else ""
    least = f"; {least_in_words(one.seconds.lower_bound)} over {one.seconds.link}" if one.seconds else ""
    backward = " (backward)" if one.backward else ""
    shared = f", shared with {counted(len(one.others), 'other line')}" if one.others else ""
    return f"{one.kind}{backward}{over}: {size_in_words(one.bytes)} on each device{times}{least}{shared}"


def _value(line: Line) -> str:
    spread = line.sharding or (f"varies over {', '.join(line.varying)}" if line.varying else "")
    return f"{line.dtype}[{','.join(map(str, line.shape))}]{f' {spread}' if spread else ''}"


def _places(trace: Trace) -> Iterable[Place]:
    yield from (line.place for line in trace.lines)
    for one in trace.collectives:
        yield from (place for place in (one.place, *one.others) if place is not None)
    for fault in trace.errors:
        yield from (place for place in (fault.place, *fault.route) if place is not None)


def _row(place: Place | None, file: KeptFile, now: Mapping[int, int]) -> int | None:
    return now.get(place.row) if place is not None and Path(place.filename) == file.path else None


def _blocks_at(view: FileView, rows: Iterable[int]) -> set[str]:
    """Returns the innermost blocks that contain these lines."""
    found = set()
    starts = view.lines.starts
    for row in set(rows):
        if not 0 < row <= len(starts):
            continue
        end = starts[row] if row < len(starts) else len(view.source)
        last = len(view.source[starts[row - 1] : end].rstrip())
        at = starts[row - 1] + max(last - 1, 0)
        holding = [block for block in view.facts.blocks.values() if block.start <= at < block.end]
        if holding:
            found.add(max(holding, key=lambda block: block.start).key)
    return found


def _mentioned(facts: FileFacts, keys: Iterable[str]) -> set[str]:
    return {name for key in keys if key in facts.blocks for name in facts.blocks[key].names}


def _read(facts: FileFacts, begun: Iterable[str], mentioned: set[str]) -> dict[str, Content]:
    """Returns the contents of the given blocks, the blocks that they refer to, and the top-level code, by key."""
    keys = {key for key in facts.top if not isinstance(facts.blocks[key].shape, (FunctionDef, ClassDef))}
    waiting = [*begun, *keys, *_named(facts, mentioned)]
    keys = set()
    while waiting:
        key = waiting.pop()
        if key in keys or key not in facts.blocks:
            continue
        keys.add(key)
        waiting += _named(facts, set(facts.blocks[key].names))
    return {key: facts.blocks[key].content for key in keys}


def _named(facts: FileFacts, names: set[str]) -> list[str]:
    """Returns the blocks with these names, and the blocks inside them."""
    return [key for key in facts.blocks if not names.isdisjoint(key.partition("~")[0].split("."))]


def _has_changed(file: KeptFile, view: FileView | None) -> bool:
    if view is None:
        return True
    if view.source == file.source:
        return False
    blocks = view.facts.blocks
    if any(key not in blocks or blocks[key].shape != content.shape for key, content in file.read.items()):
        return True
    top = (key for key in view.facts.top if not isinstance(blocks[key].shape, (FunctionDef, ClassDef)))
    return any(key not in file.read for key in top)


def _alike(left: list[bytes], right: list[bytes]) -> int:
    most = min(len(left), len(right))
    return next((at for at in range(most) if left[at] != right[at]), most)
