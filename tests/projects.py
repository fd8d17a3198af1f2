"""A case as a project on disk, and what MeshLens finds in it: the link between the case language and the package."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from dsl import Case, File, Mark
from meshlens.checking.check import Diagnosed, check
from meshlens.checking.fixes import SAFE_AND_UNSAFE, plan
from meshlens.checking.model import Finding, Fix
from meshlens.project.notebooks.notebook import read_notebook
from meshlens.project.settings.configuration import configuration_in, read_configuration
from meshlens.project.settings.devices import target_of
from meshlens.project.settings.folder_versions import find_folder_versions
from meshlens.project.settings.jax_version import find_jax_version
from meshlens.project.workspace import Workspace, open_workspace
from meshlens.settings import Settings
from meshlens.text import Edit, FileEdit, LineIndex, Span, apply


@dataclass(frozen=True)
class Found:
    """A finding of a project: its file, the finding as a mark, and as it was diagnosed."""

    name: str
    mark: Mark
    diagnosed: Diagnosed

    @property
    def finding(self) -> Finding:
        """Returns what the rule reported."""
        return self.diagnosed.finding


@dataclass(frozen=True)
class Project:
    """The files of a case on disk.

    Attributes:
        root: the folder.
        sources: by name, the text of each Python file, and the script that each notebook is made from.
        settings: the settings in its configuration.
    """

    root: Path
    sources: Mapping[str, bytes]
    settings: Settings

    def path(self, name: str) -> Path:
        """Returns the path of a file of the project."""
        return self.root / name

    def name(self, path: Path) -> str:
        """Returns the name of a file in the project."""
        return path.relative_to(self.root).as_posix()

    def open(self, names: Sequence[str] | None = None) -> Workspace:
        """Returns the workspace from a cold start, with all files of the project or the named ones."""
        chosen = self.sources if names is None else names
        return open_workspace(
            [self.root],
            files=[self.path(name) for name in chosen],
            jax_version=find_jax_version(self.root, self.settings),
            devices=target_of(self.settings.devices, None),
            overlay={self.path(name): raw(name, source) for name, source in self.sources.items()},
        ).with_folder_versions(find_folder_versions(map(self.path, self.sources), self.root, self.settings))

    def typed(self, workspace: Workspace, name: str, source: bytes) -> Workspace:
        """Returns the workspace after a file has been given this text."""
        return workspace.with_file(self.path(name), raw(name, source))

    def found(self, workspace: Workspace) -> tuple[Found, ...]:
        """Returns all findings of the project in a workspace that holds its files."""
        return tuple(found for name in sorted(self.sources) for found in self._of_file(workspace, name))

    def _of_file(self, workspace: Workspace, name: str) -> Iterator[Found]:
        for diagnosed in check(workspace.view(self.path(name)), self.settings):
            yield Found(name, mark_of(name, self.sources[name], diagnosed), diagnosed)


def write(case: Case, root: Path) -> Project:
    """Writes the files of a case into a folder."""
    sources = {}
    for file in case.before:
        path = root / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw(file.name, file.text.encode()))
        if path.suffix in (".py", ".ipynb"):
            sources[file.name] = file.text.encode()
    if case.settings:
        own = root / "meshlens.toml"
        given = own.read_text("utf-8") if own.exists() else ""
        own.write_text("".join(f"{key} = {_toml(value)}\n" for key, value in case.settings) + given, "utf-8")
    configuration = read_configuration(configuration_in(root))
    assert not configuration.errors, configuration.errors
    return Project(root, sources, configuration.settings)


def _toml(value: str) -> str:
    return value if value.isdigit() or value[0] in "[{" else json.dumps(value)


def raw(name: str, source: bytes) -> bytes:
    """Returns the bytes of a file on disk: a notebook made from its script, anything else unchanged."""
    if not name.endswith(".ipynb"):
        return source
    cells = [_cell(kind, text.decode().removesuffix("\n")) for kind, _, text in script_cells(source)]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


def _cell(kind: str, text: str) -> dict[str, object]:
    code: dict[str, object] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True), **code}


def script_cells(script: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Yields the cells that a script with `# %%` lines stands for: kind, where the text begins, text."""
    head, at = b"", 0
    for is_head, lines in groupby(script.splitlines(keepends=True), key=lambda line: line.startswith(b"# %%")):
        block = list(lines)
        if is_head:
            for line in block[:-1]:
                yield "markdown" if b"[markdown]" in line else "code", at + len(line), b""
            head = block[-1]
        elif head:
            yield "markdown" if b"[markdown]" in head else "code", at, b"".join(block)
        at += sum(map(len, block))


def script_span(name: str, source: bytes, span: Span) -> Span:
    """Returns where a span of the analyzed text is in the file's own text, which differs only for notebooks."""
    if not name.endswith(".ipynb"):
        return span
    starts = [at for kind, at, _ in script_cells(source) if kind == "code"]
    for cell, start in zip(read_notebook(raw(name, source)).cells, starts, strict=True):
        if cell.span.contains(span):
            return Span(span.start - cell.span.start + start, span.end - cell.span.start + start)
    raise ValueError(f"{span} lies in no cell")


def analysed_offset(name: str, source: bytes, offset: int) -> int:
    """Returns where an offset of the file's own text is in the analyzed text, which differs only for notebooks."""
    if not name.endswith(".ipynb"):
        return offset
    starts = [at for kind, at, _ in script_cells(source) if kind == "code"]
    cells = read_notebook(raw(name, source)).cells
    cell, start = [pair for pair in zip(cells, starts, strict=True) if pair[1] <= offset][-1]
    return cell.span.start + offset - start


def mark_of(name: str, source: bytes, diagnosed: Diagnosed) -> Mark:
    """Returns a finding as the case language writes it."""
    span = script_span(name, source, diagnosed.finding.span)
    lines = LineIndex(source)
    line, start = lines.position(span.start)
    last, end = lines.position(span.end)
    if last > line:
        end = len(lines.line_text(line).decode())
    return Mark(line, start, max(end, start + 1, 2), diagnosed.code, diagnosed.finding.message, last > line)


def marked(files: Iterable[File], found: Iterable[Found]) -> tuple[File, ...]:
    """Returns the files with the marks that were actually found."""
    by_name: dict[str, list[Mark]] = {}
    for item in found:
        by_name.setdefault(item.name, []).append(item.mark)
    return tuple(replace(file, marks=tuple(sorted(by_name.get(file.name, ())))) for file in files)


def with_fix(project: Project, fix: Fix) -> Project:
    """Returns the project after one fix, whose edits must not overlap."""
    return with_file_edits(project, fix.edits)


def with_file_edits(project: Project, file_edits: Iterable[FileEdit]) -> Project:
    """Returns the project after edits of its files, which must not overlap."""
    edits: dict[str, list[Edit]] = {}
    for edit in file_edits:
        edits.setdefault(project.name(edit.path), []).append(edit.edit)
    return _with_edits(project, edits)


def with_first_fixes(project: Project, found: Iterable[Found]) -> Project:
    """Returns the project after the first fix of every finding, as far as the fixes can be applied together."""
    first = [
        replace(item.diagnosed, finding=replace(item.finding, fixes=item.finding.fixes[:1]))
        for item in found
        if item.finding.fixes
    ]
    chosen = plan(first, SAFE_AND_UNSAFE | {"suggestion"}, [project.path(name) for name in project.sources])
    return _with_edits(project, {project.name(path): list(edits) for path, edits in chosen.edits.items()})


def _with_edits(project: Project, edits: Mapping[str, list[Edit]]) -> Project:
    changed = {}
    for name, wanted in edits.items():
        source = project.sources[name]
        changed[name] = apply(source, [Edit(script_span(name, source, edit.span), edit.text) for edit in wanted])
    return replace(project, sources={**project.sources, **changed})


def counted(found: Iterable[Found]) -> Counter[tuple[str, str]]:
    """Returns how many findings of each code each file has."""
    return Counter((item.name, item.mark.code) for item in found)
