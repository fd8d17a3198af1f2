"""A plugin for python-lsp-server, so that its users, for example in Spyder, keep their server and get our findings.

The server loads it through an entry point and passes the server's documents to its hooks; some hooks run in a thread.
The server and jedi handle names and modules; we handle JAX's maps, and axis names in strings.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from threading import RLock
from typing import Any, TypeVar

from pylsp import hookimpl

from meshlens.ide.target import sites_at
from meshlens.lsp.handlers.code_action import code_action
from meshlens.lsp.handlers.completion import completion
from meshlens.lsp.handlers.configuration import take
from meshlens.lsp.handlers.definition import definition
from meshlens.lsp.handlers.did_close import did_close
from meshlens.lsp.handlers.document_highlight import document_highlight
from meshlens.lsp.handlers.hover import hover
from meshlens.lsp.handlers.references import references
from meshlens.lsp.handlers.rename import rename
from meshlens.lsp.handlers.signature_help import signature_help
from meshlens.lsp.loading import load
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import is_nowhere, opened, path_of
from meshlens.lsp.to_lsp import diagnostics
from meshlens.lsp.wire.client import read_client

NAME = "meshlens"
_F = TypeVar("_F", bound=Callable[..., Any])


def _hook(function: _F) -> _F:
    marked: _F = hookimpl(function)
    return marked


def _first(function: _F) -> _F:
    """Marks a hook to run before jedi's: the server uses only the first answer, and jedi's is never None."""
    marked: _F = hookimpl(function, tryfirst=True)
    return marked


class Plugin:
    """The plugin that the server registers, with one session per workspace."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}
        self._lock = RLock()

    @_hook
    def pylsp_settings(self) -> dict[str, Any]:
        """Enables the plugin by default."""
        return {"plugins": {NAME: {"enabled": True}}}

    @_hook
    def pylsp_workspace_configuration_changed(self, config: Any, workspace: Any) -> None:
        """Applies the `meshlens` section of the editor's settings."""
        with self._lock:
            session = self._sessions.get(workspace.root_uri)
            if session is not None:
                take(session, None, _settings(config))
                session.reopen()

    @_hook
    def pylsp_lint(self, config: Any, workspace: Any, document: Any) -> list[dict[str, Any]]:
        """Returns the findings of a document."""
        with self._lock:
            session = self._at(config, workspace, document)
            known = session.documents[document.uri]
            found = diagnostics(session, known)
            if is_nowhere(known.path):
                # A notebook is linted as a text whose name differs each time.
                did_close(session, {"textDocument": {"uri": document.uri}})
            return found

    @_first
    def pylsp_hover(self, config: Any, workspace: Any, document: Any, position: Any) -> Any:
        """Returns the hover of a map, mesh, spec or axis; None leaves the answer to the next plugin."""
        return self._answer(hover, config, workspace, document, position)

    @_first
    def pylsp_signature_help(self, config: Any, workspace: Any, document: Any, position: Any) -> Any:
        """Returns the parameters of mapped functions, which other plugins cannot determine."""
        return self._answer(signature_help, config, workspace, document, position)

    @_hook
    def pylsp_completions(self, config: Any, workspace: Any, document: Any, position: Any) -> list[dict[str, Any]]:
        """Returns axis names, skeletons and snippets."""
        found = self._answer(completion, config, workspace, document, position)
        return found["items"] if found else []

    @_hook
    def pylsp_code_actions(
        self, config: Any, workspace: Any, document: Any, range: Any, context: Any
    ) -> list[dict[str, Any]]:
        """Returns the code actions in a range."""
        with self._lock:
            session = self._at(config, workspace, document)
            params = {"textDocument": {"uri": document.uri}, "range": range, "context": context}
            return code_action(session, params)

    @_hook
    def pylsp_definitions(self, config: Any, workspace: Any, document: Any, position: Any) -> list[dict[str, Any]]:
        """Returns the binders of the axis that the string at the cursor names."""
        return self._in_string(definition, config, workspace, document, position) or []

    @_hook
    def pylsp_references(
        self, config: Any, workspace: Any, document: Any, position: Any, exclude_declaration: bool
    ) -> list[dict[str, Any]]:
        """Returns the references to the axis that the string at the cursor names."""
        context = {"includeDeclaration": not exclude_declaration}
        return self._in_string(references, config, workspace, document, position, context=context) or []

    @_hook
    def pylsp_document_highlight(
        self, config: Any, workspace: Any, document: Any, position: Any
    ) -> list[dict[str, Any]]:
        """Returns the places in this file with the axis name at the cursor."""
        return self._in_string(document_highlight, config, workspace, document, position) or []

    @_first
    def pylsp_rename(self, config: Any, workspace: Any, document: Any, position: Any, new_name: str) -> Any:
        """Returns edits that rename the axis that a string names; None leaves the answer to the next plugin."""
        return self._in_string(rename, config, workspace, document, position, newName=new_name)

    def _answer(self, handler: Any, config: Any, workspace: Any, document: Any, position: Any, **more: Any) -> Any:
        with self._lock:
            session = self._at(config, workspace, document)
            return _done(handler(session, {"textDocument": {"uri": document.uri}, "position": position, **more}))

    def _in_string(self, handler: Any, config: Any, workspace: Any, document: Any, position: Any, **more: Any) -> Any:
        with self._lock:
            session = self._at(config, workspace, document)
            params = {"textDocument": {"uri": document.uri}, "position": position, **more}
            here = session.at(params)
            if here is None or session.folder_of(here[0].path).small is False:
                # Only part of a large project is loaded here, and incomplete references would be wrong.
                return None
            sites = sites_at(here[1], here[2])
            if not sites or not here[1].text(sites[0]).endswith(('"', "'")):
                return None
            return _done(handler(session, params))

    def _at(self, config: Any, workspace: Any, document: Any) -> Session:
        """Returns the session of a workspace, with a document as the server has it now."""
        session = self._sessions.get(workspace.root_uri)
        if session is None:
            session = self._sessions[workspace.root_uri] = _session(config, workspace)
        stale = [uri for uri in session.documents if uri != document.uri and uri not in workspace.documents]
        for uri in stale:
            did_close(session, {"textDocument": {"uri": uri}})
        made = opened(document.uri, document.version, document.source)
        known = session.documents.get(document.uri)
        if known is None or known.text != made.text:
            before = session.folder_of(made.path).workspace
            session.add(made)
            load(session, made.path)
            session.note_whole(made.path, before)
        return session


def _session(config: Any, workspace: Any) -> Session:
    client = read_client({"capabilities": config.capabilities})
    client = replace(client, encoding="utf-16", resolves_edits=False, pulls=False)
    session = Session(lambda method, params: None, _never_asks, client)
    if workspace.root_uri:
        session.given = (path_of(workspace.root_uri),)
    take(session, None, _settings(config))
    return session


def _settings(config: Any) -> Mapping[str, Any]:
    given = config.plugin_settings(NAME)
    return {key: value for key, value in given.items() if key != "enabled"}


def _never_asks(method: str, params: Any) -> Any:
    raise RuntimeError(f"{method} has no recipient: python-lsp-server sends all requests itself")


def _done(answer: Any) -> Any:
    """Returns an answer, which is available immediately because everything is loaded."""
    if not isinstance(answer, Coroutine):
        return answer
    try:
        answer.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("the answer was not available immediately")


plugin = Plugin()
