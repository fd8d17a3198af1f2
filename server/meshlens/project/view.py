"""The view of one file in an immutable workspace, for a rule, an assist or an editor feature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import Records
from meshlens.devices.report import Report
from meshlens.facts.model import FileFacts
from meshlens.project.settings.devices import Devices, devices_for
from meshlens.project.settings.folder_versions import version_in
from meshlens.project.settings.jax_version import JAX
from meshlens.project.solving.solution import Solution
from meshlens.project.writing.drafts import NO_DRAFT, Draft
from meshlens.text import LineIndex, Span


@dataclass(frozen=True, slots=True)
class FileView:
    """A file of a workspace, with the solution of the whole workspace.

    Attributes:
        solution: the solution of the whole workspace.
        path: the absolute path of the file.
        source: the file's bytes; for a notebook its cells joined.
        lines: its lines and columns.
        facts: its facts.
        texts: the sources of all files by path.
        detected: the detected devices.
        defaults: returns the solution if nobody passes options to the programs; None if none of them reads any.
        draft: the edits that will be made in the file.
    """

    solution: Solution
    path: Path
    source: bytes
    lines: LineIndex
    facts: FileFacts
    texts: Mapping[str, bytes]
    detected: Report | None = None
    defaults: Callable[[], Solution | None] | None = None
    draft: Draft = NO_DRAFT

    @property
    def records(self) -> Records:
        """Returns the records located in this file, from all routes through the workspace."""
        return self.solution.by_file.get(str(self.path)) or Records()

    @property
    def jax_version(self) -> tuple[int, ...]:
        """Returns the JAX version that this file is written for, such as (0, 10, 2)."""
        return version_in(str(self.path), JAX, self.solution.assumed.folder_versions, self.solution.assumed.jax_version)

    @property
    def devices(self) -> Devices:
        """Returns the target devices and the detected devices."""
        return devices_for(self.facts, self.solution.assumed.devices, self.detected)

    @property
    def device_count(self) -> int | None:
        """Returns the number of target devices; None if not set."""
        return self.devices.count

    def span(self, site: Site) -> Span:
        """Returns the span of a site in its own file."""
        return self.solution.facts[site.path].span(site.block, site.index)

    def is_here(self, site: Site | None) -> bool:
        """Returns whether a site is in this file."""
        return site is not None and site.path == str(self.path)

    def text(self, site: Site) -> str:
        """Returns the source of a site, in this file or another."""
        span = self.span(site)
        return self.texts[site.path][span.start : span.end].decode("utf-8", "replace")

    def path_of(self, site: Site) -> Path:
        """Returns the file of a site."""
        return Path(site.path)
