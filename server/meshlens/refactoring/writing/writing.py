"""Writes calls as formatters do: on one line if they fit, else with the arguments on the next line or one per line."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from meshlens.facts.nodes import ClassDef, FunctionDef
from meshlens.project.trees import Node
from meshlens.project.view import FileView
from meshlens.text import Edit, FileEdit, Span, apply

_WIDTHS = (88, 100, 120)
_SINGLE = re.compile(rb"(?<!')'[^'\n]*'(?!')")
_DOUBLE = re.compile(rb'(?<!")"[^"\n]*"(?!")')


@dataclass(frozen=True, slots=True)
class Source:
    """Text that is already in the file.

    Attributes:
        text: the text.
        indent: the indentation of its first line; the others may have more.
    """

    text: str
    indent: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call to write.

    Attributes:
        callee: its source.
        arguments: the arguments in order.
    """

    callee: str
    arguments: tuple[str | Source | Call, ...]


def call_text(call: Call, indent: str, width: int, taken: int) -> str:
    """Returns the source of a call.

    Args:
        call: the call.
        indent: the indentation of its first line.
        width: the maximum length of a line.
        taken: the number of other characters on its line.
    """
    flat = _flat(call)
    if "\n" not in flat and len(flat) + taken <= width:
        return flat
    inner = indent + "    "
    together = flat[len(call.callee) + 1 : -1]
    if "\n" not in together and len(inner) + len(together) <= width:
        return f"{call.callee}(\n{inner}{together}\n{indent})"
    comma = "," if len(call.arguments) > 1 else ""
    lines = [f"{inner}{_part(part, inner, width)}{comma}\n" for part in call.arguments]
    return f"{call.callee}(\n{''.join(lines)}{indent})"


def _part(part: str | Source | Call, indent: str, width: int) -> str:
    if isinstance(part, Call):
        return call_text(part, indent, width, len(indent) + 1)
    if isinstance(part, str):
        return part
    if '"""' in part.text or "'''" in part.text:
        return part.text
    first, *rest = part.text.split("\n")
    moved = [indent + line.removeprefix(part.indent) if line.startswith(part.indent) else line for line in rest]
    return "\n".join([first, *(line if line.strip() else "" for line in moved)])


def listed(items: Sequence[object]) -> str:
    """Returns the source of a tuple."""
    return f"({', '.join(map(str, items))}{',' * (len(items) == 1)})"


def width_of(view: FileView) -> int:
    """Returns the maximum line length of a file, inferred from its lines."""
    longest = max((len(line) for line in view.source.splitlines()), default=0)
    return next((width for width in _WIDTHS if longest <= width), _WIDTHS[-1])


def quoted(view: FileView, text: str) -> str:
    """Returns a string literal with the quotes that a file mostly uses."""
    single, double = len(_SINGLE.findall(view.source)), len(_DOUBLE.findall(view.source))
    return f"'{text}'" if single > double and "'" not in text else f'"{text}"'


def comments_in(text: str) -> tuple[str, ...]:
    """Returns the comments inside an expression, including their "#"."""
    if "#" not in text:
        return ()
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(f"({text}\n)").readline))
    except (tokenize.TokenError, SyntaxError):
        return ()
    return tuple(token.string for token in tokens if token.type == tokenize.COMMENT)


def wrapping(view: FileView, span: Span, before: str, after: str) -> list[FileEdit]:
    """Returns edits that put text around an expression."""
    return [
        FileEdit(view.path, Edit(Span(at, at), text)) for at, text in ((span.start, before), (span.end, after)) if text
    ]


def enclosing(view: FileView, span: Span, callee: str) -> list[FileEdit]:
    """Returns the edits that wrap an expression in a call, and reindent it if it has several lines."""
    text = view.source[span.start : span.end].decode("utf-8", "replace")
    if "\n" not in text:
        return wrapping(view, span, f"{callee}(", ")")
    indent, taken = around(view, span)
    written = call_text(Call(callee, (Source(text, indent),)), indent, width_of(view), taken)
    return [FileEdit(view.path, Edit(span, written))]


def apply_within(view: FileView, span: Span, edits: Iterable[FileEdit]) -> str:
    """Returns the text of a span with the edits inside it applied."""
    inside = (one.edit for one in edits if span.contains(one.edit.span))
    moved = (Edit(Span(one.span.start - span.start, one.span.end - span.start), one.text) for one in inside)
    return apply(view.source[span.start : span.end], moved).decode("utf-8", "replace")


def lines_before(view: FileView, statement: Node, start: int, lines: list[str]) -> FileEdit:
    """Returns the edit that puts lines before a statement, with a blank line before a definition as formatters do.

    Args:
        view: the file.
        statement: the statement.
        start: where it begins.
        lines: the lines, without their indentation.
    """
    indent, _ = around(view, Span(start, start))
    gap = "\n" if isinstance(statement, (FunctionDef, ClassDef)) else ""
    text = f"\n{indent}".join(lines)
    return FileEdit(view.path, Edit(Span(start, start), f"{text}\n{gap}{indent}"))


def in_order(edits: Iterable[FileEdit]) -> tuple[FileEdit, ...]:
    """Returns edits with insertions at one place merged, because editors disagree on their order."""
    found: dict[tuple[Path, Span], str] = {}
    for path, (span, text) in edits:
        before = found.get((path, span), "")
        # Both definitions bring blank lines: keep only one set.
        found[path, span] = (before.rstrip("\n") if text.startswith("\n\n\n") else before) + text
    return tuple(FileEdit(path, Edit(span, text)) for (path, span), text in found.items())


def around(view: FileView, span: Span) -> tuple[str, int]:
    """Measures the lines of a span.

    Returns:
        The indentation of the first line, and the number of characters outside the span on its first and last lines.
    """
    start = view.source.rfind(b"\n", 0, span.start) + 1
    end = view.source.find(b"\n", span.end)
    head = view.source[start : span.start].decode("utf-8", "replace")
    tail = view.source[span.end : end if end >= 0 else len(view.source)].decode("utf-8", "replace").rstrip()
    return head[: len(head) - len(head.lstrip())], len(head) + len(tail)


def _flat(part: str | Source | Call) -> str:
    if isinstance(part, Call):
        return f"{part.callee}({', '.join(map(_flat, part.arguments))})"
    return part.text if isinstance(part, Source) else part
