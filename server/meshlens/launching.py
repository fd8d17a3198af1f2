"""How a Python is told to run our code and nothing else: nothing of the working folder, and no file of `site`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import meshlens


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
