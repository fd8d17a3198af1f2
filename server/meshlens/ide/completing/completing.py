"""The parts that completions are made of: the place, the client's abilities, and the names to offer there."""

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
        placeholders: it understands `${1:text}` in what is inserted.
        snippets: the snippets to offer; none for a client that brings its own.
        edits_elsewhere: what is inserted may come with edits of other lines of the file.
    """

    placeholders: bool = False
    snippets: tuple[Snippet, ...] = ()
    edits_elsewhere: bool = True


@dataclass(frozen=True, slots=True)
class Completion:
    """One thing that may be inserted.

    Attributes:
        label: what the list shows.
        insert: what replaces the span; with placeholders where `is_snippet`.
        span: what is replaced, in bytes; it lies on one line and holds the cursor.
        kind: "axis", "skeleton" or "snippet".
        detail: what it is, in a few words.
        documentation: Markdown, "" for none.
        is_snippet: whether `insert` has placeholders.
        sort: orders the list.
        filter: what the typed text is compared with.
        others: edits of other lines that come with it.
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
    """Where something is to be completed.

    Attributes:
        view: the file.
        before: the file when it was last whole.
        typed: what stands around the cursor.
        calls: the calls around it, innermost first.
        wants: what the client can show.
    """

    view: FileView
    before: FileView | None
    typed: Typed
    calls: tuple[TypedCall, ...]
    wants: CompletionWants

    @property
    def views(self) -> tuple[FileView, ...]:
        """The file as it is now, then as it was."""
        return (self.view,) if self.before is None else (self.view, self.before)


def axis_names(place: Place, named: Iterable[tuple[str, str]]) -> tuple[Completion, ...]:
    """Completions for axis names, in this order.

    Inside a string they replace its contents; where an argument begins they bring their quotes.
    Names that stand beside the cursor in the same tuple or spec are left out, as an axis may be named once.

    Args:
        place: the place.
        named: names, with what binds each in words.
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
            # An editor compares with the text that it replaces, so quotes that are not typed yet are left out.
            found.append(Completion(name, text, span, "axis", detail, sort=f"{len(found):03}", filter=name))
    return tuple(found)


def _begins_argument(source: bytes, offset: int) -> bool:
    return source[max(0, offset - MOST_BLANKS) : offset].rstrip()[-1:] in (b"(", b",", b"=", b"[", b"{")


def _fits(name: str, written: str, quote: str, wants: CompletionWants) -> bool:
    """Tells if to offer a name for what is written of it; a client without placeholders compares with the insertion."""
    if quote:
        return name.startswith(written) and (wants.placeholders or not written)
    return wants.placeholders or name.startswith(written)


def _beside(place: Place) -> frozenset[str]:
    """The strings around the cursor in its tuple or spec."""
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
