"""Places for a new statement whose names an expression can use."""

from __future__ import annotations

from dataclasses import dataclass

from meshlens.axes.domain.values import Site
from meshlens.facts.model import Block
from meshlens.facts.nodes import (
    AnnAssign,
    Assert,
    Assign,
    AugAssign,
    ClassDef,
    Comprehension,
    Constant,
    ExpressionStatement,
    FunctionDef,
    If,
    Import,
    ImportFrom,
    Lambda,
    Try,
)
from meshlens.project.trees import Node, path_to
from meshlens.project.view import FileView
from meshlens.project.writing.new_imports import end_of_line

_STATEMENTS = frozenset(
    "expr assign ann aug fn class return raise if while for with try global nonlocal del assert match".split()
)
_BETWEEN_IMPORTS = (Import, ImportFrom, ExpressionStatement, Assign, AnnAssign, AugAssign, If, Try, Assert)


@dataclass(frozen=True, slots=True)
class Place:
    """A place where a statement can begin.

    Attributes:
        at: the offset of its text, after the indentation.
        indent: the indentation.
        same_scope: whether names have the same meaning there as in the expression.
        definition: whether a function or class follows, which needs blank lines before it at the top level.
    """

    at: int
    indent: str
    same_scope: bool
    definition: bool

    def text(self, statement: str) -> str:
        """Returns the text to insert for a statement of one or more lines."""
        lines = statement.replace("\n", f"\n{self.indent}")
        gap = "\n\n\n" if self.definition and not self.indent else "\n"
        return f"{lines}{gap}{self.indent}"


def place_before(view: FileView, site: Site) -> Place | None:
    """Returns the nearest place before an expression; None if the expression is in a lambda or comprehension."""
    path = path_to(view, site)
    for number in range(len(path) - 1, -1, -1):
        node = path[number]
        if isinstance(node, (Lambda, Comprehension)):
            return None
        if node.tag not in _STATEMENTS:
            continue
        if _is_in_class(view, site, path[:number]):
            return _before_class(view, view.span(site).start)
        start = view.span(Site(site.path, site.block, node.site)).start
        indent = _indent(view, start)
        if indent is not None:
            return Place(start, indent, True, isinstance(node, (FunctionDef, ClassDef)))
    return None


def behind_imports(view: FileView, at: int = 0) -> tuple[int, int]:
    """Returns the end of a file's leading imports, and the number of blank lines after them.

    Args:
        view: the file.
        at: an offset; imports before it count as leading if only simple statements precede them.
    """
    last: Block | None = None
    is_first = True
    for key in view.facts.top:
        block = view.facts.blocks[key]
        is_import = isinstance(block.shape, (Import, ImportFrom))
        is_first = is_first and (is_import or _is_text(block))
        if not is_first and (block.span(0).start > at or not isinstance(block.shape, _BETWEEN_IMPORTS)):
            break
        if is_first or is_import:
            last = block
    end = end_of_line(view, last.end) if last is not None else 0
    rest = view.source[end:]
    blank = rest[: len(rest) - len(rest.lstrip())]
    return end, max(blank.count(b"\n") - (1 if end else 0), 0)


def _is_text(block: Block) -> bool:
    return bool(isinstance(block.shape, ExpressionStatement) and isinstance(block.shape.value, Constant))


def _is_in_class(view: FileView, site: Site, above: tuple[Node, ...]) -> bool:
    for node in reversed(above):
        if isinstance(node, FunctionDef):
            return False
        if isinstance(node, ClassDef):
            return True
    parent = view.facts.blocks.get(site.block.rpartition(".")[0])
    return parent is not None and isinstance(parent.shape, ClassDef)


def _before_class(view: FileView, offset: int) -> Place | None:
    for key in view.facts.top:
        span = view.facts.blocks[key].span(0)
        if span.start <= offset < span.end:
            indent = _indent(view, span.start)
            return Place(span.start, indent, False, True) if indent == "" else None
    return None


def _indent(view: FileView, start: int) -> str | None:
    """Returns the indentation before an offset; None if no statement can be inserted there."""
    line = view.source.rfind(b"\n", 0, start) + 1
    head = view.source[line:start]
    if head.strip() or view.source.startswith((b"elif", b"else"), start):
        return None
    return head.decode()
