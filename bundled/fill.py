"""Fills `bundled/libs` with the server and its dependencies, for one platform and each Python, from wheels only.

`python bundled/fill.py linux-x64 dist/meshlens-0.1.0-py3-none-any.whl`; the dependencies' wheels are those that
`requirements.txt` names with their hashes. The parser is compiled for each version of Python; the names of the
compiled libraries include the version, so they share one folder, and each interpreter picks its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")

# Each platform's name in VS Code and in uv. The names are those of `vsce package --target` and
# https://docs.astral.sh/uv/reference/cli/#uv-pip-install--python-platform; tree-sitter has wheels for no others.
PLATFORMS: Mapping[str, str] = {
    "linux-x64": "x86_64-manylinux_2_28",
    "linux-arm64": "aarch64-manylinux_2_28",
    "alpine-x64": "x86_64-unknown-linux-musl",
    "darwin-x64": "x86_64-apple-darwin",
    "darwin-arm64": "aarch64-apple-darwin",
    "win32-x64": "x86_64-pc-windows-msvc",
    "win32-arm64": "aarch64-pc-windows-msvc",
}

# jedi bundles stubs for other projects' packages, five times the size of the rest of the extension; names are looked up
# in packages that are installed, and jedi reads those directly.
LEFT_OUT = ("jedi/third_party/typeshed/stubs/", "jedi/third_party/django-stubs/", "bin/", "Scripts/")
KEPT_OF_DIST_INFO = ("METADATA", "entry_points.txt")


def fill(target: str, own: Path, libs: Path) -> None:
    """Empties the folder and fills it.

    Args:
        target: VS Code's name for the platform.
        own: the server's wheel.
        libs: the folder to fill.
    """
    shutil.rmtree(libs, ignore_errors=True)
    with TemporaryDirectory() as room:
        for version in PYTHONS:
            tree = Path(room) / version
            _install(PLATFORMS[target], version, tree)
            _merge(tree, libs)
        with zipfile.ZipFile(own) as wheel:
            wheel.extractall(Path(room) / "own")
        _merge(Path(room) / "own", libs)


def _install(platform: str, version: str, tree: Path) -> None:
    wheels = ["--only-binary", ":all:", "--no-deps", "--require-hashes", "-r", str(HERE / "requirements.txt")]
    meant = ["--python-platform", platform, "--python-version", version]
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable]
    subprocess.run([*install, "--target", str(tree), *meant, *wheels], check=True)


def _merge(tree: Path, libs: Path) -> None:
    """Copies the files that are needed; two wheels must not have different contents for the same file.

    Raises:
        ValueError: two wheels differ in a file.
    """
    for name in _wanted(tree):
        content, place = (tree / name).read_bytes(), libs / name
        if place.exists():
            if place.read_bytes() != content and not place.parent.name.endswith(".dist-info"):
                raise ValueError(f'two wheels differ in "{name}"')
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(0o644)


def _wanted(tree: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(tree):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for file in sorted(files):
            name = (Path(folder) / file).relative_to(tree).as_posix()
            is_source = not file.startswith(".") and not file.endswith(".c")
            if is_source and not name.startswith(LEFT_OUT) and _is_wanted_of_dist_info(name):
                yield name


def _is_wanted_of_dist_info(name: str) -> bool:
    """Rejects all of a `.dist-info` except licenses and metadata; its lists of files and hashes would be outdated."""
    top, _, rest = name.partition("/")
    return not top.endswith(".dist-info") or rest in KEPT_OF_DIST_INFO or "licen" in rest.lower()


if __name__ == "__main__":
    fill(sys.argv[1], Path(sys.argv[2]), HERE / "libs")
