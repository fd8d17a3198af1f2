"""Checks parameters against the protocol, only after a handler failed, as it costs more."""

from __future__ import annotations

from typing import Any

from lsprotocol import types


def what_is_wrong(method: str, params: Any, converter: Any) -> str | None:
    """Why the parameters of a message are malformed; None if they are not.

    Args:
        method: what was asked or told.
        params: as they came.
        converter: makes the protocol's classes of plain data.
    """
    known = types.METHOD_TO_TYPES.get(method)
    wanted = known[2] if known is not None else None
    if wanted is None:
        return None
    try:
        converter.structure(params, wanted)
    except Exception as error:  # cattrs raises whatever the first wrong value makes it raise
        return f"malformed parameters: {_innermost(error)}"
    return None


def _innermost(error: BaseException) -> str:
    while inner := getattr(error, "exceptions", None):
        error = inner[0]
    return f"{type(error).__name__}: {error}"
