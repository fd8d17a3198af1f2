"""The nodes at a cursor, from the smallest expression to the whole block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from meshlens.axes.domain.values import Site
from meshlens.facts.model import Block
from meshlens.facts.nodes import (
    Argument,
    Call,
    ClassDef,
    Constant,
    For,
    FunctionDef,
    FunctionShape,
    If,
    Import,
    ImportFrom,
    Lambda,
    Match,
    Parameter,
    TreeNode,
    TreePart,
    Try,
    While,
    With,
    is_node,
)
from meshlens.project.view import FileView
from meshlens.text import Span

_COMPOUND = (If, For, While, With, Try, Match)


class Part(NamedTuple):
    """A node or name at the cursor.

    Attributes:
        kind: the tag of a node; or "argument" for a whole argument, "parameter", "imported" for a name in an import,
            "defined" for the name in a `def`, "function" for the whole function.
        site: its site.
        shape: the node.
    """

    kind: str
    site: Site
    shape: TreePart


def parts_at(view: FileView, offset: int) -> tuple[Part, ...]:
    """Returns the parts that contain an offset, the smallest first; an offset at the end of a part counts as inside.

    Args:
        view: the file.
        offset: UTF-8 bytes from the start of the file.

    Returns:
        The parts; empty if no statement contains the offset.
    """
    block = _innermost_block(view, offset)
    if block is None:
        return ()
    walk = _Walk(str(view.path), block, offset)
    found = list(walk.whole())
    return tuple(reversed(found))


def _innermost_block(view: FileView, offset: int) -> Block | None:
    best: tuple[int, Block] | None = None
    for block in view.facts.blocks.values():
        span = block.span(0)
        if span.start <= offset <= span.end and (best is None or span.end - span.start < best[0]):
            best = span.end - span.start, block
    return best[1] if best is not None else None


class _Walk(NamedTuple):
    path: str
    block: Block
    offset: int

    def whole(self) -> Iterator[Part]:
        shape = self.block.shape
        if isinstance(shape, FunctionShape):
            yield from self._function(shape, 0)
        else:
            yield from self._node(shape)

    def _holds(self, site: int) -> bool:
        span: Span = self.block.span(site)
        return span.start <= self.offset <= span.end

    def _part(self, kind: str, site: int, shape: TreePart) -> Part:
        return Part(kind, Site(self.path, self.block.key, site), shape)

    def _node(self, node: TreeNode) -> Iterator[Part]:
        yield self._part(node.tag, node.site, node)
        if isinstance(node, Constant):
            return
        if isinstance(node, Call):
            yield from self._first((node.callee,), node.arguments)
        elif isinstance(node, ClassDef):
            yield from self._first((node.decorators, node.body), node.bases)
        elif isinstance(node, FunctionDef):
            yield from self._function(node.function, node.site)
        elif isinstance(node, Lambda):
            yield from self._parameters(node.parameters) or self._children((node.body,))
        elif isinstance(node, (Import, ImportFrom)):
            for name in node.names:
                if self._holds(name.site):
                    yield self._part("imported", name.site, name)
                    return
        else:
            yield from self._children(node)

    def _first(self, children: Iterable[object], arguments: tuple[Argument, ...]) -> Iterator[Part]:
        found = list(self._children(children))
        if found:
            yield from found
            return
        for argument in arguments:
            if self._holds(argument.site):
                yield self._part("argument", argument.site, argument)
                yield from self._children((argument.value,))
                return

    def _function(self, shape: FunctionShape, site: int) -> Iterator[Part]:
        yield self._part("function", site, shape)
        name_site, parameters, decorators, body = shape.site, shape.parameters, shape.decorators, shape.body
        if self._holds(name_site):
            yield self._part("defined", name_site, shape)
            return
        yield from self._parameters(parameters) or self._children((decorators, body))

    def _parameters(self, parameters: tuple[Parameter, ...]) -> list[Part]:
        for parameter in parameters:
            if parameter.name and self._holds(parameter.site):
                return [self._part("parameter", parameter.site, parameter)]
            inside = list(self._children((parameter.default, parameter.annotation)))
            if inside:
                return inside
        return []

    def _children(self, shapes: Iterable[object]) -> Iterator[Part]:
        """Yields the parts of the first node that contains the offset, among the given nodes and nested tuples."""
        for shape in shapes:
            if is_node(shape):
                if self._holds(shape.site):
                    yield from self._node(shape)
                    return
            elif isinstance(shape, tuple):
                found = list(self._children(shape))
                if found:
                    yield from found
                    return


def nodes_in(shapes: object) -> Iterator[TreeNode]:
    """Yields every node in a shape, outer ones first, without entering nested functions."""
    waiting: list[object] = [shapes]
    while waiting:
        shape = waiting.pop()
        if is_node(shape):
            yield shape
            if isinstance(shape, (FunctionDef, Lambda, Constant)):
                continue
        if isinstance(shape, tuple) and not isinstance(shape, FunctionShape):
            waiting.extend(reversed(tuple(shape)))


def statements_in(body: object) -> Iterator[TreeNode]:
    """Yields the statements of a function's body, even in loops and conditions, but not in nested functions or classes.

    Also yields the expressions in the headers of compound statements.
    """
    waiting: list[object] = [body]
    while waiting:
        shape = waiting.pop()
        if is_node(shape):
            yield shape
            if not isinstance(shape, _COMPOUND):
                continue
        if isinstance(shape, tuple):
            waiting.extend(reversed(tuple(shape)))


def expression_at(parts: tuple[Part, ...]) -> int | None:
    """Returns the index of the whole dotted name under the cursor: `jax.lax.psum` for a cursor on `lax`."""
    if not parts or parts[0].kind not in ("name", "attr"):
        return None
    place = 0
    while place + 1 < len(parts) and parts[place + 1].kind == "attr":
        place += 1
    return place


def call_of(parts: tuple[Part, ...], place: int) -> Part | None:
    """Returns the call whose callee is the expression at an index."""
    above = parts[place + 1] if place + 1 < len(parts) else None
    if above is not None and isinstance(above.shape, Call) and above.shape.callee is parts[place].shape:
        return above
    return None


def arguments_of(call: Part) -> frozenset[Site]:
    """Returns the expressions that are the arguments of a call."""
    given = call.shape.arguments if isinstance(call.shape, Call) else ()
    return frozenset(Site(call.site.path, call.site.block, argument.value.site) for argument in given)
