"""What stands under a cursor, from the smallest expression to the whole block, as nodes of the facts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from meshlens.axes.values import Site
from meshlens.facts.model import Block
from meshlens.facts.nodes import FunctionShape
from meshlens.project.view import FileView
from meshlens.text import Span

_COMPOUND = frozenset({"if", "for", "while", "with", "try", "match"})


class Part(NamedTuple):
    """One thing that holds the cursor.

    Attributes:
        kind: the tag of a node; or "argument" for a whole argument, "parameter", "imported" for a name in an import,
            "defined" for the name in a `def`, "function" for the whole function.
        site: where it is.
        shape: the node; of an argument, parameter, imported name or function its tuple.
    """

    kind: str
    site: Site
    shape: Any


def parts_at(view: FileView, offset: int) -> tuple[Part, ...]:
    """What holds an offset, the smallest thing first; the end of a thing belongs to it.

    Args:
        view: the file.
        offset: UTF-8 bytes from the start of the file.

    Returns:
        Nothing outside every statement, in comments for example.
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

    def _part(self, kind: str, site: int, shape: Any) -> Part:
        return Part(kind, Site(self.path, self.block.key, site), shape)

    def _node(self, shape: Any) -> Iterator[Part]:
        tag, site = shape[:2]
        yield self._part(tag, site, shape)
        if tag == "const":
            return
        if tag == "call":
            yield from self._first(shape[2:3], shape[3])
        elif tag == "class":
            yield from self._first(shape[5:], shape[4])
        elif tag == "fn":
            yield from self._function(shape[2], site)
        elif tag == "lambda":
            yield from self._parameters(shape[2]) or self._children(shape[3:])
        elif tag in ("import", "from"):
            for name in shape[-1]:
                if self._holds(name[2]):
                    yield self._part("imported", name[2], name)
                    return
        else:
            yield from self._children(shape[2:])

    def _first(self, children: Any, arguments: Any) -> Iterator[Part]:
        found = list(self._children(children))
        if found:
            yield from found
            return
        for argument in arguments:
            if self._holds(argument[1]):
                yield self._part("argument", argument[1], argument)
                yield from self._children(argument[2:])
                return

    def _function(self, shape: Any, site: int) -> Iterator[Part]:
        yield self._part("function", site, shape)
        _, name_site, parameters, decorators, body, _ = shape
        if self._holds(name_site):
            yield self._part("defined", name_site, shape)
            return
        yield from self._parameters(parameters) or self._children((decorators, body))

    def _parameters(self, parameters: Any) -> list[Part]:
        for parameter in parameters:
            if parameter[0] and self._holds(parameter[1]):
                return [self._part("parameter", parameter[1], parameter)]
            inside = list(self._children(parameter[3:]))
            if inside:
                return inside
        return []

    def _children(self, shapes: Any) -> Iterator[Part]:
        """The parts in the first of some shapes, or of their nested lists, that holds the offset."""
        for shape in shapes:
            if not isinstance(shape, tuple) or not shape:
                continue
            if is_node(shape):
                if self._holds(shape[1]):
                    yield from self._node(shape)
                    return
            else:
                found = list(self._children(shape))
                if found:
                    yield from found
                    return


def is_node(shape: Any) -> bool:
    """Whether a tuple of a shape is a node, and no list of them."""
    return len(shape) > 1 and type(shape[0]) is str and type(shape[1]) is int


def nodes_in(shapes: Any) -> Iterator[Any]:
    """Every tuple of a shape that looks like a node, outer ones first; functions inside are not entered."""
    waiting = [shapes]
    while waiting:
        shape = waiting.pop()
        if not isinstance(shape, tuple) or not shape:
            continue
        if is_node(shape):
            yield shape
            if shape[0] in ("fn", "lambda", "const") or isinstance(shape, FunctionShape):
                continue
        waiting.extend(reversed(shape))


def statements_in(body: Any) -> Iterator[Any]:
    """Every statement of a function's body, also those in loops and conditions, none of a function inside."""
    waiting = [body]
    while waiting:
        shape = waiting.pop()
        if not isinstance(shape, tuple) or not shape:
            continue
        if is_node(shape):
            yield shape
            if shape[0] not in _COMPOUND:
                continue
        waiting.extend(reversed(shape))


def expression_at(parts: tuple[Part, ...]) -> int | None:
    """The index of the whole dotted name under the cursor: `jax.lax.psum` for a cursor on `lax`."""
    if not parts or parts[0].kind not in ("name", "attr"):
        return None
    place = 0
    while place + 1 < len(parts) and parts[place + 1].kind == "attr":
        place += 1
    return place


def call_of(parts: tuple[Part, ...], place: int) -> Part | None:
    """The call whose callee is the expression at an index."""
    above = parts[place + 1] if place + 1 < len(parts) else None
    if above is not None and above.kind == "call" and above.shape[2] is parts[place].shape:
        return above
    return None


def arguments_of(call: Part) -> frozenset[Site]:
    """The expressions that are the arguments of a call."""
    return frozenset(Site(call.site.path, call.site.block, argument[2][1]) for argument in call.shape[3])
