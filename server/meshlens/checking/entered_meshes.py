"""Code that asks JAX which mesh `with mesh:` has entered, through `thread_resources`.

In JAX 0.10.2, `thread_resources.env.physical_mesh` is the mesh under `with mesh:`, but empty under `jax.set_mesh`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from meshlens.axes.domain.values import Site
from meshlens.facts.model import FileFacts
from meshlens.facts.nodes import Attribute, Hole, Import, ImportFrom, Name
from meshlens.facts.walking import nodes
from meshlens.project.solving.solution import Solution

_HOLDER = "thread_resources"


def first_use(solution: Solution) -> Site | None:
    """Returns where a file of the workspace uses `thread_resources`, or else imports it; None if none does."""
    return solution.once("use of the entered mesh", _first_use)


def may_change_uses(before: Mapping[str, FileFacts], now: Mapping[str, FileFacts]) -> bool:
    """Returns whether files that use `thread_resources` appeared or disappeared, or a block that uses it changed."""
    if before.keys() != now.keys():
        return True
    changed = [(file, now[path]) for path, file in before.items() if now[path] is not file]
    return any(
        old.blocks.get(key) is not new.blocks.get(key) and (_is_used(old, key) or _is_used(new, key))
        for old, new in changed
        for key in new.touched_since(old)
    )


def _is_used(file: FileFacts, key: str) -> bool:
    block = file.blocks.get(key)
    return block is not None and _HOLDER in block.names


def _first_use(solution: Solution) -> Site | None:
    every = (
        use
        for path, file in solution.facts.items()
        for use in solution.once_of(f"uses of the entered mesh {path}", file, None, partial(_uses, path, file))
    )
    return min(every, default=(False, None))[1]


def _uses(path: str, file: FileFacts) -> list[tuple[bool, Site]]:
    """Returns the uses of `thread_resources` in a file, and for each, whether it is an import."""
    keys = [key for key in file.blocks if _is_used(file, key)]
    return [(is_import, Site(path, key, index)) for key in keys for is_import, index in _places(file.blocks[key].shape)]


def _places(shape: object) -> Iterator[tuple[bool, int]]:
    for node in nodes(shape):
        if isinstance(node, (Import, ImportFrom)):
            yield from ((True, one.site) for one in node.names if _HOLDER in one.name.split("."))
        elif isinstance(node, (Name, Attribute)):
            if node.name == _HOLDER:
                yield False, node.site
        elif isinstance(node, Hole) and _HOLDER in node.names:
            yield False, node.site
