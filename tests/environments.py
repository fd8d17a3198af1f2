"""The axis environments of functions, taken from the records of a workspace, for the `# axes:` marks of cases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from dsl import Axes, File
from meshlens.axes.domain.values import Site
from meshlens.axes.runs.context import AxisEnv, Context
from meshlens.axes.runs.records import Records
from meshlens.project.view import FileView
from meshlens.project.workspace import Workspace
from projects import Project

_DEF = re.compile(rb"^\s*(async\s+def|def)\b")


def marked(files: tuple[File, ...], project: Project, workspace: Workspace) -> tuple[File, ...]:
    """Returns the files with the `# axes:` marks that the workspace implies."""
    if not any(file.axes for file in files):
        return files
    by_site: dict[Site, set[str]] = {}
    for name in project.sources:
        for context in _contexts(workspace.view(project.path(name)).records):
            for site, env in _entered(context):
                by_site.setdefault(site, set()).add(written(env))
    return tuple(
        _of_file(file, workspace.view(project.path(file.name)), by_site) if file.axes else file for file in files
    )


def written(env: AxisEnv) -> str:
    """Returns an environment as a mark spells it."""
    return ", ".join([*env.names, *(["?"] if env.open else [])]) or "none"


def _contexts(records: Records) -> Iterator[Context]:
    for kind in (
        records.uses,
        records.calls,
        records.bindings,
        records.mapped_calls,
        records.random_uses,
    ):
        for record in kind:
            yield record.context


def _entered(context: Context) -> Iterator[tuple[Site, AxisEnv]]:
    if context.function is not None:
        yield context.function, context.env
    for step in context.route:
        if step.function is not None:
            yield step.function, step.env


def _of_file(file: File, view: FileView, by_site: dict[Site, set[str]]) -> File:
    by_line: dict[int, set[str]] = {}
    for site, environments in by_site.items():
        if view.is_here(site):
            by_line.setdefault(_def_line(view, view.span(site).start), set()).update(environments)
    return replace(file, axes=tuple(Axes(axes.line, frozenset(by_line.get(axes.line, ()))) for axes in file.axes))


def _def_line(view: FileView, start: int) -> int:
    line = view.lines.line_of(start)
    while line < len(view.lines.starts) - 1 and not _DEF.match(view.lines.line_text(line)):
        line += 1
    return line
