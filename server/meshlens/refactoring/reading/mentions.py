"""Every read and every binding of a name or attribute in a file, indexed by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Attribute, Call, ClassDef, Name
from meshlens.project.trees import tree
from meshlens.project.view import FileView
from meshlens.refactoring.reading.block_names import BlockNames, names_in_block
from meshlens.refactoring.reading.scopes import outermost


@dataclass(frozen=True, slots=True)
class Mention:
    """A read of a name or an attribute.

    Attributes:
        site: its site.
        root: the block of the outermost function around it; its own block if there is none.
        node: the name or attribute node.
        call: the call to it, if it is called there.
    """

    site: Site
    root: str
    node: Name | Attribute
    call: Call | None


@dataclass(frozen=True, slots=True)
class AttributeMention(Mention):
    """A read of an attribute."""

    node: Attribute


class Entry(NamedTuple):
    """A block with its names.

    Attributes:
        key: the block.
        root: the block of the outermost function around it; the block itself if there is none.
        in_class: whether it is a method.
        found: its names.
    """

    key: str
    root: str
    in_class: bool
    found: BlockNames


def entries(view: FileView) -> tuple[Entry, ...]:
    """Returns the blocks of a file, computed once for each state of the workspace."""
    known: tuple[Entry, ...] = view.solution.once(f"assists: names in {view.path}", lambda _: tuple(_entries(view)))
    return known


def _entries(view: FileView) -> Iterator[Entry]:
    path = str(view.path)
    for key, block in view.facts.blocks.items():
        root = tree(view, path, key)
        above = view.facts.blocks.get(key.rpartition(".")[0])
        if root is not None:
            in_class, is_below = above is not None and isinstance(above.shape, ClassDef), above is not None
            # Most edits are in other blocks.
            found = view.solution.once_of(
                ("names in block", path, key), block.content, is_below, partial(names_in_block, root, is_below)
            )
            yield Entry(key, outermost(view, key), in_class, found)


def mentions_of(view: FileView, name: str) -> tuple[Mention, ...]:
    """Returns the reads of a variable, in the order of the file's blocks."""
    return tuple(
        Mention(Site(str(view.path), one.key, node.site), one.root, node, call)
        for one in entries(view)
        for node, call in one.found.names.get(name, ())
    )


def attributes_called(view: FileView, name: str) -> tuple[AttributeMention, ...]:
    """Returns the places that read an attribute with this name on any object."""
    return tuple(
        AttributeMention(Site(str(view.path), one.key, node.site), one.root, node, call)
        for one in entries(view)
        for node, call in one.found.attributes.get(name, ())
    )


def is_read(view: FileView, name: str) -> bool:
    """Returns whether a file reads a variable or attribute with the given name, for example to call a function."""
    return bool(mentions_of(view, name) or attributes_called(view, name))


def bound_at_top(view: FileView, name: str) -> int:
    """Returns how many times the top level binds a name."""
    return sum(one.found.bound_at_top.get(name, 0) for one in entries(view))


def bound_inside(view: FileView, name: str) -> dict[str, int]:
    """Returns how many times functions bind a name, by the block of the outermost function."""
    found: dict[str, int] = {}
    for one in entries(view):
        if name in one.found.bound_inside:
            found[one.root] = found.get(one.root, 0) + one.found.bound_inside[name]
    return found


def made_of(view: FileView, home: str) -> set[str]:
    """Returns the names that are assigned a new instance of a class."""
    return {name for one in entries(view) for name in one.found.made_of.get(home, ())}


def storing(view: FileView, attribute: str) -> set[str]:
    """Returns the names of the functions that assign to an attribute; "" for the top level."""
    return {one.found.name for one in entries(view) if attribute in one.found.stored_attributes}
