"""The client's capabilities, read from the parameters of `initialize`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from meshlens.lsp.wire.capabilities import capability, colors_axes, position_encoding, pulls

OLDEST_KINDS = frozenset(range(1, 19))
"""The kinds of symbols and completions in the protocol's first version, for clients that list none."""


@dataclass(frozen=True, slots=True)
class Client:
    """The client's capabilities.

    Attributes:
        name: its name; empty if not given.
        encoding: the unit of columns: "utf-8", "utf-16" or "utf-32" code units.
        pulls: whether it pulls diagnostics of a document, and can be asked to pull again when another file affects
            them. Neovim 0.11 cannot, so we send it diagnostics.
        refreshes_hints, refreshes_lenses: whether it can be asked to refresh hints or lenses.
        related, tags, descriptions: the parts of a diagnostic that it shows: other places, faded text, a link to the
            rule.
        configures: whether it answers `workspace/configuration`.
        registers_settings: whether it can report changes to its settings.
        watches: whether it can watch files.
        progresses: whether it shows progress that we begin.
        versioned_edits: whether it accepts `documentChanges`.
        resolves_edits: whether it requests the edit of a code action when it is chosen.
        preferred_actions: whether it can apply the best action by itself.
        disabled_actions: whether it shows why a code action does not apply.
        asks_how: whether it asks its user how to run a function on several devices.
        axis_colors: whether it has a color for each axis, and shows colored text in hovers.
        lens_commands: whether it has the commands of our lenses.
        shows_traces: whether it has a view of traces, and wants notifications of changes.
        shows_documents: whether it can open a document on request.
        snippets: whether it expands placeholders in completions.
        markdown, markdown_items: whether it renders Markdown in hovers and in completions; otherwise it gets plain
            text.
        item_kinds, symbol_kinds, workspace_symbol_kinds: the kinds that it has icons for.
        hierarchical_symbols: whether it accepts document symbols as a tree.
        labelled_signatures: whether it accepts the labels of parameters as offsets.
    """

    name: str = ""
    encoding: str = "utf-16"
    pulls: bool = False
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
    """Returns the client's capabilities, from the parameters of `initialize`."""

    def can(path: str) -> Any:
        return capability(params, path)

    diagnostic = "textDocument.publishDiagnostics"
    action = "textDocument.codeAction"
    info = params.get("clientInfo")
    options = params.get("initializationOptions")
    return Client(
        name=str(info.get("name", "")) if isinstance(info, Mapping) else "",
        encoding=position_encoding(params),
        pulls=pulls(params),
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
        axis_colors=colors_axes(params),
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


def _kinds(value: Any) -> frozenset[int]:
    """Returns the kinds that a client lists."""
    return frozenset(value) if isinstance(value, (list, tuple)) else OLDEST_KINDS


def known_kind(kinds: tuple[int, ...], known: frozenset[int]) -> int:
    """Returns the first of the given kinds that a client knows; every client knows the last one."""
    return next((kind for kind in kinds if kind in known), kinds[-1])


def _strings(value: Any) -> Iterable[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, (list, tuple)) else []
