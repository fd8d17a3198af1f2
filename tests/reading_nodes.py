"""Makes every read of a syntax node by number a failure, wherever a test meets one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from meshlens.facts import nodes, walking

_PARTS = ("Argument", "Pair", "Clause", "Parameter", "FunctionShape", "WithItem", "Handler", "Imported", "Arm")
MAY_READ_BY_NUMBER = {
    "facts/paths.py": "a path to a statement is a list of numbers, so that it outlives the nodes",
    "facts/walking.py": "walks whatever is in a tree, from its end",
    "project/solving/watching.py": "follows such a path",
}
"""Modules that may read nodes by number, and why."""


PACKAGE = Path(nodes.__file__).parents[1].as_posix() + "/"
"""The package that runs; an environment may hold a copy of it."""


def forbid_numbers() -> None:
    """Makes `node[2]` fail in MeshLens's own code; in tests and libraries it works as before.

    Compiled modules are left alone, because they have no frames that would name them.
    """
    if not walking.__file__.endswith(".py"):
        return
    for kind in (*nodes.CLASSES.values(), *(getattr(nodes, name) for name in _PARTS)):
        kind.__getitem__ = _named_only


def _named_only(node: Any, place: Any) -> Any:
    path = sys._getframe(1).f_code.co_filename.replace("\\", "/")
    module = path.removeprefix(PACKAGE)
    if module != path and module not in MAY_READ_BY_NUMBER:
        raise AssertionError(f"{module} reads {type(node).__name__}[{place}]; nodes are read by their fields")
    return tuple.__getitem__(node, place)
