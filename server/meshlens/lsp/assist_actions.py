"""Refactorings as code actions of kind `refactor.rewrite`: offered immediately, and computed again when chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import Document
from meshlens.lsp.to_lsp import in_boxes, workspace_edit
from meshlens.lsp.wire.refusal import Refusal
from meshlens.refactoring.model import Proposal, Refused, Wishes
from meshlens.refactoring.registry import all_assists, assist_named
from meshlens.refactoring.subject import subject_at
from meshlens.refactoring.veto import veto_of
from meshlens.text import Span

REWRITE = "refactor.rewrite"
PARALLELIZE = "Parallelize over devices…"
_WAYS = frozenset({"shard-with-jit", "convert-to-pmap", "wrap-in-shard-map"})
_INVOKED = 1


def assist_actions(
    session: Session, document: Document, asked: Span, context: Mapping[str, Any]
) -> Iterator[dict[str, Any] | None]:
    """Yields the refactorings offered at a cursor or selection, and refusals only for explicit requests.

    A client that asks its user how to run a function on several devices gets one action for all ways to do so; other
    clients get one action for each way.

    Args:
        session: the session.
        document: the text.
        asked: the selection.
        context: the kinds that the client requests, and whether its user requested them.
    """
    only: Sequence[str] | None = context.get("only")
    if only and not any(kind == REWRITE or REWRITE.startswith(f"{kind}.") for kind in only):
        return
    view = session.view(document.path)
    if view is None:
        return
    wishes = project_wishes(session, document, Wishes())
    subject = subject_at(view, asked)
    shows_refusals = session.client.disabled_actions
    # If a client sends no trigger kind, assume that its user requested the actions.
    was_asked = context.get("triggerKind", _INVOKED) == _INVOKED
    if subject is not None and session.client.asks_how:
        yield _question(document, subject)
    for assist in all_assists():
        is_way = assist.name in _WAYS and subject is not None
        if is_way and session.client.asks_how:
            continue
        span = subject if is_way and subject is not None else asked
        answer = assist.propose(view, span, wishes)
        if isinstance(answer, Proposal):
            yield _offer(session, document, span, assist.name, answer)
        elif isinstance(answer, Refused) and shows_refusals and (only or (is_way and was_asked)):
            yield {"title": _title(answer.title), "kind": REWRITE, "disabled": {"reason": answer.message}}
        elif isinstance(answer, Refused) and not shows_refusals and is_way and was_asked:
            # A client that cannot show disabled actions can show the reason only in a title.
            yield {"title": f"Cannot {answer.title}: {answer.message}", "kind": REWRITE, "edit": {"changes": {}}}


def _question(document: Document, subject: Span) -> dict[str, Any]:
    """Returns the action that opens the client's own dialog, which asks how to parallelize and on how many devices."""
    data = {"uri": document.uri, "version": document.version, "assist": "parallelize", "span": list(subject)}
    return {"title": PARALLELIZE, "kind": REWRITE, "data": data}


def resolved_assist(session: Session, document: Document, data: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the edit of a chosen refactoring; None if it is no longer offered.

    Raises:
        Refusal: the result would contain a new finding.
    """
    view = session.view(document.path)
    known = {assist.name for assist in all_assists()}
    if view is None or data.get("assist") not in known:
        return None
    answer = assist_named(data["assist"]).propose(
        view, Span(*data["span"]), project_wishes(session, document, Wishes())
    )
    if not isinstance(answer, Proposal):
        return None
    refused = veto_of(session.folder_of(document.path).workspace, answer)
    if refused is not None:
        raise Refusal(f"cannot {refused.title}: {refused.message}")
    return workspace_edit(session, in_boxes(session, answer.edits()))


def _offer(session: Session, document: Document, asked: Span, name: str, proposal: Proposal) -> dict[str, Any] | None:
    action: dict[str, Any] = {"title": _title(proposal.title), "kind": REWRITE}
    if session.client.resolves_edits:
        data = {"uri": document.uri, "version": document.version, "assist": name, "span": list(asked)}
        return {**action, "data": data}
    if veto_of(session.folder_of(document.path).workspace, proposal) is not None:
        return None
    edit = workspace_edit(session, in_boxes(session, proposal.edits()))
    return {**action, "edit": edit} if edit is not None else None


def project_wishes(session: Session, document: Document, said: Wishes) -> Wishes:
    """Returns the user's wishes, completed with the project's settings."""
    folder = session.folder_of(document.path)
    return replace(said, usual_axis_name=folder.settings.axis_name, sees_all=folder.small is True)


def _title(text: str) -> str:
    return text[:1].upper() + text[1:]
