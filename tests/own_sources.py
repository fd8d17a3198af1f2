"""The modules of MeshLens as syntax trees, parsed once for all tests of a process that read them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

SERVER = Path(__file__).parents[1] / "server" / "meshlens"


@cache
def modules() -> Mapping[str, ast.Module]:
    """Returns the tree of each module, by its path in the package."""
    return {
        path.relative_to(SERVER).as_posix(): ast.parse(path.read_text("utf-8")) for path in sorted(SERVER.rglob("*.py"))
    }


@cache
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Returns a tree and all nodes below it."""
    return tuple(ast.walk(tree))
