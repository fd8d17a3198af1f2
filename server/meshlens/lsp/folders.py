"""An editor's project: its configuration, settings and workspace."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from meshlens.project.disk.patterns import matches
from meshlens.project.settings.configuration import Configuration, find_configuration, project_root, read_configuration
from meshlens.project.settings.devices import target_of
from meshlens.project.settings.folder_versions import FolderVersions, library_versions
from meshlens.project.settings.jax_version import JaxVersion, default_jax_version, locate_jax_version
from meshlens.project.workspace import Workspace, open_workspace
from meshlens.settings import EDITOR_GROUPS, BadSetting, EditorSettings, Settings, parse, parse_editor

_GROUPS = tuple(group.replace("_", "-") for group in EDITOR_GROUPS)
CLIENTS_OWN = frozenset({"enable", "path", "import-strategy", "trace", "show-notifications", "log-level"})
"""Keys of editor settings that only the extension uses, not the server."""


@dataclass(frozen=True, slots=True)
class Folder:
    """One project.

    Attributes:
        root: the folder.
        configuration: the contents of its configuration file.
        settings: the configuration with the editor's settings.
        jax: the version of JAX and its origin.
        workspace: the files that are loaded.
        revision: identifies a state of the project.
        small: whether the whole project is loaded; None before anything is loaded.
        features: the features that the editor wants.
    """

    root: Path
    configuration: Configuration
    settings: Settings
    jax: JaxVersion
    workspace: Workspace
    revision: int = 0
    small: bool | None = None
    features: EditorSettings = field(default_factory=EditorSettings)

    def excludes(self, path: Path) -> bool:
        """Returns whether the settings exclude a file."""
        if not self.settings.exclude or not path.is_relative_to(self.root):
            return False
        home = Path(self.settings.folder) if self.settings.folder else self.root
        return path.is_relative_to(home) and matches(self.settings.exclude, path.relative_to(home).as_posix())


def root_for(path: Path, given: tuple[Path, ...]) -> Path:
    """Returns the folder of the project that a file belongs to.

    Args:
        path: the file.
        given: the folders that the client has open.
    """
    found = find_configuration(path.parent)
    inside = [folder for folder in given if path.is_relative_to(folder)]
    nearest = max(inside, key=lambda folder: len(folder.parts), default=None)
    if found is not None and (nearest is None or found.parent.is_relative_to(nearest)):
        return found.parent
    return nearest or project_root(path)


def open_folder(
    root: Path, editor: Mapping[str, Any], interpreter: str | None = None, *, trusted: bool = True
) -> tuple[Folder, tuple[str, ...]]:
    """Returns a project without files, and one line for each invalid setting.

    Args:
        root: the folder.
        editor: the editor's settings by key, which override the configuration file.
        interpreter: the editor's Python.
        trusted: whether the settings may name a Python; even checking a path can be unsafe, as on a Windows share.
    """
    configuration = read_configuration(find_configuration(root), "")
    changes, errors = editor_settings(editor)
    settings = replace(configuration.settings, **changes)
    if "exclude" in changes:
        settings = replace(settings, exclude=configuration.settings.exclude + settings.exclude)
    if not trusted:
        settings = replace(settings, interpreter=None)
    jax = jax_version_of(root, settings, interpreter)
    workspace = open_workspace([root], files=[], jax_version=jax.version, devices=target_of(settings.devices, None))
    workspace = workspace.with_folder_versions(library_versions_of(root, settings, interpreter))
    features = editor_features(editor)
    return Folder(root, configuration, settings, jax, workspace, features=features), (*configuration.errors, *errors)


def jax_version_of(root: Path, settings: Settings, interpreter: str | None) -> JaxVersion:
    """Returns the JAX version that a project is checked against; by default that of the editor's Python."""
    return locate_jax_version(root, _with_interpreter(settings, interpreter)) or default_jax_version()


def library_versions_of(root: Path, settings: Settings, interpreter: str | None) -> FolderVersions:
    """Returns the versions of other libraries that a project is checked against, found like that of JAX."""
    return library_versions(root, _with_interpreter(settings, interpreter))


def _with_interpreter(settings: Settings, interpreter: str | None) -> Settings:
    return settings if settings.interpreter else replace(settings, interpreter=interpreter)


def editor_settings(editor: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns the editor's settings as fields, and the errors in them; empty values are ignored."""
    features = {entry.name for entry in fields(EditorSettings)}
    changes: dict[str, Any] = {}
    errors: list[str] = []
    for spelled, value in _flat(editor).items():
        name = spelled.replace("-", "_")
        if name in features or spelled in CLIENTS_OWN or value is None or value in ("", [], {}):
            continue
        try:
            changes[name] = parse(spelled, value)
        except BadSetting as error:
            errors.append(str(error))
    return changes, tuple(errors)


def editor_features(editor: Mapping[str, Any]) -> EditorSettings:
    """Returns the features that the editor wants; invalid values are ignored."""
    changes: dict[str, Any] = {}
    names = {entry.name for entry in fields(EditorSettings)}
    for spelled, value in _flat(editor).items():
        name = spelled.replace("-", "_")
        if name in names:
            with suppress(BadSetting):
                changes[name] = parse_editor(spelled, value)
    return EditorSettings(**changes)


def _flat(editor: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Returns settings by key, with the editor's spelling converted: `inlayHints.axes` becomes `inlay-hints-axes`."""
    found: dict[str, Any] = {}
    for key, value in editor.items():
        spelled = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in key).replace(".", "-")
        if isinstance(value, Mapping) and spelled in _GROUPS:
            found.update(_flat(value, f"{above}{spelled}-"))
        else:
            found[f"{above}{spelled}"] = value
    return found
