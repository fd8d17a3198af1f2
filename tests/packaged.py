"""The extension packaged for this machine, for tests that install it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

from real_editors import absent

PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
_SYSTEMS = {"Linux": "linux", "Darwin": "darwin", "Windows": "win32"}
_MACHINES = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64", "arm64": "arm64"}


def vsix() -> Path:
    """Returns the package, from where `nox -s vscode` has put it or where MESHLENS_VSIX says it is."""
    target = f"{_SYSTEMS[platform.system()]}-{_MACHINES[platform.machine()]}"
    named = os.environ.get("MESHLENS_VSIX")
    found = [Path(named)] if named else sorted(Path(__file__).parents[1].glob(f"dist/meshlens-{target}-*.vsix"))
    if len(found) != 1:
        return absent(f"an extension for {target} (nox -s package -- {target})")
    return found[0]


def unpack(package: Path, room: Path) -> Path:
    """Unpacks an extension as an editor would.

    Returns:
        the extension's folder.
    """
    with zipfile.ZipFile(package) as archive:
        archive.extractall(room)
    return room / "extension"


def bare_pythons(room: Path) -> dict[str, Path]:
    """Makes an empty environment, without even pip, for every Python on this machine; returns the Pythons by version.

    Args:
        room: the folder to make the environments in.
    """
    made = {}
    for version in PYTHONS:
        found = shutil.which(f"python{version}")
        if found and _starts([found, "-c", ""]):
            subprocess.run([found, "-m", "venv", "--without-pip", room / version], check=True)
            made[version] = room / version / "bin" / "python"
    return made


def without_network() -> list[str]:
    """Returns the start of a command line that cuts off the network; empty if this machine cannot do that."""
    unshare = ["unshare", "--net", "--map-root-user"]
    return unshare if shutil.which("unshare") and _starts([*unshare, "true"]) else []


def _starts(command: Sequence[str]) -> bool:
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
