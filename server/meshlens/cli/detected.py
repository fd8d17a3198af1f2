"""The devices that are here, for a project that is meant for them: `devices = "detected"`."""

from __future__ import annotations

from pathlib import Path

from meshlens.cache_files import FOLDER
from meshlens.devices.interpreters import Wishes, choose_interpreter
from meshlens.devices.reports import report_of
from meshlens.devices.runner import Question
from meshlens.devices.topology import Topology
from meshlens.project.configuration import is_project
from meshlens.project.devices import target_of
from meshlens.settings import Settings


def detected_devices(root: Path, settings: Settings) -> tuple[Topology | None, str | None]:
    """The devices that the JAX of a project has, or a sentence that says why they are not known.

    Args:
        root: the folder of the project.
        settings: its settings, which may name its Python.
    """
    chosen = choose_interpreter(root, Wishes(settings.interpreter, settings.folder))
    if chosen is None:
        return None, 'devices = "detected": no Python was found for this folder; set "interpreter" to one that has JAX'
    report = report_of(Question(chosen.path), root / FOLDER if is_project(root) else None)
    target = target_of("detected", report)
    if target is None:
        return None, f'devices = "detected": {report.failure or "JAX was not asked"}'
    return target, None
