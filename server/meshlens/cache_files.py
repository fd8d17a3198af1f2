"""Where a project's caches lie on disk, and how their files are written."""

from __future__ import annotations

import logging
import os
import tempfile
from contextlib import suppress
from pathlib import Path

FOLDER = ".meshlens_cache"
_log = logging.getLogger("meshlens")


def write_cache_file(path: Path, content: bytes) -> None:
    """Writes a file of the cache in one step, makes the folder on first use, and clears away what is outdated.

    A disk that is full or must not be written to is no error: the next run will be slower.
    """
    folder = path.parent
    kind = path.name.split("-")[0]
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True)
            (folder / ".gitignore").write_text("# Made by MeshLens.\n*\n")
            (folder / "CACHEDIR.TAG").write_text(
                "Signature: 8a477f597d28d172789f06886806bc55\n# A cache of MeshLens; it can be deleted at any time.\n"
            )
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".", suffix=".part")
    except OSError as error:
        _log.info("the cache in %s is not written: %s", folder, error)
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if not isinstance(error, OSError):
            raise
        _log.info("the cache in %s is not written: %s", folder, error)
        return
    with suppress(OSError):
        for old in folder.glob(f"{kind}-*.bin"):
            if old != path:
                old.unlink()
