"""Makes the extension's packages, one for each platform: `python bundled/package.py dist linux-x64 …`, or all.

The wheel of the server is looked for in the same folder, and `npm run build` has run.  With SOURCE_DATE_EPOCH the same
files give the same bytes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from fill import HERE, PLATFORMS, fill


def package(room: Path, target: str) -> Path:
    """Makes the package of a platform.

    Args:
        room: has the wheel, gets the package.
        target: what VS Code calls the platform.

    Returns:
        the package.

    Raises:
        FileNotFoundError: there is not one wheel.
    """
    wheels = sorted(room.glob("meshlens-*.whl"))
    if len(wheels) != 1:
        raise FileNotFoundError(f'one wheel of the server belongs in "{room}", not {len(wheels)}')
    (wheel,) = wheels
    version = wheel.name.split("-")[1]
    fill(target, wheel, HERE / "libs")
    made = room.absolute() / f"meshlens-{target}-{version}.vsix"
    manifest = json.loads((HERE.parent / "package.json").read_text("utf-8"))
    # Links of the README that are relative become links to the repository, where the manifest names one.
    links = [] if "repository" in manifest else ["--no-rewrite-relative-links"]
    options = ["--target", target, "--out", str(made), "--no-dependencies", *links]
    subprocess.run(
        [shutil.which("npx") or "npx", "--no-install", "vsce", "package", *options],
        cwd=HERE.parent,
        # A zip keeps times without a zone.
        env={**os.environ, "TZ": "UTC"},
        check=True,
    )
    return made


if __name__ == "__main__":
    for name in sys.argv[2:] or PLATFORMS:
        print(package(Path(sys.argv[1]), name))
