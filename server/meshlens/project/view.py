"""The view of one file for a rule, an assist or an editor feature: a view of an immutable workspace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import Records
from meshlens.devices.report import Report
from meshlens.facts.model import FileFacts
from meshlens.project.settings.devices import Devices, devices_for
from meshlens.project.settings.jax_folders import version_in
from meshlens.project.solving.solution import Solution
from meshlens.project.writing.drafts import NO_DRAFT, Draft
from meshlens.text import LineIndex, Span


@dataclass(frozen=True, slots=True)
class FileView:
    """One file of a workspace, with everything that was found out about it.

    Attributes:
        solution: what runs where in the whole workspace.
        path: absolute path.
        source: the file's bytes; for a notebook its cells joined.
        lines: its lines and columns.
        facts: its facts.
        texts: the sources of all files by path.
        detected: what a probe found of the devices that there are.
        draft: what is going to be written into the file.
    """

    solution: Solution
    path: Path
    source: bytes
    lines: LineIndex
    facts: FileFacts
    texts: Mapping[str, bytes]
    detected: Report | None = None
    draft: Draft = NO_DRAFT

    @property
    def records(self) -> Records:
        """The records whose place lies in this file, of all routes through the workspace."""
        return self.solution.by_file.get(str(self.path)) or Records()

    @property
    def jax_version(self) -> tuple[int, ...]:
        """The JAX version that this file is written for: (0, 10, 2)."""
        return version_in(str(self.path), self.solution.assumed.jax_folders, self.solution.assumed.jax_version)

    @property
    def devices(self) -> Devices:
        """The devices that the code is meant for, and those that there are."""
        return devices_for(self.facts, self.solution.assumed.devices, self.detected)

    @property
    def device_count(self) -> int | None:
        """How many devices the code is meant for; None if nobody said."""
        return self.devices.count

    def span(self, site: Site) -> Span:
        """Returns where a site lies; of a site in another file, in that file."""
        return self.solution.facts[site.path].span(site.block, site.index)

    def is_here(self, site: Site | None) -> bool:
        """Returns whether a site lies in this file."""
        return site is not None and site.path == str(self.path)

    def text(self, site: Site) -> str:
        """The source text of a site, of this file or another."""
        span = self.span(site)
        return self.texts[site.path][span.start : span.end].decode("utf-8", "replace")

    def path_of(self, site: Site) -> Path:
        """The file of a site."""
        return Path(site.path)
