"""The workspace: the known files as an immutable value, and its solution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from meshlens.caches.folder import Cache
from meshlens.devices.report import Report
from meshlens.devices.topology import Topology, parse_topology
from meshlens.facts.editing.reading import read_again, resume, whole_edit
from meshlens.foreign_files import Unread
from meshlens.jaxapi.changes import SETTLED
from meshlens.project.disk.cache import FactsCache
from meshlens.project.disk.python_text import read_source, utf8
from meshlens.project.disk.source_files import SourceFile, read_all, read_file
from meshlens.project.modules import ModuleIndex
from meshlens.project.settings.folder_versions import FolderVersions
from meshlens.project.solving.default_options import roots_with_options, with_default_options
from meshlens.project.solving.resolving import solve_again
from meshlens.project.solving.room import enough_room
from meshlens.project.solving.solution import Assumed, Focus, Solution, solve
from meshlens.project.texts import Texts
from meshlens.project.view import FileView
from meshlens.text import Edit, LineIndex


@dataclass(frozen=True)
class Workspace:
    """An immutable workspace; changes create a new one that shares all unaffected data.

    Attributes:
        roots: folders that imports are resolved from.
        files: the files by absolute path, in order.
        checked: the requested paths; the other files are imported by these.
        jax_version: the version that the project uses.
        devices: the target devices; None if not set.
        detected: the detected devices, which do not affect the solution.
        problems: files that could not be read, and why.
        focus: the part that is run; None for everything.
        folder_versions: the versions of libraries that folders set for their files.
        by_default: whether nobody passes options to the programs.
    """

    roots: tuple[Path, ...]
    files: Mapping[str, SourceFile]
    checked: tuple[Path, ...]
    jax_version: tuple[int, ...]
    devices: Topology | None
    problems: tuple[tuple[Path, str], ...] = ()
    focus: Focus | None = None
    folder_versions: FolderVersions = ()
    detected: Report | None = None
    by_default: bool = False
    _memory: dict[str, Solution] = field(default_factory=dict, repr=False, compare=False)
    _asked: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    _changed: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    _beside: dict[str, Workspace] = field(default_factory=dict, repr=False, compare=False)

    @property
    def solution(self) -> Solution:
        """Returns the solution of the workspace, computed on first use."""
        known = self._memory.get("now")
        if known is None:
            with enough_room():
                known = self._memory["now"] = self._solved_again() or self._solved()
            self._memory.pop("before", None)
        return known

    def _solved_again(self) -> Solution | None:
        before = self._memory.get("before")
        if before is None or not self._has_files_of(before):
            return None
        facts = {**before.facts, **{path: self.files[path].facts for path in self._changed}}
        return solve_again(before, facts, self._changed)

    def _solved(self) -> Solution:
        facts = {path: file.facts for path, file in self.files.items()}
        # Nothing else holds the previous solution, so `solve` can free it.
        return solve(facts, self._index(), self._assumed, self._memory.pop("before", None), self._changed)

    @property
    def _assumed(self) -> Assumed:
        return Assumed(self.devices, self.jax_version, self.folder_versions, self.focus, self.by_default)

    def _has_files_of(self, before: Solution) -> bool:
        same = len(before.facts) == len(self.files) and self._changed <= before.facts.keys()
        return same and before.assumed == self._assumed

    def with_folder_versions(self, folder_versions: FolderVersions) -> Workspace:
        """Returns the workspace with the given versions of libraries in its folders."""
        return replace(self, folder_versions=folder_versions, _memory={}, _beside={})

    def _index(self) -> ModuleIndex:
        before = self._memory.get("before")
        if before is not None and before.index is not None and before.paths == frozenset(self.files):
            return before.index
        return ModuleIndex(self.files, [str(root) for root in self.roots])

    def view(self, path: Path) -> FileView:
        """Returns the view of one file.

        Raises:
            KeyError: the file is not in the workspace.
        """
        file = self.files[str(path)]
        lines, texts = LineIndex(file.source), Texts(self.files)
        return FileView(self.solution, file.path, file.source, lines, file.facts, texts, self.detected, self._defaults)

    def _defaults(self) -> Solution | None:
        """Returns the solution if nobody passes options to the programs; None if none of them reads any."""
        known = self._memory.get("defaults")
        if known is None:
            known = self._memory["defaults"] = self._solved_by_default()
        return known if known is not self.solution else None

    def _solved_by_default(self) -> Solution:
        """Returns the solution if nobody passes options to the programs; the usual one if none of them reads any."""
        roots = roots_with_options(self.solution) if not self.by_default else frozenset()
        if not roots:
            return self.solution
        beside = self._beside.get("defaults") or replace(self, by_default=True, _memory={}, _beside={})
        beside = self._beside["defaults"] = beside.with_focus(Focus(frozenset(), roots))
        return with_default_options(self.solution, beside.solution)

    def with_file(self, path: Path, raw: bytes) -> Workspace:
        """Returns the workspace with new text for one file.

        Raises:
            ValueError: the notebook is invalid.
        """
        return self._with({path: self._read(path, raw)}, (path,))

    def with_files(self, raws: Mapping[Path, bytes]) -> Workspace:
        """Returns the workspace with new or changed files, given by their bytes, skipping invalid notebooks."""
        read: dict[Path, SourceFile] = {}
        for path, raw in raws.items():
            with suppress(ValueError):
                read[path] = self._read(path, raw)
        return self._with(read, read)

    def with_read(self, files: Mapping[Path, SourceFile]) -> Workspace:
        """Returns the workspace with new or changed files that were read elsewhere."""
        return self._with(files, files) if files else self

    def with_edits(self, path: Path, edits: Sequence[Edit]) -> Workspace:
        """Returns the workspace after edits to one file, which from then on keeps its syntax tree.

        Args:
            path: the file.
            edits: successive edits: each span refers to the text after the previous edits.

        Raises:
            KeyError: the file is not in the workspace.
            ValueError: an edit is outside the text, or a notebook is invalid.
        """
        file = self.files[str(path)]
        if file.notebook is not None:
            return self.with_file(path, edited_text(file.raw, edits))
        try:
            reading = read_again(file.reading or resume(file.source, file.facts), edits)
        except ValueError:
            raise
        except Exception:
            # An internal error must not leave us with a text that differs from the editor's.
            return self._with({path: read_file(path, edited_text(file.source, edits))}, ())
        return self._with({path: SourceFile(path, reading.source, reading.source, reading.facts, None, reading)}, ())

    def with_closed(self, path: Path) -> Workspace:
        """Returns the workspace without the syntax tree of a file that is no longer being edited."""
        file = self.files.get(str(path))
        if file is None or file.reading is None:
            return self
        return replace(self, files={**self.files, str(path): replace(file, reading=None)})

    def looked_back_at(self, path: Path) -> Workspace:
        """Returns this workspace without results that views of one file do not need after the file has changed."""
        now = self._memory.get("now")
        if now is None:
            return self
        return replace(self.with_closed(path), _memory={"now": now.looked_back_at(str(path))})

    def forget_checked(self, path: Path) -> None:
        """Forgets the findings of a file that is no longer shown."""
        for solution in self._memory.values():
            for key in [key for key in solution.checked if key[0] == path]:
                del solution.checked[key]

    def with_focus(self, focus: Focus | None) -> Workspace:
        """Returns the workspace with the same files and a different part to run."""
        if focus == self.focus:
            return self
        return replace(self._next(self.files, self.checked, frozenset()), focus=focus, _beside={})

    def with_devices(self, devices: Topology | None, detected: Report | None) -> Workspace:
        """Returns the workspace with the same files and these target and detected devices."""
        if devices == self.devices:
            return replace(self, detected=detected)
        following = self._next(self.files, self.checked, frozenset())
        return replace(following, devices=devices, detected=detected, _beside={})

    def without_file(self, path: Path) -> Workspace:
        """Returns the workspace without a file."""
        return self.without_files([path])

    def without_files(self, paths: Iterable[Path]) -> Workspace:
        """Returns the workspace without the given files."""
        gone = frozenset(path for path in map(str, paths) if path in self.files)
        if not gone:
            return self
        files = {known: file for known, file in self.files.items() if known not in gone}
        checked = tuple(one for one in self.checked if str(one) not in gone)
        return self._next(files, checked, gone)

    def _read(self, path: Path, raw: bytes) -> SourceFile:
        before = self.files.get(str(path))
        if before is None or before.reading is None:
            return read_file(path, raw)
        edit = whole_edit(before.source, raw)
        reading = read_again(before.reading, [edit]) if edit is not None else None
        if reading is None or reading.source != raw:
            return read_file(path, raw)
        return SourceFile(path, raw, raw, reading.facts, None, reading)

    def _with(self, changed: Mapping[Path, SourceFile], asked: Iterable[Path]) -> Workspace:
        named = {str(path): file for path, file in changed.items()}
        new = [path for path in asked if str(path) not in self._asked and path not in self.checked]
        checked = (*self.checked, *new) if new else self.checked
        files = {**self.files, **named}
        if len(files) != len(self.files):
            files = dict(sorted(files.items()))
        return self._next(files, checked, frozenset(named))

    def _next(self, files: Mapping[str, SourceFile], checked: tuple[Path, ...], changed: frozenset[str]) -> Workspace:
        now = self._memory.get("now")
        before = now or self._memory.get("before")
        return replace(
            self,
            files=files,
            checked=checked,
            _memory={"before": before} if before is not None else {},
            _asked=self._asked if checked is self.checked and self._asked else frozenset(map(str, checked)),
            _changed=changed if now is not None else changed | self._changed,
            _beside={name: one._next(files, checked, changed) for name, one in self._beside.items()},
        )


def edited_text(text: bytes, edits: Sequence[Edit]) -> bytes:
    """Returns a text after successive edits."""
    for edit in edits:
        text = b"".join((text[: edit.span.start], edit.text.encode("utf-8", "replace"), text[edit.span.end :]))
    return text


def open_workspace(
    roots: Sequence[Path],
    *,
    files: Sequence[Path],
    jax_version: tuple[int, ...] | None = None,
    devices: Topology | int | None = None,
    overlay: Mapping[Path, bytes] | None = None,
    cache: Cache | None = None,
) -> Workspace:
    """Reads files into a workspace.

    Args:
        roots: folders that imports are resolved from.
        files: the files to check.
        jax_version: the version that the project uses; `SETTLED` by default.
        devices: the target devices, or their number.
        overlay: texts that replace those on disk.
        cache: the cache of facts between runs, or None.
    """
    kept = FactsCache(cache) if cache is not None else None
    given = {path.absolute(): raw for path, raw in (overlay or {}).items()}
    raws: dict[Path, bytes] = {}
    problems: list[tuple[Path, str]] = []
    for path in [path.absolute() for path in files]:
        raw = utf8(given[path]) if path in given else read_source(path)
        if isinstance(raw, Unread):
            problems.append((path, raw.message))
        else:
            raws[path] = raw
    read, broken = read_all(raws, kept)
    problems += broken
    if kept is not None:
        kept.save()
        kept.close()
    checked = tuple(path.absolute() for path in files)
    return Workspace(
        tuple(root.absolute() for root in roots),
        dict(sorted(read.items())),
        tuple(path for path in checked if str(path) in read),
        jax_version or SETTLED,
        parse_topology(devices) if isinstance(devices, int) else devices,
        tuple(problems),
    )
