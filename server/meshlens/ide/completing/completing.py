"""Shared parts of completions: the place, the client's capabilities, and the axis names to offer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from meshlens.ide.completing.tokens import arguments_at
from meshlens.ide.completing.typed import Typed
from meshlens.ide.completing.typed_call import TypedCall
from meshlens.jaxapi.meshes import PARTITION_SPEC
from meshlens.project.snippets import Snippet
from meshlens.project.view import FileView
from meshlens.text import Edit, Span

MOST_BLANKS = 200

_STRING = re.compile(rb"[\"']([^\"'\n]*)[\"']")


@dataclass(frozen=True, slots=True)
class CompletionWants:
    """The completion features that a client supports.

    Attributes:
        placeholders: whether it understands `${1:text}` in the inserted text.
        snippets: the snippets to offer; none for a client with its own.
        edits_elsewhere: whether a completion may include edits to other lines.
    """

    placeholders: bool = False
    snippets: tuple[Snippet, ...] = ()
    edits_elsewhere: bool = True


@dataclass(frozen=True, slots=True)
class Completion:
    """A completion.

    Attributes:
        label: its text in the list.
        insert: the text that replaces the span; with placeholders if `is_snippet`.
        span: the replaced text, in bytes; it is on one line and contains the cursor.
        kind: "axis", "skeleton" or "snippet".
        detail: a short description.
        documentation: Markdown, "" for none.
        is_snippet: whether `insert` has placeholders.
        sort: its sort key.
        filter: the text to compare with the typed text.
        others: edits to other lines.
    """

    label: str
    insert: str
    span: Span
    kind: str
    detail: str
    documentation: str = ""
    is_snippet: bool = False
    sort: str = ""
    filter: str = ""
    others: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """A place for completions.

    Attributes:
        view: the file.
        before: the file when it last had no errors.
        typed: the text around the cursor.
        calls: the calls around the cursor, innermost first.
        wants: the capabilities of the client.
    """

    view: FileView
    before: FileView | None
    typed: Typed
    calls: tuple[TypedCall, ...]
    wants: CompletionWants

    @property
    def views(self) -> tuple[FileView, ...]:
        """Returns the current file, then the file before it was broken."""
        return (self.view,) if self.before is None else (self.view, self.before)


def axis_names(place: Place, named: Iterable[tuple[str, str]]) -> tuple[Completion, ...]:
    """Returns completions for axis names, in the given order.

    Inside a string, they replace its contents; at the start of an argument they include quotes. Names already in the
    same tuple or spec are omitted, since an axis may be named only once.

    Args:
        place: the place.
        named: the names, each with a description of its binder.
    """
    typed, source = place.typed, place.view.source
    quote = ""
    span = typed.word
    if typed.string is not None:
        span = typed.string.span
    elif typed.word.end > typed.offset or not _begins_argument(source, typed.word.start):
        return ()
    else:
        quote = "'" if source.count(b"'") > source.count(b'"') else '"'
    written = source[span.start : typed.offset].decode("utf-8", "replace")
    beside = _beside(place)
    found: list[Completion] = []
    for name, detail in _first(named):
        text = f"{quote}{name}{quote}"
        if name not in beside and _fits(name, written, quote, place.wants):
            # An editor filters by the text that it replaces, so the filter omits quotes that are not typed yet.
            found.append(Completion(name, text, span, "axis", detail, sort=f"{len(found):03}", filter=name))
    return tuple(found)


def _begins_argument(source: bytes, offset: int) -> bool:
    return source[max(0, offset - MOST_BLANKS) : offset].rstrip()[-1:] in (b"(", b",", b"=", b"[", b"{")


def _fits(name: str, written: str, quote: str, wants: CompletionWants) -> bool:
    """Returns whether to offer a name; a client without placeholder support gets only names that continue the text."""
    if quote:
        return name.startswith(written) and (wants.placeholders or not written)
    return wants.placeholders or name.startswith(written)


def _beside(place: Place) -> frozenset[str]:
    """Returns the other strings in the tuple or spec that contains the cursor."""
    source, typed = place.view.source, place.typed
    opening = typed.openings[0]
    call = place.calls[0] if place.calls else None
    if call is not None and call.dotted == PARTITION_SPEC:
        arguments = call.arguments
    elif opening.callee:
        return frozenset()
    else:
        arguments = arguments_at(source, opening.at)
    others = (source[one.text.start : one.text.end] for one in arguments if not _holds(one.text, typed.offset))
    return frozenset(found[1].decode("utf-8", "replace") for text in others for found in _STRING.finditer(text))


def _holds(span: Span, offset: int) -> bool:
    return span.start <= offset <= span.end


def _first(named: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for name, detail in named:
        if name and name not in seen:
            seen.add(name)
            yield name, detail
