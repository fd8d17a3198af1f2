"""A case as a project on disk, and what MeshLens finds in it; the glue between the case language and the package."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from meshlens.project.workspace import Workspace, open_workspace
from meshlens.rules._check import check
from meshlens.settings import Settings, load_settings

from dsl import Case, File, Mark
from meshlens.project.view import FileView
from meshlens.rules._model import Finding, Fix
from meshlens.text import Edit, Span, apply


@dataclass(frozen=True)
class Found:
    """A finding of a project: its file, as a mark, and as it came."""

    name: str
    mark: Mark
    finding: Finding


@dataclass(frozen=True)
class Project:
    """The files of a case on disk.

    Attributes:
        root: the folder.
        sources: the Python files and notebooks by name, as bytes.
        settings: what its configuration says.
    """

    root: Path
    sources: Mapping[str, bytes]
    settings: Settings

    def path(self, name: str) -> Path:
        """Where a file of the project is."""
        return self.root / name

    def open(self) -> Workspace:
        """The workspace from a cold start."""
        return open_workspace([self.root], files=[self.path(name) for name in self.sources], settings=self.settings)

    def open_empty(self) -> Workspace:
        """The workspace before any of its files was opened."""
        return open_workspace([self.root], files=[], settings=self.settings)

    def found(self, workspace: Workspace) -> tuple[Found, ...]:
        """All findings of the project in a workspace."""
        return tuple(found for name in sorted(self.sources) for found in self._of_file(workspace, name))

    def _of_file(self, workspace: Workspace, name: str) -> Iterator[Found]:
        view = workspace.view(self.path(name))
        for diagnosed in check(view, self.settings):
            yield Found(name, mark_of(view, diagnosed.rule.code, diagnosed.finding), diagnosed.finding)


def write(case: Case, root: Path, files: Iterable[File] | None = None) -> Project:
    """Writes the files of a case (or these) into a folder."""
    sources = {}
    for file in case.before if files is None else files:
        path = root / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = notebook(file.text) if file.is_notebook else file.text.encode()
        path.write_bytes(content)
        if path.suffix in (".py", ".pyi", ".ipynb"):
            sources[file.name] = content
    if case.settings:
        _write_settings(case, root / "meshlens.toml")
    return Project(root, sources, load_settings(root))


def _write_settings(case: Case, path: Path) -> None:
    given = path.read_text("utf-8") if path.exists() else ""
    lines = [
        f"{key} = {value if value[0] in '[{' or value.isdigit() else json.dumps(value)}" for key, value in case.settings
    ]
    path.write_text("\n".join([*lines, given]), "utf-8")


def _toml(value: str) -> str:
    return value if value.isdigit() or value[0] in "[{" else json.dumps(value)


def notebook(script: str) -> bytes:
    """A notebook whose cells begin at the `# %%` lines of a script."""
    cells: list[dict[str, object]] = []
    for line in script.splitlines(keepends=True):
        if line.startswith("# %%"):
            cells.append({"cell_type": "markdown" if "[markdown]" in line else "code", "metadata": {}, "source": []})
            if cells[-1]["cell_type"] == "code":
                cells[-1] |= {"execution_count": None, "outputs": []}
        else:
            source = cells[-1]["source"]
            assert isinstance(source, list)
            source.append(line)
    for cell in cells:
        source = cell["source"]
        assert isinstance(source, list)
        if source:
            source[-1] = source[-1].removesuffix("\n")
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


def mark_of(view: FileView, code: str, finding: Finding) -> Mark:
    """A finding as the case language writes it."""
    line, start = view.lines.position(finding.span.start)
    last, end = view.lines.position(finding.span.end)
    if last > line:
        end = len(view.lines.line_text(line).decode())
    return Mark(line, start, max(end, start + 1, 2), code, finding.message, last > line)


def marked(files: Iterable[File], found: Iterable[Found]) -> tuple[File, ...]:
    """The files with the marks that were really found."""
    by_name: dict[str, list[Mark]] = {}
    for item in found:
        by_name.setdefault(item.name, []).append(item.mark)
    return tuple(replace(file, marks=tuple(sorted(by_name.get(file.name, ())))) for file in files)


def edits_by_file(project: Project, fixes: Iterable[Fix]) -> dict[str, list[Edit]]:
    """The edits of fixes by file name; what two fixes both want (an import) is there once."""
    edits: dict[str, dict[Edit, None]] = {}
    for fix in fixes:
        for file_edit in fix.edits:
            name = file_edit.path.relative_to(project.root).as_posix()
            edits.setdefault(name, {})[file_edit.edit] = None
    return {name: list(unique) for name, unique in edits.items()}


def with_edits(project: Project, edits: Mapping[str, list[Edit]]) -> Project:
    """The project after edits, which must not overlap."""
    changed = {name: apply(project.sources[name], found) for name, found in edits.items()}
    return replace(project, sources={**project.sources, **changed})


def first_fixes(found: Iterable[Found]) -> list[Fix]:
    """The first fix of every finding, those left out that would touch what an earlier one changes."""
    taken: list[tuple[Path, Span]] = []
    chosen: list[Fix] = []
    for item in found:
        for fix in item.finding.fixes[:1]:
            wanted = [(edit.path, edit.edit) for other in chosen for edit in other.edits]
            new = [edit for edit in fix.edits if (edit.path, edit.edit) not in wanted]
            if any(_touch(edit.edit.span, span) for edit in new for path, span in taken if path == edit.path):
                continue
            chosen.append(fix)
            taken += [(edit.path, edit.edit.span) for edit in fix.edits]
    return chosen


def _touch(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def opened(project: Project) -> Workspace:
    """The workspace of a project whose files are not on disk as they are here."""
    workspace = project.open()
    for name, source in project.sources.items():
        workspace = workspace.with_file(project.path(name), source)
    return workspace


def counted(found: Iterable[Found]) -> Counter[tuple[str, str]]:
    """How many findings of each code each file has."""
    return Counter((item.name, item.mark.code) for item in found)
