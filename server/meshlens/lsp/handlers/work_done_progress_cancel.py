"""`window/workDoneProgress/cancel`: the user does not want to wait."""

from __future__ import annotations

from typing import Any

from meshlens.lsp.session import Session


def work_done_progress_cancel(session: Session, params: dict[str, Any]) -> None:
    """Stops the work that a progress report is about; results so far are still used."""
    task = session.cancellable.pop(str(params.get("token")), None)
    if task is not None:
        task.cancel()
