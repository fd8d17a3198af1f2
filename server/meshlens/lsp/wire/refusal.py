"""The exception that a handler raises if a request cannot be done, with a reason for the person who asked."""

from __future__ import annotations

from typing import Any

REQUEST_FAILED = -32803
CONTENT_MODIFIED = -32801
INVALID_PARAMS = -32602


class Refusal(Exception):
    """A request that is understood and cannot be done.

    Attributes:
        code: the protocol's code for it.
        data: what the client may want to know besides.
    """

    def __init__(self, text: str, code: int = REQUEST_FAILED, data: Any = None) -> None:
        super().__init__(text)
        self.code = code
        self.data = data
