"""The server's capabilities as plain data, to answer `initialize` before pygls is imported."""

from __future__ import annotations

from typing import Any

from meshlens.lsp.commands import COMMANDS
from meshlens.lsp.token_types import TOKEN_MODIFIERS, TOKEN_TYPES

ACTION_KINDS = ("quickfix", "source.fixAll.meshlens", "refactor.rewrite")
ARGUMENT_BEGINS = ("(", ",")
NAME_BEGINS = ('"', "'", "=", *ARGUMENT_BEGINS)

_ENCODINGS = ("utf-8", "utf-16", "utf-32")


def capability(params: Any, path: str) -> Any:
    """Returns a capability of the client, such as `textDocument.rename.prepareSupport`; None if the client lacks it."""
    found = params.get("capabilities") if isinstance(params, dict) else None
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def position_encoding(params: Any) -> str:
    """Returns the position encoding: the first in the client's list that the server supports; otherwise UTF-16."""
    listed = capability(params, "general.positionEncodings")
    return next((one for one in listed if one in _ENCODINGS), "utf-16") if isinstance(listed, list) else "utf-16"


def pulls(params: Any) -> bool:
    """Returns whether a client pulls diagnostics, and can be asked to pull again when another file affects them."""
    return capability(params, "textDocument.diagnostic") is not None and bool(
        capability(params, "workspace.diagnostics.refreshSupport")
    )


def colors_axes(params: Any) -> bool:
    """Returns whether a client colors axis names itself, and leaves semantic tokens to another server."""
    options = params.get("initializationOptions")
    return isinstance(options, dict) and options.get("axisColors") is True


def offered(params: Any) -> dict[str, Any]:
    """Returns the server's capabilities for a client.

    pygls derives the same from the table of handlers; a test compares the two.

    Args:
        params: the parameters of `initialize`.
    """
    capabilities: dict[str, Any] = {
        "positionEncoding": position_encoding(params),
        "textDocumentSync": {"openClose": True, "change": 2, "save": True},
        "completionProvider": {"triggerCharacters": NAME_BEGINS},
        "hoverProvider": True,
        "signatureHelpProvider": {"triggerCharacters": ARGUMENT_BEGINS},
        "definitionProvider": True,
        "referencesProvider": True,
        "documentHighlightProvider": True,
        "documentSymbolProvider": True,
        "codeActionProvider": {"codeActionKinds": ACTION_KINDS, "resolveProvider": True},
        "codeLensProvider": {"resolveProvider": False},
        "workspaceSymbolProvider": {"resolveProvider": False},
        "renameProvider": {"prepareProvider": True}
        if capability(params, "textDocument.rename.prepareSupport")
        else True,
        "executeCommandProvider": {"commands": COMMANDS},
        "callHierarchyProvider": True,
        "inlayHintProvider": {"resolveProvider": False},
        "workspace": {
            "workspaceFolders": {"supported": True, "changeNotifications": True},
            "fileOperations": {},
        },
    }
    if capability(params, "notebookDocument") is not None:
        cells = [{"language": "python"}]
        selector = {"notebook": {"notebookType": "jupyter-notebook"}, "cells": cells}
        capabilities["notebookDocumentSync"] = {"notebookSelector": [selector], "save": True}
    if not colors_axes(params):
        legend = {"tokenTypes": TOKEN_TYPES, "tokenModifiers": TOKEN_MODIFIERS}
        capabilities["semanticTokensProvider"] = {"legend": legend, "full": True}
    if pulls(params):
        capabilities["diagnosticProvider"] = {
            "interFileDependencies": True,
            "workspaceDiagnostics": True,
            "identifier": "meshlens",
        }
    return capabilities
