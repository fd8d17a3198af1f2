"""Checks parameters against the protocol, but only after a handler has failed, because the check is slow."""

from __future__ import annotations

from typing import Any

from lsprotocol import types


def what_is_wrong(method: str, params: Any, converter: Any) -> str | None:
    """Returns why the parameters of a message are malformed; None if they are valid.

    Args:
        method: the method of the message.
        params: the parameters as received.
        converter: structures plain data into the protocol's classes.
    """
    known = types.METHOD_TO_TYPES.get(method)
    wanted = known[2] if known is not None else None
    if wanted is None:
        return None
    try:
        converter.structure(params, wanted)
    except Exception as error:  # cattrs raises whatever exception the first wrong value causes.
        return f"malformed parameters: {_innermost(error)}"
    return None


def _innermost(error: BaseException) -> str:
    while inner := getattr(error, "exceptions", None):
        error = inner[0]
    return f"{type(error).__name__}: {error}"
