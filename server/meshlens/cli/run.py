"""One run of `check`: from a request to a report, using caches if nothing has changed."""

from __future__ import annotations

import gc
import logging
import os
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshlens.caches.folder import Cache, OpenCache
from meshlens.cli.printing.progress import Progress
from meshlens.cli.request import Group, Request
from meshlens.project.settings.configuration import is_project
from meshlens.settings import spell_version

if TYPE_CHECKING:
    from meshlens.checking.model import Safety
    from meshlens.cli.checking import Checked
    from meshlens.cli.fixing import Repaired
    from meshlens.cli.printing.report import Report, Reported, Unparsed

_WORTH_CACHING = 20
# The rules of this family check code against the history of JAX.
_MOST_TOLD = 3
_HISTORY = "AX5"
_log = logging.getLogger("meshlens")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The report of a run, and its repairs.

    Attributes:
        report: the remaining findings.
        repaired: the repairs, group by group; empty if not requested.
    """

    report: Report
    repaired: tuple[Repaired, ...] = ()

    @property
    def contents(self) -> Mapping[Path, bytes]:
        """Returns the new bytes of every file that the repairs change."""
        return {path: content for one in self.repaired for path, content in one.contents.items()}


def no_cache(project: Path) -> None:
    """Returns None, to disable caches."""


def _cache(group: Group, open_cache: OpenCache) -> Cache | None:
    """Returns the cache of a group; None for loose files or text that is not on disk."""
    if group.texts or (len(group.files) <= _WORTH_CACHING and not is_project(group.root)):
        return None
    return open_cache(group.root)


def run(request: Request, safeties: Collection[Safety], bar: Progress, open_cache: OpenCache) -> Outcome:
    """Checks every group of a request, with garbage collection disabled because the process is short-lived.

    Args:
        request: the request.
        safeties: the safety levels of the fixes to apply; none for a plain check.
        bar: the progress bar.
        open_cache: returns the caches of a project.
    """
    from meshlens.cli.printing.report import Report, in_order
    from meshlens.cli.printing.sources import line_reader

    gc.disable()
    _log.debug("%d files to check", sum(len(group.files) for group in request.groups))
    findings: list[Reported] = []
    problems: list[str] = list(request.errors)
    failures: list[str] = []
    fixed: Counter[str] = Counter()
    unparsed: list[Unparsed] = []
    unread = 0
    elsewhere: list[str] = []
    repaired: list[Repaired] = []
    texts: dict[Path, bytes] = {}
    for group in request.groups:
        texts.update(group.texts)
        try:
            if safeties:
                one = _repair(group, safeties, bar, _cache(group, open_cache))
                repaired.append(one)
                fixed.update(one.fixed)
                texts.update(one.contents)
                findings += _reported(one)
                problems += [*one.checked.problems, *one.problems]
                failures += one.checked.failures
                unparsed += one.checked.unparsed
                unread += one.checked.unread
            else:
                checked = _check(group, bar, _cache(group, open_cache))
                findings += checked.found
                problems += checked.problems
                failures += checked.failures
                unparsed += checked.unparsed
                unread += checked.unread
                elsewhere += checked.elsewhere
        except Exception as error:  # One project must not affect the others.
            from meshlens.cli.request import shown
            from meshlens.project.failures import failure_of

            unread += len(group.files)
            failures.append(failure_of(str(group.root), "checking this project", error).line(shown(group.root)))
    files = sum(len(group.files) for group in request.groups)
    report = Report(
        in_order(findings),
        files,
        line_reader(texts),
        dict(fixed),
        tuple(problems),
        failures=tuple(failures),
        notes=(*_left_out(elsewhere), *_assumed(request.groups, findings)),
        unread=unread,
        unparsed=tuple(sorted(unparsed, key=lambda one: one.path)),
    )
    return Outcome(report, tuple(repaired))


def _left_out(elsewhere: Sequence[str]) -> Iterator[str]:
    """Yields a note about findings in files that the program reaches through those that were checked."""
    if elsewhere:
        more = ", …" if len(elsewhere) > _MOST_TOLD else ""
        yield f"Found in files that were not checked: {', '.join(elsewhere[:_MOST_TOLD])}{more}."


def _assumed(groups: Sequence[Group], findings: Sequence[Reported]) -> Iterator[str]:
    """Yields a note if findings about removed APIs depend on a version of JAX that nothing sets."""
    assumed = {str(group.root): group.jax for group in groups if group.jax.is_assumed}
    told = [one.place.path for one in findings if one.code.startswith(_HISTORY)]
    for root, jax in assumed.items():
        if any(path.startswith(root + os.sep) for path in told):
            yield f'No JAX version was found; {spell_version(jax.version)} is assumed. Set "jax-version" to change it.'
            return


@dataclass(frozen=True, slots=True)
class _Found:
    """The results for one group, computed or stored.

    Attributes:
        found: the findings.
        unparsed: the checked files that have syntax errors.
        problems: one line for each file that could not be read.
        failures: one line for each internal error.
        unread: the number of files that could not be read at all.
        elsewhere: findings in files that the checked ones import, such as "sync.py:8:64 AX101".
    """

    found: tuple[Reported, ...]
    unparsed: tuple[Unparsed, ...]
    problems: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    unread: int = 0
    elsewhere: tuple[str, ...] = ()


def _stored(data: Any) -> _Found:
    from meshlens.cli.printing.report import unpacked, unparsed_in

    found, unparsed, elsewhere = data
    return _Found(unpacked(found), unparsed_in(unparsed), elsewhere=tuple(elsewhere))


def _check(group: Group, bar: Progress, cache: Cache | None) -> _Found:
    from meshlens.project.disk.results import ResultsCache, question

    started = time.time_ns()
    others = tuple(map(str, group.others))
    asked = question(group.settings, group.folder_versions, str(group.root), tuple(map(str, group.files)), others)
    results = ResultsCache(cache) if cache is not None else None
    if results is not None:
        known = results.get(asked, map(str, group.files), _stored)
        if known is not None:
            return known
    from meshlens.cli.checking import found_elsewhere, reported
    from meshlens.cli.printing.report import packed

    checked = _checked(group, bar, cache)
    workspace = checked.workspace
    found = tuple(reported(workspace, checked.found))
    elsewhere = tuple([_in_short(one) for one in reported(workspace, tuple(found_elsewhere(checked, group)))])
    if results is not None and not checked.problems and not checked.failures:
        results.put(asked, tuple({*workspace.files, *others}), (packed(found), checked.unparsed, elsewhere), started)
    return _Found(found, checked.unparsed, checked.problems, checked.failures, checked.unread, elsewhere)


def _in_short(one: Reported) -> str:
    from meshlens.cli.request import shown

    line, column = one.place.start
    return f"{shown(Path(one.place.path))}:{line}:{column} {one.code}"


def _repair(group: Group, safeties: Collection[Safety], bar: Progress, cache: Cache | None) -> Repaired:
    from meshlens.cli.fixing import repair

    return repair(_checked(group, bar, cache), group, safeties, bar)


def _checked(group: Group, bar: Progress, cache: Cache | None) -> Checked:
    """Checks a group; if that fails with the cache, which should be impossible, checks again without it."""
    from meshlens.cli.checking import check_workspace, open_group

    try:
        return check_workspace(open_group(group, bar, cache), group, bar)
    except Exception:
        if cache is None:
            raise
        _log.info("the run failed; trying again without the cache", exc_info=True)
        return check_workspace(open_group(group, bar, None), group, bar)


def _reported(repaired: Repaired) -> Iterator[Reported]:
    from meshlens.cli.checking import reported

    yield from reported(repaired.checked.workspace, repaired.checked.found)
