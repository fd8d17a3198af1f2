"""Queries on the trees of a file: what encloses a place, and which names code uses and binds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from meshlens.axes.domain.values import Site
from meshlens.facts.model import Block
from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    AugAssign,
    Call,
    ClassDef,
    Comprehension,
    Constant,
    For,
    FunctionDef,
    FunctionShape,
    If,
    Import,
    ImportFrom,
    Lambda,
    ListDisplay,
    Match,
    Name,
    Parameter,
    SeparateDef,
    Starred,
    Statements,
    Subscript,
    TreeNode,
    Try,
    TupleDisplay,
    Walrus,
    While,
    With,
    is_node,
)
from meshlens.project.view import FileView
from meshlens.text import Span

Node: TypeAlias = TreeNode

_LEAVES = (Name, Constant, SeparateDef)
_HOLDS_SUITES = (FunctionDef, If, For, While, With, Try, Match)
_MANY = 40
_NEAR = 8


class _Wide(NamedTuple):
    """The children of a node that has very many, sorted by their start in the block."""

    starts: list[int]
    children: list[Node]


_Wides: TypeAlias = dict[int, _Wide]


def tree(view: FileView, path: str, block: str) -> Node | None:
    """Returns the tree of a block; a function with its own block is a function node."""
    facts = view.solution.facts.get(path)
    found = facts.blocks.get(block) if facts is not None else None
    if found is None:
        return None
    shape = found.shape
    return FunctionDef("fn", 0, shape) if isinstance(shape, FunctionShape) else shape


def nodes_of_block(view: FileView, path: str, block: str) -> Iterator[Node]:
    """Yields the nodes of a block; nothing if there is no such block."""
    root = tree(view, path, block)
    if root is not None:
        yield from walk(root)


def path_to(view: FileView, site: Site) -> tuple[Node, ...]:
    """Returns the nodes from the block down to a site, outermost first; empty if there is no such site."""
    root = tree(view, site.path, site.block)
    if root is None:
        return ()
    block = view.solution.facts[site.path].blocks[site.block]
    wide: _Wides = view.solution.once_of(("wide", site.path, site.block), block.content, len(block.pieces), dict)
    found = _descend(root, site.index, block, block.span(site.index), wide)
    return tuple(reversed(found)) if found is not None else ()


def blocks_at(view: FileView, span: Span) -> tuple[str, ...]:
    """Returns the keys of the blocks of a file that contain a span, in the order of the file's facts."""
    blocks = view.facts.blocks

    def found() -> tuple[str, ...]:
        return tuple([key for key, block in blocks.items() if block.holds(span)])

    # A solution survives edits that only move lines, but facts do not.
    return view.solution.once_of(("blocks at", view.path), view.facts, span, found)


def nodes_at(view: FileView, path: str, key: str, span: Span) -> Iterator[Node]:
    """Yields the nodes of a block that contain a span, each before those below it."""
    root = tree(view, path, key)
    block = view.solution.facts[path].blocks[key] if root is not None else None
    if root is None or block is None or not block.span(root.site).contains(span):
        return
    wide: _Wides = view.solution.once_of(("wide", path, key), block.content, len(block.pieces), dict)
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(list(_around(node, block, span, wide)))


def callee_of(view: FileView, call: Site) -> Site:
    """Returns the callee expression of a call; the site itself if it is not a call."""
    path = path_to(view, call)
    return Site(call.path, call.block, path[-1].callee.site) if path and isinstance(path[-1], Call) else call


def _descend(node: Node, index: int, block: Block, span: Span, wide: _Wides) -> list[Node] | None:
    if node.site == index:
        return [node]
    for child in _around(node, block, span, wide):
        found = _descend(child, index, block, span, wide)
        if found is not None:
            found.append(node)
            return found
    return None


def _around(node: Node, block: Block, span: Span, wide: _Wides) -> Iterator[Node]:
    """Yields the children that contain a span, using an index if there are very many children."""
    known = wide.get(id(node))
    if known is None:
        below = list(children(node))
        if len(below) <= _MANY:
            for child in below:
                if block.span(child.site).contains(span):
                    yield child
            return
        known = wide[id(node)] = _wide(below, block)
    # Siblings do not overlap, so only the last ones that begin before the span can contain it.
    at = bisect_right(known.starts, span.start - block.start)
    for child in known.children[max(at - _NEAR, 0) : at]:
        if block.span(child.site).contains(span):
            yield child


def _wide(below: list[Node], block: Block) -> _Wide:
    start = block.start
    children = sorted(((block.span(child.site).start - start, child.site, child) for child in below), key=_by_start)
    return _Wide([start for start, _, _ in children], [child for _, _, child in children])


def _by_start(entry: tuple[int, int, Node]) -> tuple[int, int]:
    return entry[:2]


def children(node: Node) -> Iterator[Node]:
    """Yields the statements and expressions directly below a node."""
    if isinstance(node, _LEAVES):
        return
    if isinstance(node, Call):
        yield node.callee
        yield from (argument.value for argument in node.arguments)
    elif isinstance(node, FunctionDef):
        parameters, decorators, body = node.function.parameters, node.function.decorators, node.function.body
        yield from _of_parameters(parameters)
        yield from decorators
        yield from body
    elif isinstance(node, Lambda):
        yield from _of_parameters(node.parameters)
        yield node.body
    elif isinstance(node, ClassDef):
        yield from (base.value for base in node.bases)
        yield from node.decorators
        yield from node.body
    else:
        yield from _nodes(node)


def suite_of(parent: Node, child: Node) -> Statements:
    """Returns the statements of the block that contains a child; none if the child is not a statement.

    Args:
        parent: the statement that contains the block: a function, `if`, `with`, ….
        child: the statement.
    """
    if not isinstance(parent, _HOLDS_SUITES):
        return ()
    waiting: list[object] = [parent.function.body] if isinstance(parent, FunctionDef) else list(parent)
    for part in waiting:
        if isinstance(part, tuple) and not is_node(part):
            if any(one is child for one in part):
                return part
            waiting.extend(part)
    return ()


def _of_parameters(parameters: tuple[Parameter, ...]) -> Iterator[Node]:
    for parameter in parameters:
        yield from (part for part in (parameter.default, parameter.annotation) if part is not None)


def _nodes(parts: tuple[object, ...]) -> Iterator[Node]:
    for part in parts:
        if is_node(part):
            yield part
        elif isinstance(part, tuple):
            yield from _nodes(part)


def walk(node: Node) -> Iterator[Node]:
    """Yields a node and all nodes below it, each before those below it."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [*children(node)][::-1]


def names_used(node: Node) -> set[str]:
    """Returns the free names of a piece of code."""
    used: set[str] = set()
    bound: set[str] = set()
    for inner in walk(node):
        if isinstance(inner, Name):
            used.add(inner.name)
        else:
            bound.update(_bound_by(inner), _parameters(inner))
    return used - bound


def names_bound(nodes: Iterable[Node]) -> set[str]:
    """Returns the names that code binds in its function, without those bound in nested functions."""
    found: set[str] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        found.update(_bound_by(node))
        if not isinstance(node, (FunctionDef, Lambda)):
            waiting.extend(children(node))
    return found


def names_taken(nodes: Iterable[Node]) -> set[str]:
    """Returns the names that functions nested in code bind, including parameters."""
    inner = [node for top in nodes for node in walk(top) if isinstance(node, (FunctionDef, Lambda))]
    return {name for node in inner for below in walk(node) for name in (*_bound_by(below), *_parameters(below))}


def bindings(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    """Returns the nodes that bind each name, in code and all functions nested in it."""
    found: dict[str, list[Node]] = {}
    for top in nodes:
        for node in walk(top):
            for name in _bound_by(node):
                found.setdefault(name, []).append(node)
    return found


def bound_by(node: Node) -> set[str]:
    """Returns the names that one node itself binds, without the parameters of a function."""
    return set(_bound_by(node))


def definitions(nodes: Iterable[Node]) -> Iterator[FunctionDef | SeparateDef]:
    """Yields the functions that code defines, without functions nested in them."""
    for node in nodes:
        if isinstance(node, (FunctionDef, SeparateDef)):
            yield node
        elif not isinstance(node, Lambda):
            yield from definitions(children(node))


def _parameters(node: Node) -> set[str]:
    if isinstance(node, FunctionDef):
        return {parameter.name for parameter in node.function.parameters}
    return {parameter.name for parameter in node.parameters} if isinstance(node, Lambda) else set()


def _bound_by(node: Node) -> Iterator[str]:
    if isinstance(node, Assign):
        yield from (name for target in node.targets for name in _targets(target))
    elif isinstance(node, (AnnAssign, AugAssign, For)):
        yield from _targets(node.target)
    elif isinstance(node, With):
        yield from (name for _, target in node.items if target is not None for name in _targets(target))
    elif isinstance(node, Comprehension):
        yield from (name for clause in node.clauses for name in _targets(clause.target))
    elif isinstance(node, Walrus):
        yield node.name
    elif isinstance(node, FunctionDef):
        yield node.function.name
    elif isinstance(node, SeparateDef):
        yield name_of_block(node.key)
    elif isinstance(node, ClassDef):
        yield node.name
    elif isinstance(node, Try):
        yield from (handler.name for handler in node.handlers if handler.name is not None)
    elif isinstance(node, (Import, ImportFrom)):
        yield from (name.alias or name.name.split(".", 1)[0] for name in node.names)


def name_of_block(key: str) -> str:
    """Returns the name of the function in a block's key."""
    return key.rsplit(".", 1)[-1].split("~", 1)[0]


def _targets(target: Node) -> Iterator[str]:
    """Yields the names in a target; for `a.b = …` and `a[0] = …`, the name of the object, which changes too."""
    if isinstance(target, Name):
        yield target.name
    elif isinstance(target, (Attribute, Subscript)):
        yield from _targets(target.object)
    elif isinstance(target, Starred):
        yield from _targets(target.value)
    elif isinstance(target, (TupleDisplay, ListDisplay)):
        for item in target.items:
            yield from _targets(item)


def sized_array(node: Node) -> Node | None:
    """Returns the array whose size or number of rows an expression is: `m` in `m.size`, `m.shape[0]` and `len(m)`."""
    if isinstance(node, Attribute) and node.name == "size":
        return node.object
    if isinstance(node, Call) and isinstance(node.callee, Name) and node.callee.name == "len" and node.arguments:
        return node.arguments[0].value
    if isinstance(node, Subscript) and isinstance(node.key, Constant) and node.key.value == 0:
        shape = node.object
        return shape.object if isinstance(shape, Attribute) and shape.name == "shape" else None
    return None
