"""`meshlens/waysToParallelize`: the ways to run the function at a position on several devices, best first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from meshlens.lsp.handlers.convert import asked_for, defaults_at, wishes_of
from meshlens.lsp.session import Session
from meshlens.lsp.wire.from_lsp import offset_of
from meshlens.project.view import FileView
from meshlens.refactoring.following.jitting import UNTRACEABLE
from meshlens.refactoring.following.roles import underlying
from meshlens.refactoring.model import Proposal, Refused, Strategy, Wishes
from meshlens.refactoring.reading.functions import function_at
from meshlens.refactoring.reading.host_calls import callee_at
from meshlens.refactoring.subject import subject_at
from meshlens.refactoring.targets import assist_for
from meshlens.text import Span


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to run a function on several devices.

    Attributes:
        to: the target of `meshlens/convert`.
        strategy: the strategy of `meshlens/convert`.
        title: the title to show.
        detail: one line about the result.
    """

    to: str
    strategy: Strategy
    title: str
    detail: str


_WAYS = (
    _Way(
        "jit",
        "data",
        "jit + sharding",
        "leaves the function unchanged; splits its batch over the devices and copies its state to all of them",
    ),
    _Way(
        "jit",
        "fsdp",
        "jit + sharding, state split (FSDP)",
        "leaves the function unchanged; splits its batch and every array of its state over the devices",
    ),
    _Way("shard_map", "data", "shard_map", "each device runs the body on its rows, with explicit collectives"),
    _Way("pmap", "data", "pmap", "the older map, in maintenance mode; the batch gets a leading axis for the devices"),
)


_IN_BODY = "splits the batch in the first lines of the function, because only compiled code calls the function"


def ways_to_parallelize(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """Returns the ways to convert the function at a position.

    Args:
        session: the session.
        params: `textDocument`, `position`, and the user's wishes: `axisName`, `devices`, `batch`.

    Returns:
        `name` of the function, null if there is none; its `ways`, each with `to`, `strategy`, `title`, `detail` and
        `refused`; its `arguments`, and `defaults` for missing wishes.

    Raises:
        Refusal: the text is not open or has changed, or the request is invalid.
    """
    document, view = asked_for(session, params)
    at = offset_of(document, params["position"], session.client.encoding)
    wishes = wishes_of(session, document, params)
    subject = subject_at(view, Span(at, at))
    if subject is None:
        return {"name": None, "ways": [], "arguments": [], "defaults": defaults_at(view, at, wishes)}
    ways = _closed_alike([_answered(view, subject, way, wishes) for way in _WAYS])
    function = _function(view, subject)
    return {
        "name": function[0],
        "ways": [*(way for way in ways if not way["refused"]), *(way for way in ways if way["refused"])],
        "arguments": function[1],
        "defaults": defaults_at(view, subject.start, wishes),
    }


def _answered(view: FileView, subject: Span, way: _Way, wishes: Wishes) -> dict[str, Any]:
    answer = assist_for(way.to).propose(view, subject, replace(wishes, strategy=way.strategy))
    refused = None
    if isinstance(answer, Refused):
        refused = {"code": answer.code, "message": answer.message}
    elif not isinstance(answer, Proposal):
        refused = {"code": "nothing-here", "message": "it does not apply to this function"}
    detail = way.detail
    if way.to == "jit" and isinstance(answer, Proposal) and _changes_body(view, subject, answer):
        detail = _IN_BODY
    if isinstance(answer, Proposal):
        detail = "; ".join(filter(None, (detail, answer.note, answer.caveat)))
    return {"to": way.to, "strategy": way.strategy, "title": way.title, "detail": detail, "refused": refused}


def _changes_body(view: FileView, subject: Span, answer: Proposal) -> bool:
    """Returns whether a proposal changes the lines of the function itself, and not only its calls."""
    target = function_at(view, subject)
    if target is None or not target.body:
        return False
    start = view.span(target.at(target.node.site)).start
    end = view.span(target.at(target.body[-1].site)).end
    return any(one.path == view.path and start < one.edit.span.start <= end for one in answer.edits())


def _closed_alike(ways: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Disables every way if the function cannot be traced, because each way compiles it."""
    refused = ways[0]["refused"]
    if refused is None or refused["code"] not in UNTRACEABLE:
        return ways
    return [{**way, "refused": refused} for way in ways]


def _function(view: FileView, subject: Span) -> tuple[str, list[str]]:
    callee = callee_at(view, subject)
    target = underlying(view, callee) if callee is not None else function_at(view, subject)
    name = callee.name if callee is not None else target.name if target is not None else ""
    return name, [str(one[0]) for one in target.parameters] if target is not None else []
