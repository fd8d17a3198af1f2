"""The mutable state of the server: open documents, loaded projects, the client's capabilities and settings.

Workspaces are immutable; a session replaces its folders' workspaces with newer ones, so every view stays consistent
without locks.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from meshlens.checking.check import Diagnosed, check
from meshlens.foreign_files import Unread
from meshlens.lsp.folders import Folder, jax_version_of, library_versions_of, open_folder, root_for
from meshlens.lsp.texts.documents import Document, uri_of
from meshlens.lsp.texts.notebooks import OpenNotebook
from meshlens.lsp.wire.client import Client
from meshlens.project.disk.python_text import read_source
from meshlens.project.failures import failure_of
from meshlens.project.view import FileView
from meshlens.project.workspace import Workspace
from meshlens.settings import EditorSettings
from meshlens.text import LineIndex, Span

_log = logging.getLogger("meshlens")

Send = Callable[[str, Any], None]
Ask = Callable[[str, Any], "asyncio.Future[Any]"]


@dataclass(slots=True)
class Session:
    """The mutable state of one client's session.

    Attributes:
        notify: sends a notification.
        ask: sends a request.
        client: the client's capabilities.
        given: the folders that the client has open.
        options: the editor's settings at the start.
        editor: the editor's settings by folder; None for the global ones.
        folders: the loaded projects, by their root.
        documents: the open documents by URI.
        notebooks: the open notebooks by URI.
        dirty: the files whose findings must be sent again.
        typed: the file that changed last, until it is processed.
        schedule: schedules findings to be sent as soon as the loop is free.
        pull_again: asks a client that pulls findings to pull again, because something other than its edit changed them.
        clear: clears the findings sent for a document.
        indexing: the large projects.
        probing: the known devices.
        traces: the traces; None until the first request.
        cancellable: running work by its progress token.
        whole_findings: the findings of whole projects, each with the revision of the project.
        unsaved: the files that were edited since they were opened or saved.
        foreign: the URIs of the open documents that are not Python.
        last_whole: for the file that last got a syntax error, the workspace before the error, until the file has no
            errors or other files are loaded.
    """

    notify: Send
    ask: Ask
    client: Client = field(default_factory=Client)
    given: tuple[Path, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    editor: dict[Path | None, Mapping[str, Any]] = field(default_factory=dict)
    folders: dict[Path, Folder] = field(default_factory=dict)
    documents: dict[str, Document] = field(default_factory=dict)
    notebooks: dict[str, OpenNotebook] = field(default_factory=dict)
    dirty: dict[Path, None] = field(default_factory=dict)
    typed: Path | None = None
    schedule: Callable[[], None] = lambda: None
    pull_again: Callable[[], None] = lambda: None
    clear: Callable[[str], None] = lambda uri: None
    indexing: Any = None
    probing: Any = None
    traces: Any = None
    cancellable: dict[str, asyncio.Task[Any]] = field(default_factory=dict)
    whole_findings: dict[Path, tuple[int, Mapping[Path, tuple[Diagnosed, ...]]]] = field(default_factory=dict)
    unsaved: set[Path] = field(default_factory=set)
    foreign: set[str] = field(default_factory=set)
    last_whole: dict[Path, Workspace] = field(default_factory=dict)
    _warned: set[str] = field(default_factory=set)
    _wrong: dict[Path, tuple[str, ...]] = field(default_factory=dict)
    _found: dict[Path, tuple[int, tuple[Diagnosed, ...]]] = field(default_factory=dict)
    _revision: int = 0
    _roots: dict[Path, Path] = field(default_factory=dict)
    _plain: dict[Path, str] = field(default_factory=dict)

    @property
    def trusted(self) -> bool:
        """Returns whether programs in the workspace may be run."""
        return self.probing is None or bool(self.probing.trusted)

    def folder_of(self, path: Path) -> Folder:
        """Returns the project of a file, opening it on first use."""
        root = self._roots.get(path)
        if root is None:
            root = self._roots[path] = root_for(path, self.given)
        folder = self.folders.get(root)
        return folder if folder is not None else self._open(root)

    def _open(self, root: Path) -> Folder:
        interpreter = self.probing.said_of(root) if self.probing is not None else None
        folder, wrong = open_folder(root, self.editor_settings(root), interpreter, trusted=self.trusted)
        if self.probing is not None:
            folder = self.probing.known(folder)
        self.folders[root] = folder
        if self.probing is not None:
            self.probing.want(root)
        for line in wrong:
            if line not in self._wrong.get(root, ()):
                self.say(f"MeshLens: {line}", level=2)
        self._wrong[root] = wrong
        return folder

    def editor_settings(self, root: Path) -> Mapping[str, Any]:
        """Returns the editor's settings for a project; those of a folder override those of its parents."""
        merged: dict[str, Any] = dict(self.editor.get(None, {}))
        for folder in sorted((key for key in self.editor if key is not None), key=lambda key: len(key.parts)):
            if root.is_relative_to(folder):
                merged.update(self.editor[folder])
        return merged

    def editor_features(self, path: Path) -> EditorSettings:
        """Returns the features that the editor wants in a file."""
        return self.folder_of(path).features

    def reopen(self, roots: Mapping[Path, None] | None = None) -> None:
        """Forgets all projects, or those with the given roots, and reloads the open documents."""
        if self.indexing is not None:
            self.indexing.forget()
        stale = [root for root in self.folders if roots is None or root in roots]
        for root in stale:
            del self.folders[root]
        self._roots.clear()
        self._found.clear()
        self.load_open()
        self.refresh_shown()

    def judge_again(self) -> None:
        """Reloads the projects whose Python now has another version of JAX or another library."""
        stale: dict[Path, None] = {}
        for root, folder in self.folders.items():
            said = self.probing.said_of(root) if self.probing is not None else None
            known = {one for one in folder.workspace.folder_versions if one.folder == str(root)}
            is_same_jax = jax_version_of(root, folder.settings, said).version == folder.jax.version
            if not is_same_jax or known != set(library_versions_of(root, folder.settings, said)):
                stale[root] = None
        if stale:
            self.reopen(stale)

    def refresh_shown(self) -> None:
        """Asks the client to refresh hints and lenses."""
        if self.client.refreshes_hints:
            self.ask("workspace/inlayHint/refresh", None)
        if self.client.refreshes_lenses:
            self.ask("workspace/codeLens/refresh", None)

    def want_index(self, root: Path) -> None:
        """Makes the helper process read a large project."""
        if self.indexing is not None:
            self.indexing.want(root)

    def load_open(self) -> None:
        """Adds every open text to the workspace of its project."""
        from meshlens.lsp.loading import load

        paths = dict.fromkeys(document.path for document in self.documents.values())
        for path in paths:
            load(self, path)
            self.touch(path)
        self.pull_again()

    def leave(self, root: Path) -> None:
        """Forgets a project without open documents, unless its folder is open."""
        if root in self.given or any(self.folder_of(one.path).root == root for one in self.documents.values()):
            return
        if self.folders.pop(root, None) is not None:
            # The values of the analysis contain many reference cycles, and the collector runs rarely.
            gc.collect()
        self._roots = {path: of for path, of in self._roots.items() if of != root}
        if self.indexing is not None:
            self.indexing.leave(root)

    def touch(self, path: Path) -> None:
        """Notes that findings of a file, and of the other open files of its project, may have changed."""
        self.dirty.pop(path, None)
        self.dirty = {path: None, **self.dirty}
        self.typed = path
        self.touch_others(path)

    def touch_others(self, path: Path) -> None:
        """Notes that findings of the other open files of a project may have changed."""
        root = self.folder_of(path).root
        for document in self.documents.values():
            if document.path not in self.dirty and self.folder_of(document.path).root == root:
                self.dirty[document.path] = None
        self.schedule()

    def put(self, folder: Folder) -> None:
        """Replaces a project with its newer state."""
        known = self.folders.get(folder.root)
        if known is not None and len(known.workspace.files) != len(folder.workspace.files):
            # The results for a different set of files share nothing with the new results.
            self.last_whole.clear()
        self._revision += 1
        self.folders[folder.root] = replace(folder, revision=self._revision)

    def note_whole(self, path: Path, before: Workspace) -> None:
        """Keeps the workspace from before an edit that broke a file, until the file has no syntax errors again."""
        file, was = self.folder_of(path).workspace.files.get(str(path)), before.files.get(str(path))
        if file is None or not file.facts.broken:
            self.last_whole.pop(path, None)
        elif was is not None and not was.facts.broken:
            # A workspace keeps its records and modules alive, so keep only one.
            self.last_whole = {path: before.looked_back_at(path)}

    def add(self, document: Document) -> None:
        """Notes an open text."""
        self.documents[document.uri] = document
        if document.notebook is None:
            self._plain[document.path] = document.uri

    def remove(self, uri: str) -> Document | None:
        """Removes an open text and returns it."""
        document = self.documents.pop(uri, None)
        if document is not None and self._plain.get(document.path) == uri:
            del self._plain[document.path]
        return document

    def is_open(self, path: Path) -> bool:
        """Returns whether a file, or a cell of it, is open."""
        return path in self._plain or any(book.path == path for book in self.notebooks.values())

    def at(self, params: Mapping[str, Any]) -> tuple[Document, FileView, int] | None:
        """Returns the document, view and byte offset of a request; None if it is not open or is excluded."""
        document = self.documents.get(params["textDocument"]["uri"])
        view = self.view(document.path) if document is not None else None
        if document is None or view is None:
            return None
        position = params["position"]
        at = document.lines.offset(int(position["line"]), int(position["character"]), self.client.encoding)
        return document, view, document.base + at

    def range_in(self, document: Document, span: Span) -> dict[str, Any]:
        """Returns a span of a file as a range in one of its open documents."""
        at = Span(span.start - document.base, span.end - document.base)
        return ranged(document.lines, at, self.client.encoding)

    def view(self, path: Path) -> FileView | None:
        """Returns the view of a file; None if it is excluded or missing."""
        folder = self.folder_of(path)
        if str(path) not in folder.workspace.files:
            return None
        return folder.workspace.view(path)

    def findings(self, path: Path) -> tuple[Diagnosed, ...]:
        """Returns the rules' findings in a file, computed once for each state of its workspace."""
        folder = self.folder_of(path)
        known = self._found.get(path)
        if known is not None and known[0] == folder.revision:
            return known[1]
        try:
            view = self.view(path)
            if view is not None and self.unsaved:
                # What happens without options takes a second run of each program, too much for a keystroke.
                view = replace(view, defaults=None)
            found = check(view, folder.settings) if view is not None and not folder.excludes(path) else ()
        except Exception as error:  # Earlier findings are better than none, and other files have their own.
            self.warn_once(failure_of(str(path), "checking it", error).line(str(path)))
            found = known[1] if known is not None else ()
        else:
            for failure in view.solution.failures.values() if view is not None else ():
                self.warn_once(failure.line(failure.path))
        self._found[path] = (folder.revision, found)
        return found

    def note_saved(self, path: Path) -> None:
        """Notes that a file is as it is on disk; its findings again include those for programs without options."""
        if path in self.unsaved:
            self.unsaved.discard(path)
            self._found.clear()

    def texts(self, path: Path) -> Iterator[Document]:
        """Yields the open documents of a file: one, or the cells of a notebook in order."""
        plain = self._plain.get(path)
        if plain is not None:
            yield self.documents[plain]
            return
        for book in self.notebooks.values():
            if book.path == path:
                yield from (self.documents[cell] for cell in book.cells if cell in self.documents)

    def placed(self, path: Path, span: Span) -> tuple[str, dict[str, Any], int | None] | None:
        """Returns the URI, range and version of a place in any file; None if the client cannot refer to it."""
        for document in self.texts(path):
            if document.base <= span.start <= document.base + len(document.text):
                at = Span(span.start - document.base, span.end - document.base)
                return document.uri, ranged(document.lines, at, self.client.encoding), document.version
        source = self.source(path) if path.suffix != ".ipynb" else None
        if source is None:
            return None
        return uri_of(path), ranged(LineIndex(source), span, self.client.encoding), None

    def source(self, path: Path) -> bytes | None:
        """Returns the Python text of a file as loaded, or as it is on disk; None if there is none."""
        file = self.folder_of(path).workspace.files.get(str(path))
        if file is not None:
            return file.source
        text = read_source(path)
        return None if isinstance(text, Unread) else text

    def say(self, text: str, level: int = 3) -> None:
        """Shows a message at a level: 1 for an error, 2 for a warning, 3 for information."""
        self.notify("window/showMessage", {"type": level, "message": text})

    def warn_once(self, text: str) -> None:
        """Writes a warning to our own log, unless the same warning was already written."""
        if text not in self._warned:
            self._warned.add(text)
            _log.warning("%s", text)

    def forget_positions(self, path: Path) -> None:
        """Drops everything cached for a file that was closed."""
        self.note_saved(path)
        self._found.pop(path, None)
        self.last_whole.pop(path, None)
        self.dirty.pop(path, None)


def ranged(lines: LineIndex, span: Span, encoding: str) -> dict[str, Any]:
    """Returns a span as a range."""
    start, end = lines.position(span.start, encoding), lines.position(span.end, encoding)
    return {
        "start": {"line": start[0], "character": start[1]},
        "end": {"line": end[0], "character": end[1]},
    }
