"""The report of `meshlens parallelize`: every refusal and, for a folder, counts by file and reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from meshlens.cli.request import shown
from meshlens.refactoring.everywhere import Outcome

Outcomes = Sequence[tuple[Path, Outcome]]


_ABOUT_THE_BATCH = ("which-batch", "nothing-to-split")
_PROCESSES = re.compile(rb"\b(?:process_(?:count|index)|host_(?:count|id))\(\)")


def report(outcomes: Outcomes, sources: Mapping[Path, bytes], verb: str, *, tables: bool) -> Iterator[str]:
    """Yields the lines of the report.

    Args:
        outcomes: the outcome at every place.
        sources: the texts of the files that change.
        verb: the action, such as "Converted".
        tables: whether to count by file and by reason.
    """
    refused = [(path, outcome, outcome.refused) for path, outcome in outcomes if outcome.refused is not None]
    for path, outcome, reason in refused:
        remedy = (
            "; pass --batch ARG[:AXIS] for each argument that holds rows" if reason.code in _ABOUT_THE_BATCH else ""
        )
        yield f"{shown(path)}:{outcome.line}: refused ({reason.code}): {reason.message}{remedy}"
    for path, outcome in outcomes:
        if outcome.refused is None and outcome.note:
            yield f"{shown(path)}:{outcome.line}: note: {outcome.note}, so the results change"
        if outcome.refused is None and outcome.caveat:
            yield f"{shown(path)}:{outcome.line}: note: {outcome.caveat}"
    if tables and len({path for path, _ in outcomes}) > 1:
        yield from ("", *_by_file(outcomes), "")
    if tables and len({reason.code for _, _, reason in refused}) > 1:
        yield from (*_by_reason(reason.code for _, _, reason in refused), "")
    yield from _of_processes(sources)
    yield f"{verb} {len(outcomes) - len(refused)}, refused {len(refused)}."


def _of_processes(sources: Mapping[Path, bytes]) -> Iterator[str]:
    """Yields a note on programs that may run as several processes, each of which passes pmap its own rows."""
    found = sorted(path for path, text in sources.items() if b"shard_map" in text and _PROCESSES.search(text))
    if found:
        use = f" and {len(found) - 1} more use" if len(found) > 1 else " uses"
        rows = "shard_map takes the rows of all processes as one global array"
        yield f"note: {shown(found[0])}{use} the process index or count; {rows}"


def _by_file(outcomes: Outcomes) -> Iterator[str]:
    converted = Counter(shown(path) for path, outcome in outcomes if outcome.refused is None)
    refused = Counter(shown(path) for path, outcome in outcomes if outcome.refused is not None)
    rows = [(name, str(converted[name]), str(refused[name])) for name in sorted({*converted, *refused})]
    yield from _table(("file", "converted", "refused"), rows)


def _by_reason(codes: Iterable[str]) -> Iterator[str]:
    counted = Counter(codes)
    rows = [(code, str(number)) for code, number in sorted(counted.items(), key=lambda one: (-one[1], one[0]))]
    yield from _table(("refused because", "places"), rows)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        first = row[0].ljust(widths[0])
        rest = [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join((first, *rest))
