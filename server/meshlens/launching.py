"""How a Python is told to run our code and nothing else: nothing of the working folder, and no file of `site`."""

from __future__ import annotations

import os
import site
import sys
from pathlib import Path

import meshlens


def program() -> tuple[str, ...]:
    """Returns the arguments that run `meshlens` on this Python without importing from the working folder."""
    own = Path(site.getusersitepackages())
    if not Path(meshlens.__file__).is_relative_to(own):
        return "-I", "-m", "meshlens"
    # `-I` leaves out what was installed with `pip install --user`.
    return "-I", "-c", f"import sys; sys.path.append({str(own)!r}); from meshlens.cli.main import main; main()"


def isolated(code: str) -> tuple[str, ...]:
    """Returns the arguments with which this Python runs code on our own `sys.path`.

    `-I` leaves out the working folder and what PYTHON* variables say, `-S` the `.pth` files and `sitecustomize` of an
    environment: a package that is installed editable puts modules of its checkout into every Python that reads them.

    Args:
        code: statements on one line.
    """
    home = str(Path(meshlens.__file__).parents[1])
    path = [entry for entry in dict.fromkeys((*sys.path, home)) if os.path.isabs(entry)]
    return "-I", "-S", "-c", f"import sys; sys.path[:] = {path!r}; {code}"
