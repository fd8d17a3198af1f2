"""The client's abilities, read once from its capabilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

ENCODINGS = ("utf-8", "utf-16", "utf-32")
OLDEST_KINDS = frozenset(range(1, 19))
"""The kinds of symbols and of completions in the protocol's first version: a client that names none knows these."""


@dataclass(frozen=True, slots=True)
class Client:
    """The client's abilities.

    Attributes:
        name: what it calls itself; empty if it does not say.
        encoding: what columns count: "utf-8", "utf-16" or "utf-32" units.
        pulls: it asks for diagnostics of a document instead of waiting for them.
        refreshes_diagnostics, refreshes_hints, refreshes_lenses: it can be told to ask again.
        related, tags, descriptions: what it shows of a diagnostic: other places, faded text, a link to the rule.
        configures: it answers `workspace/configuration`.
        registers_settings: it can be asked to tell that they changed.
        watches: it can be asked to watch files.
        progresses: it shows progress that we begin.
        versioned_edits: it takes `documentChanges`.
        resolves_edits: it asks for the edit of a code action when it is chosen.
        preferred_actions: it can apply the best action by itself.
        disabled_actions: it shows why a code action does not apply.
        asks_how: it asks its user how to run a function on several devices, and over what.
        axis_colors: it has a color for each axis, and shows colored text in hovers.
        lens_commands: it has the commands that our lenses name.
        shows_traces: it has a view of traces, and wants to be told when they change.
        shows_documents: it can be asked to open a document.
        snippets: it expands placeholders in completions.
        markdown, markdown_items: it renders Markdown in a hover, in a completion; otherwise it gets plain text.
        item_kinds, symbol_kinds, workspace_symbol_kinds: the kinds that it has pictures for.
        hierarchical_symbols: it takes document symbols as a tree.
        labelled_signatures: it takes the labels of parameters as offsets.
    """

    name: str = ""
    encoding: str = "utf-16"
    pulls: bool = False
    refreshes_diagnostics: bool = False
    refreshes_hints: bool = False
    refreshes_lenses: bool = False
    related: bool = False
    tags: bool = False
    descriptions: bool = False
    configures: bool = False
    registers_settings: bool = False
    watches: bool = False
    progresses: bool = False
    versioned_edits: bool = False
    resolves_edits: bool = False
    preferred_actions: bool = False
    disabled_actions: bool = False
    asks_how: bool = False
    axis_colors: bool = False
    lens_commands: bool = False
    shows_traces: bool = False
    shows_documents: bool = False
    snippets: bool = False
    markdown: bool = False
    markdown_items: bool = False
    item_kinds: frozenset[int] = OLDEST_KINDS
    symbol_kinds: frozenset[int] = OLDEST_KINDS
    workspace_symbol_kinds: frozenset[int] = OLDEST_KINDS
    hierarchical_symbols: bool = False
    labelled_signatures: bool = False


def read_client(params: Mapping[str, Any]) -> Client:
    """Returns what the client can, from the parameters of `initialize`."""
    given = params.get("capabilities")

    def can(path: str) -> Any:
        found: Any = given
        for part in path.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return found

    diagnostic = "textDocument.publishDiagnostics"
    action = "textDocument.codeAction"
    info = params.get("clientInfo")
    options = params.get("initializationOptions")
    return Client(
        name=str(info.get("name", "")) if isinstance(info, Mapping) else "",
        encoding=_encoding(can("general.positionEncodings")),
        pulls=can("textDocument.diagnostic") is not None,
        refreshes_diagnostics=bool(can("workspace.diagnostics.refreshSupport")),
        refreshes_hints=bool(can("workspace.inlayHint.refreshSupport")),
        refreshes_lenses=bool(can("workspace.codeLens.refreshSupport")),
        related=bool(can(f"{diagnostic}.relatedInformation")),
        tags=bool(can(f"{diagnostic}.tagSupport")),
        descriptions=bool(can(f"{diagnostic}.codeDescriptionSupport")),
        configures=bool(can("workspace.configuration")),
        registers_settings=bool(can("workspace.didChangeConfiguration.dynamicRegistration")),
        watches=bool(can("workspace.didChangeWatchedFiles.dynamicRegistration")),
        progresses=bool(can("window.workDoneProgress")),
        versioned_edits=bool(can("workspace.workspaceEdit.documentChanges")),
        resolves_edits="edit" in _strings(can(f"{action}.resolveSupport.properties"))
        and bool(can(f"{action}.dataSupport")),
        preferred_actions=bool(can(f"{action}.isPreferredSupport")),
        disabled_actions=bool(can(f"{action}.disabledSupport")),
        asks_how=isinstance(options, Mapping) and options.get("asksHow") is True,
        axis_colors=isinstance(options, Mapping) and options.get("axisColors") is True,
        lens_commands=isinstance(options, Mapping) and options.get("lensCommands") is True,
        shows_traces=isinstance(options, Mapping) and options.get("tracesDidChange") is True,
        shows_documents=bool(can("window.showDocument.support")),
        snippets=bool(can("textDocument.completion.completionItem.snippetSupport")),
        markdown="markdown" in _strings(can("textDocument.hover.contentFormat")),
        markdown_items="markdown" in _strings(can("textDocument.completion.completionItem.documentationFormat")),
        item_kinds=_kinds(can("textDocument.completion.completionItemKind.valueSet")),
        symbol_kinds=_kinds(can("textDocument.documentSymbol.symbolKind.valueSet")),
        workspace_symbol_kinds=_kinds(can("workspace.symbol.symbolKind.valueSet")),
        hierarchical_symbols=bool(can("textDocument.documentSymbol.hierarchicalDocumentSymbolSupport")),
        labelled_signatures=bool(
            can("textDocument.signatureHelp.signatureInformation.parameterInformation.labelOffsetSupport")
        ),
    )


def _encoding(offered: Any) -> str:
    """The cheapest encoding for us among those that the client offers; UTF-16 is what every client can."""
    names = _strings(offered)
    return next((name for name in ENCODINGS if name in names), "utf-16")


def _kinds(value: Any) -> frozenset[int]:
    """The kinds that a client names."""
    return frozenset(value) if isinstance(value, (list, tuple)) else OLDEST_KINDS


def known_kind(kinds: tuple[int, ...], known: frozenset[int]) -> int:
    """The first of some kinds that a client knows; the last is one that all know."""
    return next((kind for kind in kinds if kind in known), kinds[-1])


def _strings(value: Any) -> Iterable[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, (list, tuple)) else []
