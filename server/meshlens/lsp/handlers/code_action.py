"""`textDocument/codeAction`: the fixes of the findings in a range, fix all, ignore comments, and refactorings.

Everything is computed from our own findings, because ranges that a client sends back may be wrong (Neovim 0.7 counts
bytes).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from meshlens.checking.check import Diagnosed
from meshlens.checking.fixes import SAFE, plan
from meshlens.checking.model import Fix
from meshlens.checking.silence import silencing
from meshlens.lsp.assist_actions import REWRITE, assist_actions, resolved_assist
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import Document
from meshlens.lsp.to_lsp import diagnostic, workspace_edit
from meshlens.lsp.wire.from_lsp import span_of
from meshlens.text import FileEdit, Span

QUICK_FIX, FIX_ALL = "quickfix", "source.fixAll.meshlens"
KINDS = (QUICK_FIX, FIX_ALL, REWRITE)


def code_action(session: Session, params: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the actions in a range, best first."""
    document = session.documents.get(params["textDocument"]["uri"])
    if document is None:
        return []
    asked = span_of(document, params["range"], session.client.encoding)
    context = params.get("context") or {}
    only = context.get("only")
    here = [found for found in session.findings(document.path) if _meets(found.finding.span, asked, document)]
    made: list[dict[str, Any] | None] = []
    if _wanted(QUICK_FIX, only):
        made += [_fix(session, document, found, number, fix) for found, number, fix in _by_safety(here)]
        made += [_ignore(session, document, found) for found in _each_code(here)]
    if _wanted(FIX_ALL, only):
        made.append(_fix_all(session, document))
    made += assist_actions(session, document, asked, context)
    return [action for action in made if action is not None]


def code_action_resolve(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """Returns an action with its edit, or unchanged if the text has changed since the action was offered."""
    data = params.get("data")
    if not isinstance(data, dict):
        return params
    document = session.documents.get(data.get("uri", ""))
    if document is None or document.version != data.get("version"):
        return params
    if data.get("fixAll"):
        edit = _all_edits(session, document)
    elif "assist" in data:
        edit = resolved_assist(session, document, data)
    else:
        edits = _edits_of(session, document, data)
        edit = workspace_edit(session, edits) if edits is not None else None
    return {**params, "edit": edit} if edit is not None else params


def _meets(span: Span, asked: Span, document: Document) -> bool:
    inside = document.base <= span.start <= document.base + len(document.text)
    return inside and span.start <= asked.end and asked.start <= span.end


def _wanted(kind: str, only: Iterable[str] | None) -> bool:
    return not only or any(kind == one or kind.startswith(f"{one}.") for one in only)


def _by_safety(found: Iterable[Diagnosed]) -> Iterator[tuple[Diagnosed, int, Fix]]:
    every = [(one, number, fix) for one in found for number, fix in enumerate(one.finding.fixes)]
    yield from sorted(every, key=lambda entry: ("safe", "unsafe", "suggestion").index(entry[2].safety))


def _each_code(found: Iterable[Diagnosed]) -> Iterable[Diagnosed]:
    return {one.code: one for one in reversed(list(found))}.values()


def _fix(session: Session, document: Document, found: Diagnosed, number: int, fix: Fix) -> dict[str, Any] | None:
    title = fix.title if fix.safety == "safe" or not fix.why else f"{fix.title} ({fix.why})"
    action = _quick(session, document, found, title)
    if fix.safety == "safe" and number == 0 and session.client.preferred_actions:
        action["isPreferred"] = True
    if session.client.resolves_edits:
        action["data"] = {**_key(document, found), "fix": number}
        return action
    edit = workspace_edit(session, fix.edits)
    return {**action, "edit": edit} if edit is not None else None


def _ignore(session: Session, document: Document, found: Diagnosed) -> dict[str, Any] | None:
    action = _quick(session, document, found, f"ignore {found.name} on this line")
    if session.client.resolves_edits:
        action["data"] = {**_key(document, found), "fix": -1}
        return action
    edits = _silence(session, document, found)
    edit = workspace_edit(session, edits) if edits else None
    return {**action, "edit": edit} if edit is not None else None


def _quick(session: Session, document: Document, found: Diagnosed, title: str) -> dict[str, Any]:
    return {
        "title": title[:1].upper() + title[1:],
        "kind": QUICK_FIX,
        "diagnostics": [diagnostic(session, document, found)],
    }


def _fix_all(session: Session, document: Document) -> dict[str, Any] | None:
    if not any(fix.safety == "safe" for one in session.findings(document.path) for fix in one.finding.fixes[:1]):
        return None
    action: dict[str, Any] = {"title": "Apply all safe fixes (MeshLens)", "kind": FIX_ALL}
    if session.client.resolves_edits:
        return {**action, "data": {"uri": document.uri, "version": document.version, "fixAll": True}}
    edit = _all_edits(session, document)
    return {**action, "edit": edit} if edit is not None else None


def _all_edits(session: Session, document: Document) -> dict[str, Any] | None:
    step = plan(session.findings(document.path), SAFE, {document.path})
    edits = [FileEdit(path, edit) for path, made in step.edits.items() for edit in made]
    return workspace_edit(session, edits) if edits else None


def _key(document: Document, found: Diagnosed) -> dict[str, Any]:
    return {
        "uri": document.uri,
        "version": document.version,
        "code": found.code,
        "span": list(found.finding.span),
    }


def _edits_of(session: Session, document: Document, data: dict[str, Any]) -> tuple[FileEdit, ...] | None:
    for found in session.findings(document.path):
        if found.code == data.get("code") and list(found.finding.span) == data.get("span"):
            if data.get("fix") == -1:
                return _silence(session, document, found)
            fixes = found.finding.fixes
            return fixes[data["fix"]].edits if data.get("fix", -1) < len(fixes) else None
    return None


def _silence(session: Session, document: Document, found: Diagnosed) -> tuple[FileEdit, ...]:
    view = session.view(document.path)
    if view is None:
        return ()
    edit = silencing(view, found.finding.span, found.name)
    return (FileEdit(document.path, edit),) if edit is not None else ()
