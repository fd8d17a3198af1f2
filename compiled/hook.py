"""Builds a wheel with compiled modules if `HATCH_BUILD_HOOK_ENABLE_CUSTOM=1` is set.

If `MESHLENS_PRACTISED=1` is set too, they are compiled twice; see `build.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledModules(BuildHookInterface):  # type: ignore[misc]
    """Compiles in a separate process, and puts the results into the wheel."""

    @property
    def _folder(self) -> Path:
        return Path(self.directory) / "meshlens-compiled-modules"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Adds the compiled modules to a wheel; an editable installation reads the sources."""
        if version == "editable":
            return
        folder = self._folder
        shutil.rmtree(folder, ignore_errors=True)
        command = [sys.executable, str(Path(self.root) / "compiled" / "build.py"), str(folder)]
        practised = ["--practised"] if os.environ.get("MESHLENS_PRACTISED") else []
        subprocess.run([*command, *practised], check=True)
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        # Their sources are included as in every other wheel.
        made = [path for ending in ("*.so", "*.pyd", "_written_out.py") for path in folder.rglob(ending)]
        for path in made:
            build_data["force_include"][str(path)] = path.relative_to(folder).as_posix()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes everything but the wheel."""
        shutil.rmtree(self._folder, ignore_errors=True)
