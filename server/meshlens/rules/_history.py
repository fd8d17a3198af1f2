"""Which names of JAX a file uses that have a history, each place once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

from meshlens.axes.records import ApiMention
from meshlens.jaxapi.history import Change, change
from meshlens.project.view import FileView
from meshlens.rules._spelled_names import spelled_names
from meshlens.text import Span


@dataclass(frozen=True, slots=True)
class Dated:
    """A place that names something of JAX's history.

    Attributes:
        mention: the name in an import, or the attribute.
        change: what became of it.
        span: the place.
    """

    mention: ApiMention
    change: Change
    span: Span


def dated_names(view: FileView, wanted: Callable[[Change], bool]) -> Iterator[Dated]:
    """The places that name something whose change is wanted, in order.

    A name that was imported is reported at its import, not where it is used; of `jax.a.b.c` only the longest part
    that has a history of its own counts.  What is guarded on a route is left out, unless another one certainly leads
    there without a guard; where a test expects the code to raise, that holds for its route alone.

    Args:
        view: the file.
        wanted: says which changes matter.
    """
    found: dict[Span, Dated] = {}
    guarded: set[Span] = set()
    reached_freely: set[Span] = set()
    certain: set[Span] = set()
    reached = {mention.site for mention in view.records.mentions}
    unreached = (mention for mention in spelled_names(view) if mention.site not in reached)
    for mention in chain(view.records.mentions, unreached):
        row = change(mention.dotted)
        if row is None or not wanted(row) or (row.dotted != mention.dotted and not mention.imported):
            continue
        span = view.span(mention.site)
        if mention.guarded is True:
            guarded.add(span)
        elif not mention.guarded:
            reached_freely.add(span)
            if mention.certain:
                certain.add(span)
        found.setdefault(span, Dated(mention, row, span))
    imported = {dated.mention.dotted for dated in found.values() if dated.mention.imported}
    outermost: list[Dated] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        dated = found[span]
        if (span in guarded or span not in reached_freely) and span not in certain:
            continue
        if any(other.span.contains(span) for other in outermost[-1:]):
            continue
        if not dated.mention.imported and any(dated.mention.dotted.startswith(f"{name}.") for name in imported):
            continue
        outermost.append(dated)
    yield from outermost
