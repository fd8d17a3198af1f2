"""Python command-line arguments that run our own code without importing from the working directory."""

from __future__ import annotations

import os
import site
import sys
from pathlib import Path

import meshlens


def program() -> tuple[str, ...]:
    """Returns the arguments that run `meshlens` on this Python without importing from the working directory."""
    own = Path(site.getusersitepackages())
    if not Path(meshlens.__file__).is_relative_to(own):
        return "-I", "-m", "meshlens"
    # `-I` excludes packages installed with `pip install --user`.
    return "-I", "-c", f"import sys; sys.path.append({str(own)!r}); from meshlens.start import main; main()"


def isolated(code: str) -> tuple[str, ...]:
    """Returns the arguments that make this Python run code with our own `sys.path`.

    `-I` excludes the working directory and PYTHON* variables, `-S` the `.pth` files and `sitecustomize` of an
    environment: the `.pth` file of an editable install makes the modules of its checkout importable.

    Args:
        code: statements on one line.
    """
    home = str(Path(meshlens.__file__).parents[1])
    path = [entry for entry in dict.fromkeys((*sys.path, home)) if os.path.isabs(entry)]
    return "-I", "-S", "-c", f"import sys; sys.path[:] = {path!r}; {code}"
