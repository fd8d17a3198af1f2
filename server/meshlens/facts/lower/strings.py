"""Lowers string literals: plain ones to their exact value, f-strings to their parts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

from meshlens.facts.lower.lowering import ExpressionHandler, Lowering, expression, mark, mark_between, new
from meshlens.facts.nodes import Constant, Expression, FString, Opaque
from meshlens.syntax.kinds import items, kind
from meshlens.syntax.parse import Node

_STRING = kind("string")
_INTERPOLATION = kind("interpolation")
_FORMAT = kind("format_specifier")
_CONVERSION = kind("type_conversion")
_CONTENT = kind("string_content")
_NAMED = kind("named_expression")
_QUOTES = (b'"""', b"'''")
_PREFIX = re.compile(rb"[A-Za-z]*")
_ESCAPE = re.compile(
    r"\\(?:(\n|[\\'\"abfnrtv])|([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{([^}]+)\}|([xuUN]))"
)
_SINGLE = {"\n": "", "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def unescape(text: str) -> str | None:
    """Returns the value of the text inside a string literal; None if it is invalid in Python or has no UTF-8 form.

    Args:
        text: the characters between the quotes, with plain newlines as line ends.
    """
    try:
        value = _ESCAPE.sub(_replacement, text)
        value.encode()
    except (KeyError, ValueError):
        return None
    return value


def _replacement(match: re.Match[str]) -> str:
    single, octal, *hexadecimal, name, malformed = match.groups()
    if single is not None:
        return _SINGLE.get(single, single)
    if octal is not None:
        return chr(int(octal, 8))
    if name is not None:
        return unicodedata.lookup(name)
    if malformed is not None:
        raise ValueError(malformed)
    return chr(int(next(digits for digits in hexadecimal if digits is not None), 16))


def _value(body: bytes, *, raw: bool) -> str | None:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return text if raw or "\\" not in text else unescape(text)


def _plain(literal: bytes) -> tuple[str, str | None]:
    """Returns the prefix of a literal in lower case, and its value if it is a valid plain string."""
    prefix = ""
    if literal[0] not in b"\"'":
        match = _PREFIX.match(literal)
        prefix = match[0].decode().lower() if match else ""
        literal = literal[len(prefix) :]
        if prefix not in ("r", "u"):
            return prefix, None
    body = literal[3:-3] if literal[:3] in _QUOTES and len(literal) >= 6 else literal[1:-1]
    return prefix, _value(body, raw=prefix == "r")


def _string(low: Lowering, node: Node) -> Expression:
    site = mark(low, node)
    start, end = low.spans[site]
    prefix, value = _plain(low.source[start:end])
    if value is not None:
        return new(Constant, ("const", site, value))
    if prefix in ("f", "rf", "fr"):
        return FString("fstr", site, tuple(_parts(low, node, raw="r" in prefix)))
    return Opaque("opaque", site, ())


def _parts(low: Lowering, node: Node, *, raw: bool) -> list[Expression]:
    found: list[Expression] = []
    for child in items(node):
        if child.kind_id == _INTERPOLATION:
            found.append(_interpolation(low, child))
        elif child.kind_id == _CONTENT:
            start, end = child.byte_range
            value = _value(low.source[start:end].replace(b"{{", b"{").replace(b"}}", b"}"), raw=raw)
            site = mark_between(low, start, end)
            found.append(Opaque("opaque", site, ()) if value is None else Constant("const", site, value))
    return found


def _interpolation(low: Lowering, node: Node) -> Expression:
    found = items(node)
    # Anything besides the braces and one expression is a conversion, a format or `=`, and changes the text.
    if len(found) == 1 and node.child_count == 3 and found[0].kind_id != _NAMED:
        return expression(low, found[0])
    site = mark(low, node)
    return Opaque("opaque", site, tuple([expression(low, inner) for inner in _inside(found)]))


def _inside(found: list[Node]) -> Iterator[Node]:
    for child in found:
        if child.kind_id == _FORMAT:
            yield from (items(nested)[0] for nested in items(child))
        elif child.kind_id == _NAMED:
            # The grammar mistakes the `:=` of `{x:=8}` for an assignment, which Python accepts here only in
            # parentheses.
            yield items(child)[0]
        elif child.kind_id != _CONVERSION:
            yield child


def _concatenated(low: Lowering, node: Node) -> Expression:
    site = mark(low, node)
    values: list[str] = []
    found: list[Expression] = []
    formatted = False
    for child in items(node):
        if child.kind_id != _STRING:
            return Opaque("opaque", site, ())
        start, end = child.byte_range
        prefix, value = _plain(low.source[start:end])
        if value is not None:
            values.append(value)
            found.append(Constant("const", mark_between(low, start, end), value))
        elif prefix in ("f", "rf", "fr"):
            formatted = True
            found.extend(_parts(low, child, raw="r" in prefix))
        else:
            return Opaque("opaque", site, ())
    return FString("fstr", site, tuple(found)) if formatted else Constant("const", site, "".join(values))


STRINGS: Mapping[str, ExpressionHandler] = {
    "string": _string,
    "concatenated_string": _concatenated,
}
