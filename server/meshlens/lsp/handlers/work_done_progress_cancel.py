"""`window/workDoneProgress/cancel`: the person at the editor does not want to wait."""

from __future__ import annotations

from typing import Any

from meshlens.lsp.session import Session


def work_done_progress_cancel(session: Session, params: dict[str, Any]) -> None:
    """Stops what the progress stands for; what is known by then is still used."""
    task = session.cancellable.pop(str(params.get("token")), None)
    if task is not None:
        task.cancel()
