"""The device information sent to a client: the answer to `meshlens/devices`, and notifications of changes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from meshlens.devices.report import to_json
from meshlens.devices.topology import Topology, coordinates, describe
from meshlens.lsp.probing import Probing
from meshlens.lsp.session import Session
from meshlens.lsp.texts.documents import path_of, uri_of
from meshlens.project.settings.configuration import OWN_FILE
from meshlens.project.settings.devices import devices_for

DID_CHANGE = "meshlens/devicesDidChange"
_MOST_COORDINATES = 4096


def begin_probing(session: Session, options: Mapping[str, Any]) -> Probing:
    """Returns the prober of a session's devices.

    Args:
        session: the session.
        options: the options of `initialize`: `trusted`, true by default (any value other than true means false);
            `interpreter`, the editor's Python; `devicesDidChange`, whether to send notifications.
    """
    said = options.get("interpreter")
    probing = Probing(
        session, trusted=options.get("trusted", True) is True, interpreter=said if isinstance(said, str) else None
    )
    if options.get("devicesDidChange") is True:

        def announce(roots: list[Path]) -> None:
            for root in roots:
                session.notify(DID_CHANGE, {**devices_shown(session, root), "uri": uri_of(root)})

        probing.announce = announce
    return probing


def devices_shown(session: Session, root: Path, path: Path | None = None) -> dict[str, Any]:
    """Returns the devices of a project or one of its files, for a client.

    Args:
        session: the session.
        root: the project.
        path: the file, which may set its own target.
    """
    from meshlens.ide.hovering.device_words import status

    folder = session.folders.get(root)
    report = session.probing.report_of(root)
    view = session.view(path) if path is not None else None
    target = folder.workspace.devices if folder is not None else None
    devices = view.devices if view is not None else devices_for(None, target, report)
    return {
        "summary": status(devices, trusted=session.trusted),
        "detected": to_json(report) if report is not None else None,
        "failure": session.probing.failure_of(root),
        "target": _topology(devices.target) if devices.target is not None else None,
        "origin": devices.origin,
        "interpreter": session.probing.interpreter_of(root),
    }


def project_named(session: Session, params: Mapping[str, Any]) -> tuple[Path, Path | None]:
    """Returns the project and the file that a request names by `uri`; by default the client's first project.

    Args:
        session: the session.
        params: the parameters of the request.
    """
    uri = params.get("uri")
    document = session.documents.get(uri) if isinstance(uri, str) else None
    path = document.path if document is not None else path_of(uri) if isinstance(uri, str) else None
    if path is None:
        first = next(iter((*session.folders, *session.given)), Path.cwd())
        return session.folder_of(first / OWN_FILE).root, None
    is_folder = path in session.given or path in session.folders
    return session.folder_of(path / OWN_FILE if is_folder else path).root, path


def _topology(target: Topology) -> dict[str, Any]:
    return {
        "text": target.text,
        "count": target.count,
        "shape": list(target.shape),
        "platform": target.platform,
        "name": target.name,
        "hosts": target.hosts,
        "description": describe(target),
        "coordinates": [list(place) for place in coordinates(target)] if target.count <= _MOST_COORDINATES else None,
    }
