"""Imports handlers on their first call, so that `initialize` is answered quickly."""

from __future__ import annotations

import importlib
from typing import Any

from meshlens.lsp.wire.protocol import Handle


def lazily(module: str, function: str) -> Handle:
    """Returns a handler that calls the given function, which it imports on the first call."""
    found: list[Handle] = []

    def handle(session: Any, params: Any) -> Any:
        if not found:
            found.append(getattr(importlib.import_module(module), function))
        return found[0](session, params)

    return handle
