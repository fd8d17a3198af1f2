"""`workspace/executeCommand`: debug information about the server, and clicks on lenses."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from meshlens.devices.report import summary
from meshlens.lsp.commands import DEBUG, FORGET_TRACES, SHOW_PLACE, TRACE
from meshlens.lsp.session import Session
from meshlens.lsp.wire.refusal import INVALID_PARAMS, Refusal
from meshlens.project.settings.jax_version import spelled
from meshlens.settings import shown

_PACKAGES = ("meshlens", "pygls", "lsprotocol", "jedi", "tree-sitter", "tree-sitter-python")


def execute_command(session: Session, params: dict[str, Any]) -> Any:
    """Runs one of our commands.

    Raises:
        Refusal: there is no such command.
    """
    command = params.get("command")
    if command == DEBUG:
        return debug_information(session)
    if command == TRACE:
        return _trace(session, params.get("arguments"))
    if command == FORGET_TRACES:
        return session.traces.forget() if session.traces is not None else None
    if command == SHOW_PLACE:
        return _show(session, params.get("arguments"))
    raise Refusal(f'unknown command "{command}"', INVALID_PARAMS)


def _trace(session: Session, arguments: object) -> Any:
    """Traces an entry; the arguments are the URI of its file, its name and, optionally, the devices.

    Raises:
        Refusal: the arguments do not name an entry.
    """
    # Imported here, so that users who never trace do not wait for the import.
    from meshlens.lsp.handlers.trace import trace

    given = arguments if isinstance(arguments, list) else []
    if not 2 <= len(given) <= 3:
        raise Refusal(
            f'"{TRACE}" takes the URI of a file, the name of an entry and, if wanted, devices such as "8xH100"',
            INVALID_PARAMS,
        )
    uri, name, devices = (*given, None)[:3]
    return trace(session, {"textDocument": {"uri": uri}, "name": name, "devices": devices})


def _show(session: Session, arguments: object) -> None:
    """Makes the client open a place.

    Raises:
        Refusal: no place is given.
    """
    place = arguments[0] if isinstance(arguments, list) and arguments else None
    if not isinstance(place, Mapping) or not {"uri", "range"} <= set(place):
        raise Refusal(f'"{SHOW_PLACE}" takes a location', INVALID_PARAMS)
    session.ask("window/showDocument", {"uri": place["uri"], "selection": place["range"], "takeFocus": True})


def debug_information(session: Session) -> str:
    """Returns information for bug reports: versions, the client, the projects, memory."""
    client = session.client
    can = [name for name in client.__slots__ if getattr(client, name) is True]
    lines = [
        f"python {platform.python_version()} ({sys.executable}) on {platform.platform()}",
        *(f"{name} {_version(name)}" for name in _PACKAGES),
        f"client: {client.name or 'unnamed'}, columns in {client.encoding}, can: {', '.join(can) or 'nothing special'}",
        f"process {os.getpid()}, {_memory()}",
        f"jax is {'imported' if 'jax' in sys.modules else 'not imported'} here; "
        f"the workspace is {'trusted' if session.probing.trusted else 'not trusted'}",
        f"open: {len(session.documents)} documents, {len(session.notebooks)} notebooks",
    ]
    for folder in session.folders.values():
        files = folder.workspace.files
        size = sum(len(file.source) for file in files.values())
        lines += [
            f"project {folder.root}",
            f"  jax {spelled(folder.jax)}; devices: {shown(folder.settings.devices or 'not set')}",
            *_detected(session, folder.root),
            f"  configuration: {folder.configuration.path or 'none'}",
            f"  loaded: {len(files)} files, {size:,} bytes, "
            f"{'the whole project' if folder.small else 'open files and their imports'}",
        ]
    lines += [f"  helper process: {number} for {root}" for root, number in session.indexing.processes().items()]
    return "\n".join(lines)


def _detected(session: Session, root: Path) -> Iterator[str]:
    probing = session.probing
    yield f"  interpreter: {probing.interpreter_of(root) or 'unknown'}"
    report, failure = probing.report_of(root), probing.failure_of(root)
    if report is not None:
        yield f"  detected at level {report.level} in {report.seconds:.1f} s: {summary(report)}"
    if failure is not None:
        yield f"  {failure}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed as a package"


def _memory() -> str:
    if sys.platform == "win32":
        return "memory unknown"
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return f"{peak / (1 << 20 if sys.platform == 'darwin' else 1 << 10):.0f} MiB at peak"
