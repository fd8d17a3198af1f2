"""The exception that a handler raises if a request cannot be fulfilled, with the reason for the user."""

from __future__ import annotations

from typing import Any

REQUEST_FAILED = -32803
CONTENT_MODIFIED = -32801
INVALID_PARAMS = -32602


class Refusal(Exception):
    """A request that cannot be fulfilled.

    Attributes:
        code: the protocol's error code.
        data: further information for the client.
    """

    def __init__(self, text: str, code: int = REQUEST_FAILED, data: Any = None) -> None:
        super().__init__(text)
        self.code = code
        self.data = data
