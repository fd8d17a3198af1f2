"""Finds a file's uses of names and keywords that changed between JAX releases, and reports each place once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from meshlens.axes.domain.values import Site
from meshlens.axes.runs.records import ApiMention
from meshlens.axes.worth.words import said_by
from meshlens.checking.spelled_names import spelled_names
from meshlens.facts.nodes import Call, ClassDef, FunctionDef, If, SeparateDef, Try
from meshlens.facts.walking import nodes, nodes_around
from meshlens.jaxapi.history import (
    NEWEST,
    Change,
    KeywordChange,
    change,
    changed_keywords,
    functions_with_dated_keywords,
    keyword_change,
)
from meshlens.jaxapi.keywords import keywords
from meshlens.jaxapi.names import canonical
from meshlens.project.view import FileView
from meshlens.project.writing.import_statements import local_name
from meshlens.rules.helpers.uses_of_names import UsesOfNames
from meshlens.text import Span


@dataclass(frozen=True, slots=True)
class Dated:
    """A mention of a JAX name that changed between releases.

    Attributes:
        mention: the name in an import, or the attribute.
        change: the change to that name.
        span: the span of the name.
    """

    mention: ApiMention
    change: Change
    span: Span


def is_removed(row: Change | KeywordChange, version: tuple[int, ...]) -> bool:
    """Returns whether a release of JAX lacks a name or a keyword that older ones have."""
    return row.removed is not None and row.removed <= version


@dataclass(frozen=True, slots=True)
class DatedKeyword:
    """A keyword argument that changed between JAX releases.

    Attributes:
        change: the change to that keyword.
        span: the argument, keyword and value.
    """

    change: KeywordChange
    span: Span


def dated_names(view: FileView, wanted: Callable[[Change], bool]) -> Iterator[Dated]:
    """Yields the names with a wanted change, in the order of the file.

    An imported name is reported at its import, not at its uses; in `jax.a.b.c`, only the longest part that itself
    changed counts. A guarded place is skipped, unless another route certainly reaches it without a guard; a test that
    expects the code to raise guards only its own route.

    Args:
        view: the file.
        wanted: selects the changes.
    """
    found: dict[Span, Dated] = {}
    for span, mention in _reported(view, lambda mention: _dated(mention, wanted) is not None).items():
        row = _dated(mention, wanted)
        if row is not None:
            found[span] = Dated(mention, row, span)
    imported = {dated.mention.dotted for dated in found.values() if dated.mention.imported}
    outermost: list[Dated] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        dated = found[span]
        if any(other.span.contains(span) for other in outermost[-1:]):
            continue
        if not dated.mention.imported and any(dated.mention.dotted.startswith(f"{name}.") for name in imported):
            continue
        outermost.append(dated)
    yield from outermost


def dated_keywords(view: FileView, wanted: Callable[[KeywordChange], bool]) -> Iterator[DatedKeyword]:
    """Yields the keyword arguments with a wanted change, for functions without a full signature in the tables.

    Args:
        view: the file.
        wanted: selects the changes.
    """
    functions = changed_keywords()
    if not any(mention.dotted in functions for mention in chain(view.records.mentions, spelled_names(view))):
        return
    written = functions_with_dated_keywords(view.source)
    names = UsesOfNames(view)
    for mention in _reported(view, lambda mention: _takes_dated_keywords(mention, written)).values():
        whole = change(mention.dotted)
        if whole is not None and whole.removed is not None and whole.removed <= view.jax_version:
            continue
        name = local_name(view, mention.site) if mention.imported else None
        calls = _calls_of(names, name) if name is not None else _call_at(view, mention.site)
        for site, call in calls:
            for label, at, _ in call.arguments:
                row = keyword_change(mention.dotted, label) if label else None
                if row is not None and wanted(row):
                    yield DatedKeyword(row, view.span(site._replace(index=at)))


def _takes_dated_keywords(mention: ApiMention, written: frozenset[str]) -> bool:
    return mention.dotted in written and keywords(canonical(mention.dotted), NEWEST) is None


def _calls_of(names: UsesOfNames, name: str) -> list[tuple[Site, Call]]:
    return [(use.site, use.call) for use in names.of(name) if use.call is not None and not use.partial]


def _call_at(view: FileView, site: Site) -> list[tuple[Site, Call]]:
    block = view.facts.blocks.get(site.block)
    around = nodes_around(block, site.index) if block is not None else ()
    calls = (node for node in around if isinstance(node, Call))
    return [(site, node) for node in calls if node.callee.site == site.index]


def _dated(mention: ApiMention, wanted: Callable[[Change], bool]) -> Change | None:
    row = change(mention.dotted)
    if row is None or not wanted(row) or (row.dotted != mention.dotted and not mention.imported):
        return None
    return row


def _reported(view: FileView, matters: Callable[[ApiMention], bool]) -> dict[Span, ApiMention]:
    """Returns the selected mentions by span, without those that a guard keeps from running."""
    found: dict[Span, ApiMention] = {}
    guarded: set[Span] = set()
    reached_freely: set[Span] = set()
    certain: set[Span] = set()
    reached = {mention.site for mention in view.records.mentions}
    unreached = (mention for mention in spelled_names(view) if mention.site not in reached)
    for mention in chain(view.records.mentions, unreached):
        if not matters(mention):
            continue
        span = view.span(mention.site)
        if mention.guarded is True:
            guarded.add(span)
        elif not mention.guarded:
            reached_freely.add(span)
            if mention.certain:
                certain.add(span)
        found.setdefault(span, mention)
    free = (reached_freely - guarded) | certain
    shielded = _definitions_for_releases(view) if found else ()
    return {
        span: mention
        for span, mention in found.items()
        if span in free and not any(one.contains(span) for one in shielded)
    }


def _definitions_for_releases(view: FileView) -> list[Span]:
    """Returns the top-level statements that define different functions for different JAX releases."""
    found = []
    for key in view.facts.top:
        block = view.facts.blocks[key]
        shape = block.shape
        asks = isinstance(shape, If) and said_by(shape.test).version
        chooses = asks or (isinstance(shape, Try) and shape.handlers)
        if chooses and any(isinstance(node, (FunctionDef, SeparateDef, ClassDef)) for node in nodes(shape)):
            found.append(block.span(0))
    return found
