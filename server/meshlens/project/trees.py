"""Questions to the trees of a file: what encloses a place, which names a piece of code uses, and which it binds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

from meshlens.axes.values import Site
from meshlens.facts.model import Block
from meshlens.facts.nodes import NAMED, FunctionDef, FunctionShape
from meshlens.project.view import FileView
from meshlens.text import Span

Node: TypeAlias = tuple[Any, ...]

_HOLDS_SUITES = frozenset({"fn", "if", "for", "while", "with", "try", "match"})
_MANY = 40
_NEAR = 8


class _Wide(NamedTuple):
    """The many children of a node: those that span their parts by where they begin in the block, and the others."""

    starts: list[int]
    spanning: list[Node]
    others: list[Node]


_Wides: TypeAlias = dict[int, _Wide]


def tree(view: FileView, path: str, block: str) -> Node | None:
    """The tree of a block; a function that is a block of its own is an "fn" node."""
    facts = view.solution.facts.get(path)
    found = facts.blocks.get(block) if facts is not None else None
    if found is None:
        return None
    shape: Node = found.shape
    if shape[0] == "fn" and isinstance(shape[2], tuple) and len(shape) == 3:
        return shape
    return FunctionDef("fn", 0, shape) if isinstance(shape, FunctionShape) else shape


def path_to(view: FileView, site: Site) -> tuple[Node, ...]:
    """The nodes from the block down to a site, outermost first; empty if it is not there."""
    root = tree(view, site.path, site.block)
    if root is None:
        return ()
    block = view.solution.facts[site.path].blocks[site.block]
    wide: _Wides = view.solution.once_of(("wide", site.path, site.block), block.content, len(block.pieces), dict)
    found = _descend(root, site.index, block, block.span(site.index), wide)
    return tuple(reversed(found)) if found is not None else ()


def callee_of(view: FileView, call: Site) -> Site:
    """The expression that a call calls; the site itself where it is no call."""
    path = path_to(view, call)
    return Site(call.path, call.block, path[-1][2][1]) if path and path[-1][0] == "call" else call


def _descend(node: Node, index: int, block: Block, span: Span, wide: _Wides) -> list[Node] | None:
    if node[1] == index:
        return [node]
    for child in _around(node, block, span, wide):
        found = _descend(child, index, block, span, wide)
        if found is not None:
            found.append(node)
            return found
    return None


def _around(node: Node, block: Block, span: Span, wide: _Wides) -> Iterator[Node]:
    """Yields the children that may hold a span, without looking at each of very many."""
    known = wide.get(id(node))
    if known is None:
        below = list(children(node))
        if len(below) <= _MANY:
            for child in below:
                if isinstance(child, NAMED) or block.span(child[1]).contains(span):
                    yield child
            return
        known = wide[id(node)] = _wide(below, block)
    yield from known.others
    # Beside each other in the text, so that none but the last ones that begin before the span can hold it.
    at = bisect_right(known.starts, span.start - block.start)
    for child in known.spanning[max(at - _NEAR, 0) : at]:
        if block.span(child[1]).contains(span):
            yield child


def _wide(below: list[Node], block: Block) -> _Wide:
    spanning = sorted(
        (
            (block.span(child[1]).start - block.start, child[1], child)
            for child in below
            if not isinstance(child, NAMED)
        ),
        key=_by_start,
    )
    others: list[Node] = [child for child in below if isinstance(child, NAMED)]
    return _Wide([start for start, _, _ in spanning], [child for _, _, child in spanning], others)


def _by_start(entry: tuple[int, int, Node]) -> tuple[int, int]:
    return entry[:2]


def children(node: Node) -> Iterator[Node]:
    """The statements and expressions directly below a node."""
    tag = node[0]
    if tag == "call":
        yield node[2]
        yield from (argument[2] for argument in node[3])
    elif tag == "fn":
        _, _, parameters, decorators, body, _ = node[2]
        yield from _of_parameters(parameters)
        yield from decorators
        yield from body
    elif tag == "lambda":
        yield from _of_parameters(node[2])
        yield node[3]
    elif tag == "class":
        yield from (base[2] for base in node[4])
        yield from node[5]
        yield from node[6]
    elif tag not in ("def", "name", "const"):
        for part in node[2:]:
            yield from _nodes(part)


def suite_of(parent: Node, child: Node) -> tuple[Node, ...]:
    """The statements of a block of which one is a child; none where it is no statement.

    Args:
        parent: the statement that holds the block: a function, `if`, `with`, ….
        child: the statement.
    """
    if parent[0] not in _HOLDS_SUITES:
        return ()
    waiting: list[Any] = [parent[2][4]] if parent[0] == "fn" else list(parent[2:])
    for part in waiting:
        if isinstance(part, tuple) and part and not isinstance(part[0], str):
            if any(one is child for one in part):
                return part
            waiting.extend(part)
    return ()


def _of_parameters(parameters: tuple[Node, ...]) -> Iterator[Node]:
    for parameter in parameters:
        yield from (part for part in parameter[3:5] if part is not None)


def _nodes(part: Any) -> Iterator[Node]:
    if not isinstance(part, tuple) or not part:
        return
    if isinstance(part[0], str) and len(part) > 1 and isinstance(part[1], int):
        yield part
        return
    for inner in part:
        yield from _nodes(inner)


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def names_used(node: Node) -> set[str]:
    """The names that a piece of code takes from around it."""
    used = {inner[2] for inner in walk(node) if inner[0] == "name"}
    bound = {name for inner in walk(node) for name in (*_bound_by(inner), *_parameters(inner))}
    return used - bound


def names_bound(nodes: Iterable[Node]) -> set[str]:
    """The names that code binds in the function that runs it; what functions inside it bind is theirs."""
    found: set[str] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        found.update(_bound_by(node))
        if node[0] not in ("fn", "lambda"):
            waiting.extend(children(node))
    return found


def names_taken(nodes: Iterable[Node]) -> set[str]:
    """The names that functions inside code take as parameters or bind themselves."""
    inner = [node for top in nodes for node in walk(top) if node[0] in ("fn", "lambda")]
    return {name for node in inner for below in walk(node) for name in (*_bound_by(below), *_parameters(below))}


def bound_by(node: Node) -> set[str]:
    """The names that one node binds by itself; the parameters of a function are not among them."""
    return set(_bound_by(node))


def definitions(nodes: Iterable[Node]) -> Iterator[Node]:
    """The functions that code defines, "fn" and "def" nodes, without those inside them."""
    for node in nodes:
        if node[0] in ("fn", "def"):
            yield node
        elif node[0] != "lambda":
            yield from definitions(children(node))


def _parameters(node: Node) -> set[str]:
    if node[0] == "fn":
        return {parameter[0] for parameter in node[2][2]}
    return {parameter[0] for parameter in node[2]} if node[0] == "lambda" else set()


def _bound_by(node: Node) -> Iterator[str]:
    tag = node[0]
    if tag == "assign":
        yield from (name for target in node[2] for name in _targets(target))
    elif tag in ("ann", "aug", "for"):
        yield from _targets(node[2])
    elif tag == "with":
        yield from (name for _, target in node[2] if target is not None for name in _targets(target))
    elif tag == "comp":
        yield from (name for clause in node[4] for name in _targets(clause[0]))
    elif tag == "walrus":
        yield node[2]
    elif tag == "fn":
        yield node[2][0]
    elif tag == "def":
        yield name_of_block(node[2])
    elif tag == "class":
        yield node[2]
    elif tag == "try":
        yield from (handler[1] for handler in node[3] if handler[1] is not None)
    elif tag in ("import", "from"):
        names = node[2] if tag == "import" else node[4]
        yield from (name[1] or name[0].split(".", 1)[0] for name in names)


def name_of_block(key: str) -> str:
    """The own name of the function that a block's key stands for."""
    return key.rsplit(".", 1)[-1].split("~", 1)[0]


def _targets(target: Node) -> Iterator[str]:
    """The names in a target; of `a.b = …` and `a[0] = …` the object, which changes too."""
    if target[0] == "name":
        yield target[2]
    elif target[0] in ("attr", "sub", "star"):
        yield from _targets(target[2])
    elif target[0] in ("tuple", "list"):
        for item in target[2]:
            yield from _targets(item)
