"""The claims that a client must have made before a server may send it something; see the LSP specification, 3.17.

Every message of every session in `tests/lsp` is checked against this, so that no client gets what it did not ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from recorded_clients import claimed, pulls

REQUESTS: Mapping[str, str] = {
    "workspace/configuration": "workspace.configuration",
    "workspace/applyEdit": "workspace.applyEdit",
    "workspace/workspaceFolders": "workspace.workspaceFolders",
    "workspace/diagnostic/refresh": "workspace.diagnostics.refreshSupport",
    "workspace/inlayHint/refresh": "workspace.inlayHint.refreshSupport",
    "workspace/codeLens/refresh": "workspace.codeLens.refreshSupport",
    "window/workDoneProgress/create": "window.workDoneProgress",
    "window/showDocument": "window.showDocument.support",
}
"""The server's requests, with the capability that a client must claim for each."""

ALWAYS = ("textDocument/publishDiagnostics", "window/showMessage", "window/logMessage", "$/progress", "$/cancelRequest")
OLD_SYMBOLS, OLD_ITEMS = frozenset(range(1, 19)), frozenset(range(1, 19))
"""The kinds in the protocol's first version, the only ones for a client that names none."""


@dataclass
class Heard:
    """The messages that came from a server.

    Attributes:
        capabilities: the client's capabilities.
        options: the client's initialization options.
        asked: the method of each request by its id.
        requests: the methods of the requests that the server sent, in order.
        tokens: progress tokens that the client knows.
        unclaimed: descriptions of what the client should not have got.
    """

    capabilities: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    asked: dict[Any, str] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    tokens: set[Any] = field(default_factory=set)
    unclaimed: list[str] = field(default_factory=list)

    def note(self, message: Mapping[str, Any]) -> None:
        """Checks one message against the client's claims."""
        method = message.get("method")
        if method is None:
            asked = self.asked.pop(message.get("id"), "")
            found = self._of_answer(asked, message.get("result"))
            self.unclaimed += [f"the answer to {asked}: {text}" for text in found]
        else:
            found = self._of_message(method, message.get("params"), is_request="id" in message)
            self.unclaimed += [f"{method}: {text}" for text in found]

    def _can(self, path: str) -> bool:
        return bool(claimed(self.capabilities, path))

    def _of_message(self, method: str, params: Any, *, is_request: bool) -> Iterator[str]:
        if is_request:
            self.requests.append(method)
        if is_request and method == "client/registerCapability":
            for one in params["registrations"]:
                path = one["method"].replace("/", ".")
                if not self._can(f"{path}.dynamicRegistration"):
                    yield f"registers {one['method']}"
        elif is_request:
            if method not in REQUESTS or not self._can(REQUESTS[method]):
                yield "asks for what is not claimed"
        elif method == "meshlens/devicesDidChange":
            if not self.options.get("devicesDidChange"):
                yield "is not asked for"
        elif method not in ALWAYS:
            yield "is no notification of the protocol"
        if method == "window/workDoneProgress/create":
            self.tokens.add(params["token"])
        if method == "$/progress" and params["token"] not in self.tokens:
            yield "nobody knows this token"
        if method == "textDocument/publishDiagnostics":
            if pulls(self.capabilities):
                yield "the client pulls"
            yield from self._of_diagnostics(params["diagnostics"])

    def _of_answer(self, asked: str, result: Any) -> Iterable[str]:
        checks: Mapping[str, Callable[[Any], Iterable[str]]] = {
            "initialize": self._of_initialize,
            "textDocument/diagnostic": lambda given: self._of_diagnostics(given.get("items", ())),
            "workspace/diagnostic": self._of_workspace_diagnostics,
            "textDocument/codeAction": lambda given: [text for one in given for text in self._of_action(one)],
            "codeAction/resolve": self._of_action,
            "textDocument/hover": self._of_hover,
            "textDocument/completion": self._of_completion,
            "textDocument/signatureHelp": self._of_signature,
            "textDocument/rename": self._of_edit,
            "textDocument/definition": self._of_definition,
            "textDocument/documentSymbol": self._of_document_symbols,
            "workspace/symbol": lambda given: self._of_kinds(given, "workspace.symbol"),
        }
        return checks[asked](result) if asked in checks and result is not None else ()

    def _of_initialize(self, result: Any) -> Iterator[str]:
        offered = result["capabilities"]
        if offered.get("notebookDocumentSync") and not self._can("notebookDocument"):
            yield "notebookDocumentSync"
        if isinstance(offered.get("renameProvider"), Mapping) and not self._can("textDocument.rename.prepareSupport"):
            yield "the options of rename"
        encodings = claimed(self.capabilities, "general.positionEncodings") or ["utf-16"]
        if offered.get("positionEncoding", "utf-16") not in encodings:
            yield f"columns in {offered['positionEncoding']}"

    def _of_workspace_diagnostics(self, result: Any) -> Iterator[str]:
        for report in result["items"]:
            yield from self._of_diagnostics(report.get("items", ()))

    def _of_diagnostics(self, items: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        for one in items:
            for key, path in (
                ("relatedInformation", "relatedInformation"),
                ("codeDescription", "codeDescriptionSupport"),
            ):
                if key in one and not self._can_show(path):
                    yield key
            for tag in one.get("tags", ()):
                if tag not in self._tags():
                    yield f"tag {tag}"
            if "data" in one and not self._can_show("dataSupport"):
                yield "data"

    def _can_show(self, path: str) -> bool:
        return self._can(f"textDocument.publishDiagnostics.{path}") or self._can(f"textDocument.diagnostic.{path}")

    def _tags(self) -> set[int]:
        places = ("textDocument.publishDiagnostics", "textDocument.diagnostic")
        return {tag for place in places for tag in claimed(self.capabilities, f"{place}.tagSupport.valueSet") or ()}

    def _of_action(self, action: Mapping[str, Any]) -> Iterator[str]:
        path = "textDocument.codeAction"
        kinds = claimed(self.capabilities, f"{path}.codeActionLiteralSupport.codeActionKind.valueSet")
        if kinds is None:
            yield "an action where only commands are known"
        elif not any(action["kind"] == kind or action["kind"].startswith(f"{kind}.") for kind in kinds):
            yield f"kind {action['kind']}"
        for key, claim in (
            ("isPreferred", "isPreferredSupport"),
            ("disabled", "disabledSupport"),
            ("data", "dataSupport"),
        ):
            if key in action and not self._can(f"{path}.{claim}"):
                yield key
        if "edit" in action:
            yield from self._of_edit(action["edit"])
        elif "disabled" not in action and "edit" not in (
            claimed(self.capabilities, f"{path}.resolveSupport.properties") or ()
        ):
            yield "no edit, where edits cannot be resolved"
        yield from self._of_diagnostics(action.get("diagnostics", ()))

    def _of_edit(self, edit: Mapping[str, Any]) -> Iterator[str]:
        if "documentChanges" in edit and not self._can("workspace.workspaceEdit.documentChanges"):
            yield "documentChanges"

    def _of_markup(self, markup: Any, path: str) -> Iterator[str]:
        if isinstance(markup, Mapping) and markup["kind"] not in (claimed(self.capabilities, path) or ("plaintext",)):
            yield f"{markup['kind']} where {path} has none"

    def _of_hover(self, hover: Mapping[str, Any]) -> Iterator[str]:
        yield from self._of_markup(hover["contents"], "textDocument.hover.contentFormat")

    def _of_completion(self, result: Mapping[str, Any]) -> Iterator[str]:
        path = "textDocument.completion"
        kinds = claimed(self.capabilities, f"{path}.completionItemKind.valueSet") or OLD_ITEMS
        for item in result["items"]:
            yield from self._of_markup(item.get("documentation"), f"{path}.completionItem.documentationFormat")
            if item.get("insertTextFormat") == 2 and not self._can(f"{path}.completionItem.snippetSupport"):
                yield "a snippet"
            if item["kind"] not in kinds:
                yield f"kind {item['kind']}"

    def _of_signature(self, result: Mapping[str, Any]) -> Iterator[str]:
        path = "textDocument.signatureHelp.signatureInformation"
        for signature in result["signatures"]:
            yield from self._of_markup(signature.get("documentation"), f"{path}.documentationFormat")
            for parameter in signature["parameters"]:
                yield from self._of_markup(parameter.get("documentation"), f"{path}.documentationFormat")
                if isinstance(parameter["label"], list) and not self._can(
                    f"{path}.parameterInformation.labelOffsetSupport"
                ):
                    yield "a label by its place"

    def _of_definition(self, result: Any) -> Iterator[str]:
        places = result if isinstance(result, list) else [result]
        if any("targetUri" in one for one in places) and not self._can("textDocument.definition.linkSupport"):
            yield "a link"

    def _of_document_symbols(self, result: Any) -> Iterator[str]:
        path = "textDocument.documentSymbol"
        if any("selectionRange" in one for one in result) and not self._can(
            f"{path}.hierarchicalDocumentSymbolSupport"
        ):
            yield "a tree of symbols"
        yield from self._of_kinds(result, path)

    def _of_kinds(self, symbols: Iterable[Mapping[str, Any]], path: str) -> Iterator[str]:
        kinds = claimed(self.capabilities, f"{path}.symbolKind.valueSet") or OLD_SYMBOLS
        yield from (f"kind {one['kind']}" for one in symbols if one["kind"] not in kinds)
