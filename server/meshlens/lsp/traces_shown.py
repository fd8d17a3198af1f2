"""A session's traces shown in a document as hints, hovers and diagnostics; and the answer to `meshlens/traces`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from meshlens.checking.check import Diagnosed
from meshlens.ide.shown.traced import (
    REMATERIALIZATION,
    KeptTrace,
    TracedFault,
    hint_text,
    hover_text,
    rows_now,
    traced_faults,
    traced_lines,
)
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import Document, uri_of
from meshlens.lsp.to_lsp import diagnostic
from meshlens.lsp.traces import Traces
from meshlens.project.view import FileView
from meshlens.text import LineIndex, Span
from meshlens.tracing.model import Collective, Place, to_json
from meshlens.tracing.words import size_in_words, time_in_words

SOURCE = "meshlens trace"
_ERROR, _WARNING = 1, 2


def trace_hints(session: Session, document: Document, view: FileView, within: Span) -> Iterator[dict[str, Any]]:
    """Yields a hint at the end of each line that a trace has information about."""
    for kept, stale in _of(session).of(view.path):
        for one in traced_lines(kept, view):
            end = _text_of(view.lines, one.row).end
            if within.start <= end <= within.end:
                yield {
                    "position": session.range_in(document, Span(end, end))["start"],
                    "label": f"{'stale · ' if stale else ''}{hint_text(one)}",
                    "tooltip": hover_text(kept, one, stale=stale, markdown=False),
                    "paddingLeft": True,
                }


def trace_hover(session: Session, view: FileView, offset: int, *, markdown: bool) -> tuple[Span, str] | None:
    """Returns the span of the line at an offset, and the traces' information about the line."""
    row = view.lines.position(offset, "utf-8")[0] + 1
    found = [
        hover_text(kept, one, stale=stale, markdown=markdown)
        for kept, stale in _of(session).of(view.path)
        for one in traced_lines(kept, view)
        if one.row == row
    ]
    return (_text_of(view.lines, row), "\n\n".join(found)) if found else None


def with_traces(session: Session, document: Document, found: tuple[Diagnosed, ...]) -> list[dict[str, Any]]:
    """Returns findings as diagnostics, with JAX's errors from traces that are not stale.

    A JAX error on a line with one of our errors confirms our error and is not reported separately.
    """
    view = session.view(document.path)
    made = [diagnostic(session, document, one) for one in found]
    if view is None or document.notebook is not None:
        return made
    for kept, stale in _of(session).of(view.path):
        for fault in () if stale else traced_faults(kept, view):
            span = _text_of(view.lines, fault.row)
            line = session.range_in(document, span)
            words = f"{kept.jax}: {_message(fault)}"
            ours = [one for one in made if one["range"]["start"]["line"] == line["start"]["line"]]
            if fault.fault.type != REMATERIALIZATION and (same := [one for one in ours if one["severity"] == _ERROR]):
                _confirm(session, same[0], uri_of(view.path), line, words)
            else:
                made.append(_diagnostic(fault, line, words))
    return made


def listed(session: Session, path: Path) -> list[dict[str, Any]]:
    """Returns, for a client, the traces that read a file, as JSON with titles and current places."""
    return [told(session, kept, stale=stale) for kept, stale in _of(session).of(path)]


def told(session: Session, kept: KeptTrace, *, stale: bool) -> dict[str, Any]:
    """Returns a trace for a client: as JSON, as one line, and its collectives as links, slowest first."""
    rows = {file.path: rows_now(file.source, session.source(file.path) or file.source) for file in kept.files}
    collectives = sorted(kept.trace.collectives, key=_cost, reverse=True)
    return {
        "entry": kept.trace.entry,
        "target": kept.devices,
        "summary": kept.summary,
        "stale": stale,
        "collectives": [_link(session, one, rows) for one in collectives],
        "trace": to_json(kept.trace),
    }


def _link(session: Session, one: Collective, rows: dict[Path, Any]) -> dict[str, Any]:
    times = time_in_words(one.seconds.lower_bound) if one.seconds else ""
    over = f" over {', '.join(one.axes)}" if one.axes else ""
    return {
        "title": f"{one.kind}{' (backward)' if one.backward else ''}{over}",
        "size": size_in_words(one.bytes),
        "time": times,
        "where": f"{Path(one.place.filename).name}:{one.place.row}" if one.place else "",
        "location": _location(session, one.place, rows) if one.place else None,
    }


def _location(session: Session, place: Place, rows: dict[Path, Any]) -> dict[str, Any] | None:
    path = Path(place.filename)
    row = rows.get(path, {}).get(place.row)
    source = session.source(path)
    if row is None or source is None:
        return None
    found = session.placed(path, _text_of(LineIndex(source), row))
    return {"uri": found[0], "range": found[1]} if found else None


def _cost(one: Collective) -> tuple[float, int]:
    return (one.seconds.lower_bound if one.seconds else 0.0, one.bytes)


def _confirm(session: Session, made: dict[str, Any], uri: str, line: dict[str, Any], words: str) -> None:
    if session.client.related:
        confirmed = {"location": {"uri": uri, "range": line}, "message": f"confirmed by {words}"}
        made.setdefault("relatedInformation", []).append(confirmed)


def _diagnostic(fault: TracedFault, line: dict[str, Any], words: str) -> dict[str, Any]:
    is_warning = fault.fault.type == REMATERIALIZATION
    severity = _WARNING if is_warning else _ERROR
    return {"range": line, "severity": severity, "code": fault.fault.type, "source": SOURCE, "message": words}


def _message(fault: TracedFault) -> str:
    return fault.fault.message.strip() or fault.fault.type


def _text_of(lines: LineIndex, row: int) -> Span:
    """Returns the span of a line, counted from 1, without surrounding whitespace."""
    start = lines.starts[row - 1]
    end = lines.starts[row] if row < len(lines.starts) else len(lines.source)
    line = lines.source[start:end]
    return Span(start + len(line) - len(line.lstrip()), start + len(line.rstrip()))


def _of(session: Session) -> Traces:
    found: Traces = session.traces
    return found
