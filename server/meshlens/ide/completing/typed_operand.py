"""The operand of a map that is being typed: its function argument, or the function that it decorates."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from meshlens.axes.domain.values import Value
from meshlens.ide.completing.completing import Place
from meshlens.ide.completing.spelled import value_of
from meshlens.ide.completing.tokens import arguments_at
from meshlens.ide.completing.typed_call import TypedCall
from meshlens.ide.hovering.environment import function_in
from meshlens.jaxapi.binding import Binder
from meshlens.text import Span

_DECORATED = re.compile(rb"\n([ \t]*)(?:async[ \t]+)?def[ \t]+([\w\x80-\xff]+)[ \t]*(\()")
_LAMBDA = re.compile(rb"\s*lambda\b([^:]*):")
MOST_BYTES = 4_000


@dataclass(frozen=True, slots=True)
class Operand:
    """A function that a map is applied to.

    Attributes:
        name: its name, "" for a lambda.
        value: the value of the name, if known.
        name_span: the span of its name in this file, if found.
        parameters: the names of its positional parameters without a default; None if unknown.
        text: its text in this file, if found.
    """

    name: str
    value: Value | None
    name_span: Span | None
    parameters: tuple[str, ...] | None
    text: Span | None


def operand_at(place: Place, call: TypedCall, row: Binder) -> Operand | None:
    """Returns the operand of a map; None if the text has no operand yet."""
    source = place.view.source
    line = source.rfind(b"\n", 0, call.at) + 1
    if source[line : call.at].lstrip().startswith(b"@"):
        return _decorated(source, place.typed.offset)
    given = call.argument(row.operand, 0)
    if given is None or (given is call.current and given.keyword is None):
        return None
    found = _LAMBDA.match(source, given.value.start, given.value.end)
    if found is not None:
        return Operand("", None, None, _plain(found[1].decode("utf-8", "replace").split(",")), given.value)
    name = source[given.value.start : given.value.end].decode("utf-8", "replace")
    return _named(place, name)


def _named(place: Place, name: str) -> Operand | None:
    value = next((found for view in place.views if (found := function_in(value_of(view, name))) is not None), None)
    here = value is None or place.view.is_here(value.site)
    defined = _last_definition(place.view.source, name, place.typed.offset) if here else None
    if defined is not None:
        return replace(_definition(place.view.source, defined), value=value)
    if value is None:
        return None
    parameters = tuple(one[0] for one in value.parameters if one[2] in ("only", "any") and one[3] is None)
    return Operand(name, value, None, parameters, None)


def _last_definition(source: bytes, name: str, offset: int) -> re.Match[bytes] | None:
    """Returns the last definition of a function before an offset."""
    if not name.isidentifier():
        return None
    defined = re.compile(rb"^([ \t]*)(?:async[ \t]+)?def[ \t]+(%s)[ \t]*(\()" % re.escape(name.encode()), re.MULTILINE)
    return max(defined.finditer(source, 0, offset), key=re.Match.start, default=None)


def _decorated(source: bytes, offset: int) -> Operand | None:
    found = _DECORATED.search(source, offset, offset + MOST_BYTES)
    return _definition(source, found) if found is not None else None


def _definition(source: bytes, found: re.Match[bytes]) -> Operand:
    parameters = arguments_at(source, found.start(3))
    texts = [source[one.text.start : one.text.end].decode("utf-8", "replace") for one in parameters]
    left = re.compile(rb"\n[ \t]{0,%d}[^\s#)\]}]" % len(found[1]))
    end = left.search(source, found.end())
    name = found[2].decode("utf-8", "replace")
    body = Span(found.end(), end.start() if end is not None else len(source))
    return Operand(name, None, Span(*found.span(2)), _plain(texts), body)


def _plain(texts: list[str]) -> tuple[str, ...]:
    names = []
    for text in texts:
        if text.strip().startswith("*"):
            break
        if "=" in text:
            continue
        name = re.match(r"\s*(\w+)", text)
        if name is not None:
            names.append(name[1])
    return tuple(names)
