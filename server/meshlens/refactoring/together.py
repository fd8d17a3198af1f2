"""Combines offers that were computed separately for one state of the files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from meshlens.project.view import FileView
from meshlens.project.workspace import Workspace
from meshlens.project.writing.drafts import Draft, Import
from meshlens.project.writing.new_imports import import_edits
from meshlens.refactoring.model import Parts, Proposal
from meshlens.refactoring.writing.spelling import Spelling
from meshlens.refactoring.writing.writing import in_order
from meshlens.text import Edit, FileEdit, Span


class Round:
    """The offers taken for one state of a workspace."""

    def __init__(self, workspace: Workspace, most: int) -> None:
        self._workspace = workspace
        self._left = most
        self._imports: dict[Path, list[Import]] = defaultdict(list)
        self._edits: dict[Path, list[Edit]] = defaultdict(list)
        self._whole: tuple[FileEdit, ...] = ()

    @property
    def is_full(self) -> bool:
        """Returns whether no more offers can be taken: enough were taken, or a taken offer excludes all others."""
        return self._left <= 0 or bool(self._whole)

    def view(self, path: Path) -> FileView:
        """Returns a file whose draft contains the imports and edits of the offers taken so far."""
        view = self._workspace.view(path)
        if path not in self._edits:
            return view
        return replace(view, draft=Draft(tuple(self._imports[path]), tuple(self._edits[path])))

    def take(self, path: Path, proposal: Proposal) -> bool:
        """Takes an offer for a file, unless it conflicts with those already taken.

        Args:
            path: the file.
            proposal: an offer computed from `view(path)`.

        Returns:
            Whether it was taken.
        """
        if proposal.parts is None:
            if not self._edits:
                self._whole = proposal.edits()
            return bool(self._whole)
        if any(_touch(one.edit, other) for one in proposal.parts.edits for other in self._edits.get(one.path, ())):
            return False
        self._left -= 1
        self._imports[path] += proposal.parts.imports
        for file, edit in proposal.parts.edits:
            self._edits[file].append(edit)
        return True

    def edits(self) -> dict[Path, list[Edit]]:
        """Returns the edits of every file that changes; they do not overlap."""
        found: dict[Path, list[Edit]] = defaultdict(list)
        for file, edit in self._whole:
            found[file].append(edit)
        for file, edits in self._edits.items():
            imports = import_edits(self._workspace.view(file), self._imports[file])
            found[file] = [edit for _, edit in in_order((*imports, *(FileEdit(file, edit) for edit in edits)))]
        return found


def in_parts(title: str, view: FileView, spelling: Spelling, edits: Iterable[FileEdit]) -> Proposal:
    """Returns an offer that can be combined with others.

    Args:
        title: what the offer does.
        view: the file.
        spelling: holds the imports that the file needs.
        edits: the other edits of the offer.
    """
    parts = Parts(tuple(spelling.needed), in_order(edits))
    return Proposal(title, lambda: in_order((*import_edits(view, parts.imports), *parts.edits)), parts)


def moved(span: Span, edits: Iterable[Edit]) -> Span | None:
    """Returns the span of the same text after edits; None if the edits changed the text.

    Args:
        span: the span.
        edits: edits that do not overlap, with the file's line endings.
    """
    shift = 0
    for (start, end), text in edits:
        if end <= span.start:
            shift += len(text.encode()) - (end - start)
        elif start < span.end:
            return None
    return Span(span.start + shift, span.end + shift)


def _touch(one: Edit, other: Edit) -> bool:
    """Returns whether two edits overlap; insertions at the same place do not."""
    if one.span == other.span:
        return one.span.start < one.span.end
    return one.span.start < other.span.end and other.span.start < one.span.end
