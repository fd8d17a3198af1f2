"""The command that starts `meshlens` in tests: isolated, as in every documented line, and from the code under test."""

from __future__ import annotations

from pathlib import Path

import meshlens

_PACKAGE = str(Path(meshlens.__file__).parents[1])

# `-I` ignores PYTHONPATH, which puts compiled modules before the others.
PROGRAM = ("-I", "-c", f"import sys; sys.path.insert(0, {_PACKAGE!r}); from meshlens.start import main; main()")
SERVER = (*PROGRAM, "server")

EXTENSION = ("-I", str(Path(__file__).parents[1] / "bundled" / "run.py"), "--tell", "server")
"""The arguments with which the VS Code extension starts the server that it bundles."""
