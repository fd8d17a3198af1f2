"""The features that read every file of a project; they run in the server or in the helper process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from meshlens.ide.naming.references import references
from meshlens.ide.naming.rename import prepare, rename
from meshlens.ide.shown.call_hierarchy import incoming_calls, outgoing_calls, prepare_calls
from meshlens.ide.shown.symbols import workspace_symbols

ANSWERS: Mapping[str, Callable[..., Any]] = {
    "references": references,
    "prepare rename": prepare,
    "rename": rename,
    "symbols": workspace_symbols,
    "prepare calls": prepare_calls,
    "incoming calls": incoming_calls,
    "outgoing calls": outgoing_calls,
}
