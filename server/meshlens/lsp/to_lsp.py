"""Converts findings, places and edits to the protocol's form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from meshlens.checking.check import Diagnosed
from meshlens.checking.model import Severity
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import Document
from meshlens.text import Edit, FileEdit, Span, joined

SOURCE = "meshlens"
_LEVELS = {Severity.ERROR: 1, Severity.WARNING: 2, Severity.HINT: 4}
_UNNECESSARY, _DEPRECATED = 1, 2
DEPRECATED = frozenset({"AX502"})


def diagnostic(session: Session, document: Document, found: Diagnosed) -> dict[str, Any]:
    """Returns a finding in a document as a diagnostic."""
    finding, client = found.finding, session.client
    made: dict[str, Any] = {
        "range": session.range_in(document, finding.span),
        "severity": _LEVELS[found.severity],
        "code": found.code,
        "source": SOURCE,
        "message": finding.message,
    }
    if client.descriptions and (page := rule_page(found)):
        made["codeDescription"] = {"href": page}
    if client.tags and finding.unused:
        made["tags"] = [_UNNECESSARY]
    elif client.tags and found.code in DEPRECATED:
        made["tags"] = [_DEPRECATED]
    if client.related and finding.related:
        related = [(session.placed(one.path, one.span), one.message) for one in finding.related]
        made["relatedInformation"] = [
            {"location": {"uri": place[0], "range": place[1]}, "message": message}
            for place, message in related
            if place is not None
        ]
    return made


def diagnostics(session: Session, document: Document) -> list[dict[str, Any]]:
    """Returns the findings in an open text as diagnostics."""
    end = document.base + len(document.text)
    findings = tuple(
        found for found in session.findings(document.path) if document.base <= found.finding.span.start <= end
    )
    if session.traces is not None and session.traces.kept:
        from meshlens.lsp.traces_shown import with_traces

        return with_traces(session, document, findings)
    return [diagnostic(session, document, found) for found in findings]


def location(session: Session, path: Path, span: Span) -> dict[str, Any] | None:
    """Returns a place in any file; None if the client cannot refer to it."""
    placed = session.placed(path, span)
    return {"uri": placed[0], "range": placed[1]} if placed is not None else None


def workspace_edit(session: Session, edits: Iterable[FileEdit]) -> dict[str, Any] | None:
    """Returns edits to several files as one workspace edit; None if the client cannot edit one of the places."""
    by_text: dict[tuple[str, int | None], list[dict[str, Any]]] = defaultdict(list)
    for path, edit in edits:
        placed = session.placed(path, edit.span)
        if placed is None:
            return None
        uri, where, version = placed
        by_text[(uri, version)].append({"range": where, "newText": _with_line_ends(session, path, edit.text)})
    if session.client.versioned_edits:
        return {
            "documentChanges": [
                {"textDocument": {"uri": uri, "version": version}, "edits": made}
                for (uri, version), made in by_text.items()
            ]
        }
    return {"changes": {uri: made for (uri, _), made in by_text.items()}}


def in_boxes(session: Session, edits: Iterable[FileEdit]) -> tuple[FileEdit, ...]:
    """Returns a refactoring's edits grouped for a preview."""
    by_path: dict[Path, list[Edit]] = defaultdict(list)
    for path, edit in edits:
        by_path[path].append(edit)
    return tuple(
        FileEdit(path, edit) for path, made in by_path.items() for edit in joined(session.source(path) or b"", made)
    )


def _with_line_ends(session: Session, path: Path, text: str) -> str:
    """Returns new text with the line endings of its file."""
    if "\n" not in text:
        return text
    view = session.view(path)
    windows = view is not None and view.source.count(b"\r\n") * 2 > view.source.count(b"\n")
    return text.replace("\r\n", "\n").replace("\n", "\r\n") if windows else text


def rule_page(found: Diagnosed) -> str | None:
    """Returns the address of a rule in the page of all rules, with its line; None if the page is not installed."""
    page, lines = _pages()
    return f"{page}#L{lines.get(found.code, 1)}" if page else None


@cache
def _pages() -> tuple[str, Mapping[str, int]]:
    """Returns the address of the page of all rules, empty if it is not installed, and the line of each rule."""
    inside = resources.files("meshlens") / "pages" / "rules.md"
    beside = Path(__file__).parents[3] / "docs" / "rules.md"
    for page in (Path(str(inside)), beside):
        if page.is_file():
            headings = enumerate(page.read_text("utf-8").split("\n"), 1)
            return page.as_uri(), {line[3:8]: number for number, line in headings if line.startswith("## AX")}
    return "", {}
