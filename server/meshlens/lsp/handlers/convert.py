"""`meshlens/convert`: converts the function or map at a position to jit, pmap, shard_map or vmap, as the user wishes.

A client first sends only the position to learn the possible answers, then the user's choices.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, get_args

from meshlens.lsp.assist_actions import project_wishes
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import Document
from meshlens.lsp.to_lsp import in_boxes, workspace_edit
from meshlens.lsp.wire.from_lsp import offset_of
from meshlens.lsp.wire.refusal import CONTENT_MODIFIED, INVALID_PARAMS, Refusal
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.maps.step import axis_name_of
from meshlens.refactoring.model import Proposal, Refused, Strategy, Wishes
from meshlens.refactoring.reading.functions import function_at
from meshlens.refactoring.subject import subject_at
from meshlens.refactoring.targets import TARGETS, assist_for
from meshlens.refactoring.veto import veto_of
from meshlens.settings import BadSetting, parse_device_sizes
from meshlens.text import Span


def convert(session: Session, params: dict[str, Any]) -> dict[str, Any]:
    """Returns the edit that converts the code at a position, or the reason why there is none.

    Args:
        session: the session.
        params: `textDocument`, `position`, `to`, which is null for the best target, and the user's wishes: `axisName`,
            `devices`, `inAxes`, `strategy`, `batch` such as "tokens" or "tokens:1".

    Returns:
        `edit` or `refused`, `defaults` for missing wishes, and the number of `places` that change.

    Raises:
        Refusal: the text is not open or has changed, or the request is invalid.
    """
    document, view = asked_for(session, params)
    target, wishes = params.get("to"), wishes_of(session, document, params)
    if target is not None and target not in TARGETS:
        raise Refusal(f'"to" must be one of {", ".join(sorted(TARGETS))}', INVALID_PARAMS)
    at = offset_of(document, params["position"], session.client.encoding)
    subject = subject_at(view, Span(at, at)) if target in (None, "jit", "pmap") else None
    answer = assist_for(target).propose(view, subject or Span(at, at), wishes)
    if isinstance(answer, Proposal):
        answer = veto_of(session.folder_of(document.path).workspace, answer) or answer
    made: dict[str, Any] = {"edit": None, "refused": None, "places": 0}
    if isinstance(answer, Proposal):
        edits = in_boxes(session, answer.edits())
        made["edit"], made["places"] = workspace_edit(session, edits), len(edits)
        if made["edit"] is None:
            made["refused"] = {"code": "not-editable", "message": "one of the files to change cannot be edited here"}
    elif isinstance(answer, Refused):
        made["refused"] = {"code": answer.code, "message": answer.message}
    else:
        made["refused"] = {"code": "nothing-here", "message": _nothing(target)}
    return {**made, "defaults": defaults_at(view, at, wishes)}


def _nothing(target: str | None) -> str:
    made = "be parallelized" if target is None else f"be converted to {target}"
    return f"nothing at the cursor can {made}"


def asked_for(session: Session, params: Mapping[str, Any]) -> tuple[Document, FileView]:
    """Returns the document and view of a request.

    Raises:
        Refusal: the document is not open, is excluded, or has changed.
    """
    named = params.get("textDocument") or {}
    document = session.documents.get(named.get("uri", ""))
    view = session.view(document.path) if document is not None else None
    if document is None or view is None:
        raise Refusal("this file is not open, or is excluded", INVALID_PARAMS)
    if named.get("version") not in (None, document.version):
        raise Refusal("the file has changed; try again", CONTENT_MODIFIED)
    return document, view


def wishes_of(session: Session, document: Document, params: Mapping[str, Any]) -> Wishes:
    """Returns the user's wishes.

    Raises:
        Refusal: the wishes are invalid.
    """
    devices = params.get("devices")
    try:
        sizes = parse_device_sizes(devices) if devices not in (None, "") else ()
    except BadSetting as error:
        raise Refusal(f"devices: {error}", INVALID_PARAMS) from None
    asked = params.get("strategy") or "data"
    strategy = next((one for one in get_args(Strategy) if one == asked), None)
    if strategy is None:
        raise Refusal('"strategy" must be "data" or "fsdp"', INVALID_PARAMS)
    said = Wishes(params.get("axisName") or None, params.get("inAxes") or None, sizes, strategy=strategy)
    said = replace(said, batch=_batch(params.get("batch") or ""))
    return project_wishes(session, document, said)


def _batch(text: str) -> tuple[tuple[str, int], ...]:
    name, _, axis = text.partition(":")
    if not text:
        return ()
    if not name.isidentifier() or not (axis or "0").isdecimal():
        message = '"batch" must be the name of an argument, optionally with an axis, as in "tokens:1"'
        raise Refusal(message, INVALID_PARAMS)
    return ((name, int(axis or "0")),)


def defaults_at(view: FileView, at: int, wishes: Wishes) -> dict[str, str]:
    """Returns the answers that a client can suggest to its user; an empty number of devices means all devices."""
    function = function_at(view, Span(at, at))
    axis = wishes.usual_axis_name or "batch"
    if function is not None:
        with suppress(Obstacle):
            axis = axis_name_of(view, function, Wishes(usual_axis_name=wishes.usual_axis_name))
    target = view.devices.target
    return {"axisName": axis, "devices": str(target.count) if target is not None else ""}
