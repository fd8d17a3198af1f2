"""Handlers that are imported when they are first called, so that `initialize` is answered at once."""

from __future__ import annotations

import importlib
from typing import Any

from meshlens.lsp.wire.protocol import Handle


def lazily(module: str, function: str) -> Handle:
    """A handler that stands for another one."""
    found: list[Handle] = []

    def handle(session: Any, params: Any) -> Any:
        if not found:
            found.append(getattr(importlib.import_module(module), function))
        return found[0](session, params)

    return handle
