"""Every mention and every binding of a name or an attribute in a file, looked up by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import ClassDef
from meshlens.project.trees import Node, tree
from meshlens.project.view import FileView
from meshlens.refactoring.reading.block_names import BlockNames, names_in_block
from meshlens.refactoring.reading.scopes import outermost


@dataclass(frozen=True, slots=True)
class Mention:
    """A place that reads a name or an attribute.

    Attributes:
        site: the place.
        root: the block of the outermost function around it, or the block itself.
        node: the "name" or "attr" node.
        call: the call of it, if it is called there.
    """

    site: Site
    root: str
    node: Node
    call: Node | None


class Entry(NamedTuple):
    """A block with its names.

    Attributes:
        key: the block.
        root: the block of the outermost function around it, or the block itself.
        in_class: whether it is a method.
        found: its names.
    """

    key: str
    root: str
    in_class: bool
    found: BlockNames


def entries(view: FileView) -> tuple[Entry, ...]:
    """The blocks of a file, worked out once for a state of the workspace."""
    known: tuple[Entry, ...] = view.solution.once(f"assists: names in {view.path}", lambda _: tuple(_entries(view)))
    return known


def _entries(view: FileView) -> Iterator[Entry]:
    for key in view.facts.blocks:
        root = tree(view, str(view.path), key)
        above = view.facts.blocks.get(key.rpartition(".")[0])
        if root is not None:
            in_class = above is not None and isinstance(above.shape, ClassDef)
            yield Entry(key, outermost(view, key), in_class, names_in_block(root, above is not None))


def mentions_of(view: FileView, name: str) -> tuple[Mention, ...]:
    """The places that read a variable, in the order of the file's blocks."""
    return tuple(
        Mention(Site(str(view.path), one.key, node.site), one.root, node, call)
        for one in entries(view)
        for node, call in one.found.names.get(name, ())
    )


def attributes_called(view: FileView, name: str) -> tuple[Mention, ...]:
    """The places that take an attribute of this name from anything."""
    return tuple(
        Mention(Site(str(view.path), one.key, node.site), one.root, node, call)
        for one in entries(view)
        for node, call in one.found.attributes.get(name, ())
    )


def bound_at_top(view: FileView, name: str) -> int:
    """Returns how often the top level binds a name."""
    return sum(one.found.bound_at_top.get(name, 0) for one in entries(view))


def bound_inside(view: FileView, name: str) -> dict[str, int]:
    """Returns how often functions bind a name, by the block of the outermost one."""
    found: dict[str, int] = {}
    for one in entries(view):
        if name in one.found.bound_inside:
            found[one.root] = found.get(one.root, 0) + one.found.bound_inside[name]
    return found


def made_of(view: FileView, home: str) -> set[str]:
    """The names that are bound to a new object of a class."""
    return {name for one in entries(view) for name in one.found.made_of.get(home, ())}


def storing(view: FileView, attribute: str) -> set[str]:
    """The functions that store an attribute, by their names, "" for the top level."""
    return {one.found.name for one in entries(view) if attribute in one.found.stored_attributes}
