"""The scope in which a name has one meaning: the whole file, or one function and its nested definitions."""

from __future__ import annotations

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import NOTHING, ClassDef, FunctionDef, Lambda
from meshlens.project.trees import Node, path_to
from meshlens.project.view import FileView


def outermost(view: FileView, key: str) -> str:
    """Returns the block of the outermost function around a block; the block itself if there is none."""
    while True:
        above = view.facts.blocks.get(key.rpartition(".")[0])
        if above is None or isinstance(above.shape, ClassDef):
            return key
        key = above.key


def home_of(view: FileView, site: Site) -> str | None:
    """Returns the block of the outermost function around a place; None at the top level or in a class there."""
    root = outermost(view, site.block)
    if root != site.block:
        return root
    around = path_to(view, site)[:-1]
    return root if any(isinstance(node, (FunctionDef, Lambda)) for node in around) else None


def parent_of(view: FileView, site: Site) -> Node:
    """Returns the node directly around a place; an empty node if there is none."""
    path = path_to(view, site)
    return path[-2] if len(path) > 1 else NOTHING


def class_around(view: FileView, site: Site) -> str | None:
    """Returns the key of the class directly around a definition; "" for a class without its own block."""
    for node in reversed(path_to(view, site)[:-1]):
        if isinstance(node, (FunctionDef, Lambda)):
            return None
        if isinstance(node, ClassDef):
            return ""
    parent = view.facts.blocks.get(site.block.rpartition(".")[0])
    return parent.key if parent is not None and isinstance(parent.shape, ClassDef) else None
