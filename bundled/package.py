"""Builds the extension's packages, one per platform: `python bundled/package.py dist linux-x64 …`, or all of them.

Options, such as `--allow-package-all-secrets`, go to `vsce package`.

The server's wheel must be in the output folder, and `npm run build` must have run. If SOURCE_DATE_EPOCH is set, the
same files produce the same bytes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from fill import HERE, PLATFORMS, fill


def package(room: Path, target: str, options: Sequence[str] = ()) -> Path:
    """Builds the package for a platform.

    Args:
        room: the folder that holds the wheel and receives the package.
        target: VS Code's name for the platform.
        options: more options for `vsce package`.

    Returns:
        The path of the package.

    Raises:
        FileNotFoundError: the folder does not hold exactly one wheel.
    """
    wheels = sorted(room.glob("meshlens-*.whl"))
    if len(wheels) != 1:
        raise FileNotFoundError(f'one wheel of the server belongs in "{room}", not {len(wheels)}')
    (wheel,) = wheels
    version = wheel.name.split("-")[1]
    fill(target, wheel, HERE / "libs")
    made = room.absolute() / f"meshlens-{target}-{version}.vsix"
    manifest = json.loads((HERE.parent / "package.json").read_text("utf-8"))
    # Relative links in the README become links to the repository if the manifest names one.
    links = [] if "repository" in manifest else ["--no-rewrite-relative-links"]
    asked = ["--target", target, "--out", str(made), "--no-dependencies", *links, *options]
    subprocess.run(
        [shutil.which("npx") or "npx", "--no-install", "vsce", "package", *asked],
        cwd=HERE.parent,
        # A zip file stores times without a time zone.
        env={**os.environ, "TZ": "UTC"},
        check=True,
    )
    return made


if __name__ == "__main__":
    given = sys.argv[2:]
    passed_on = [one for one in given if one.startswith("--")]
    for name in [one for one in given if one not in passed_on] or PLATFORMS:
        print(package(Path(sys.argv[1]), name, passed_on))
