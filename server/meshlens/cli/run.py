"""One run of `check`: from a request to a report, through the caches where nothing has changed."""

from __future__ import annotations

import gc
import logging
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from meshlens.cache_files import FOLDER
from meshlens.cli.progress import Progress
from meshlens.cli.request import Group, Request
from meshlens.project.configuration import is_project

if TYPE_CHECKING:
    from meshlens.cli.fixing import Repaired
    from meshlens.cli.report import Report, Reported
    from meshlens.rules._model import Safety

_WORTH_CACHING = 20
_log = logging.getLogger("meshlens")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run has to say, and what it would change.

    Attributes:
        report: the findings that are left.
        repaired: the repairs, group by group; empty where none were asked for.
    """

    report: Report
    repaired: tuple[Repaired, ...] = ()

    @property
    def contents(self) -> Mapping[Path, bytes]:
        """The new bytes of every file that the repairs change."""
        return {path: content for one in self.repaired for path, content in one.contents.items()}


def cache_folder(group: Group) -> Path | None:
    """Where facts and results of a group are kept: in its project, but not beside a few loose files."""
    if len(group.files) > _WORTH_CACHING or is_project(group.root):
        return group.root / FOLDER
    return None


def run(request: Request, safeties: Collection[Safety], bar: Progress, *, cached: bool) -> Outcome:
    """Checks every group of a request, without garbage collection: the process is short and its objects live long.

    Args:
        request: what to check.
        safeties: which fixes to work out; none for a plain check.
        bar: shows how far it has come.
        cached: whether the caches may be used.
    """
    from meshlens.cli.report import Report, in_order
    from meshlens.cli.sources import line_reader

    gc.disable()
    _log.debug("%d files to check", sum(len(group.files) for group in request.groups))
    findings: list[Reported] = []
    problems: list[str] = list(request.errors)
    failures: list[str] = []
    fixed: Counter[str] = Counter()
    repaired: list[Repaired] = []
    texts: dict[Path, bytes] = {}
    for group in request.groups:
        texts.update(group.texts)
        try:
            if safeties:
                one = _repair(group, safeties, bar, cached=cached)
                repaired.append(one)
                fixed.update(one.fixed)
                texts.update(one.contents)
                findings += _reported(one)
                problems += [*one.checked.problems, *one.problems]
                failures += one.checked.failures
            else:
                found, wrong, failed = _check(group, bar, cached=cached)
                findings += found
                problems += wrong
                failures += failed
        except Exception as error:  # one project must not cost the others
            from meshlens.cli.request import shown
            from meshlens.project.failures import failure_of

            failures.append(failure_of(str(group.root), "checking this project", error).line(shown(group.root)))
    files = sum(len(group.files) for group in request.groups)
    report = Report(
        in_order(findings), files, line_reader(texts), dict(fixed), tuple(problems), failures=tuple(failures)
    )
    return Outcome(report, tuple(repaired))


def _check(
    group: Group, bar: Progress, *, cached: bool
) -> tuple[tuple[Reported, ...], tuple[str, ...], tuple[str, ...]]:
    """What is found, and one line for each problem and each fault of ours."""
    from meshlens.project.results import ResultsCache, question

    started = time.time_ns()
    folder = cache_folder(group) if cached and not group.texts else None
    asked = question(group.settings, group.jax_folders, str(group.root), tuple(map(str, group.files)))
    results = ResultsCache(folder) if folder is not None else None
    if results is not None and (known := results.get(asked)) is not None:
        from meshlens.cli.report import unpacked

        return unpacked(known), (), ()
    from meshlens.cli.checking import check_workspace, open_group, reported
    from meshlens.cli.report import packed

    workspace = open_group(group, bar, folder)
    checked = check_workspace(workspace, group, bar)
    found = tuple(reported(workspace, checked.found))
    if results is not None and not checked.problems and not checked.failures:
        results.put(asked, tuple(workspace.files), packed(found), started)
    return found, checked.problems, checked.failures


def _repair(group: Group, safeties: Collection[Safety], bar: Progress, *, cached: bool) -> Repaired:
    from meshlens.cli.checking import check_workspace, open_group
    from meshlens.cli.fixing import repair

    workspace = open_group(group, bar, cache_folder(group) if cached and not group.texts else None)
    return repair(check_workspace(workspace, group, bar), group, safeties, bar)


def _reported(repaired: Repaired) -> Iterator[Reported]:
    from meshlens.cli.checking import reported

    yield from reported(repaired.checked.workspace, repaired.checked.found)
