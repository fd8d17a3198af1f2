"""Reads the parameters of a function as written, and adds one."""

from __future__ import annotations

import io
import re
import tokenize

from meshlens.project.trees import names_bound, names_used
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.functions import Target
from meshlens.text import Edit, FileEdit, Span

_BARE_STAR = re.compile(r"[(,]\s*(?P<star>\*\s*,\s*)")
AXIS_PARAMETER = "axis_name"
"""The usual name of an axis parameter in libraries."""


def new_parameter(view: FileView, target: Target, name: str) -> FileEdit:
    """Returns the edit that adds a parameter with the default None to a function.

    Raises:
        Obstacle: the function already uses the name, or its parameter list has no room for another parameter.
    """
    if name in names_used(target.node) | names_bound(target.body) | {
        one.name for one in target.node.function.parameters
    }:
        raise Obstacle("axis-parameter", f'"{target.name}" already uses the name "{name}"')
    if any(how not in ("only", "any") for _, _, how, _, _ in target.node.function.parameters):
        raise Obstacle("parameters", f'"{target.name}" takes arguments that pmap cannot map by position')
    start = view.span(target.site).end
    text = view.source[start : view.span(target.at(target.node.site)).end].decode("utf-8", "replace")
    close = _closing(text)
    if close is None:
        raise Obstacle("parameters", f'the parameters of "{target.name}" cannot be read')
    body = text[:close].rstrip()
    at = start + len(body.encode())
    if "#" in text[:close].rsplit("\n", 1)[0].rsplit("\n", 1)[-1]:
        raise Obstacle("comments", f'there are comments between the parameters of "{target.name}"; move them first')
    if "\n" not in text[:close] or not body.endswith(","):
        added = f" {name}=None" if body.endswith(",") else f", {name}=None"
        return FileEdit(view.path, Edit(Span(at, at), added))
    last = body.rsplit("\n", 1)[-1]
    indent = last[: len(last) - len(last.lstrip())]
    return FileEdit(view.path, Edit(Span(at, at), f"\n{indent}{name}=None,"))


def must_go_by_position(target: Target) -> None:
    """Checks that all arguments of a function can be passed by position after its bare star is removed.

    Raises:
        Obstacle: the function takes any number of arguments, or a required parameter follows an optional one.
    """
    parameters = target.parameters
    if any(one.how not in ("only", "any", "key") for one in parameters):
        raise Obstacle("parameters", f'"{target.name}" takes arguments that pmap cannot map by position')
    needed = [one.default is None for one in parameters]
    if needed != sorted(needed, reverse=True):
        late = next(one.name for place, one in enumerate(parameters) if needed[place] and not all(needed[:place]))
        message = f'"{late}" of "{target.name}" is keyword-only; move it before the parameters with defaults'
        raise Obstacle("parameters", message)


def without_star(view: FileView, target: Target) -> list[FileEdit]:
    """Returns the edits that make keyword-only parameters positional, since a map passes nothing by keyword.

    Raises:
        Obstacle: the function's parameters cannot be parsed.
    """
    if all(one.how != "key" for one in target.parameters):
        return []
    start = view.span(target.site).end
    text = view.source[start : view.span(target.at(target.node.site)).end].decode("utf-8", "replace")
    close = _closing(text)
    found = list(_BARE_STAR.finditer(text[:close])) if close is not None else []
    if len(found) != 1:
        raise Obstacle("parameters", f'the parameters of "{target.name}" cannot be read')
    at, end = (start + len(text[:place].encode()) for place in found[0].span("star"))
    return [FileEdit(view.path, Edit(Span(at, end), ""))]


def _closing(text: str) -> int | None:
    """Returns the offset of the parenthesis that closes the first one in a string; None if there is none."""
    lines = text.splitlines(keepends=True)
    depth = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type != tokenize.OP:
                continue
            depth += (token.string in "([{") - (token.string in ")]}")
            if depth == 0 and token.string == ")":
                row, column = token.start
                return sum(map(len, lines[: row - 1])) + column
    except (tokenize.TokenError, SyntaxError):
        return None
    return None
