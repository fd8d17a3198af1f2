"""The leaves of a tree of values, as far as its structure is known."""

from __future__ import annotations

from collections.abc import Iterator

from meshlens.axes.domain.values import Dict, Seq, Value


def leaves(value: Value) -> Iterator[Value]:
    """Yields every leaf of nested tuples, lists and dictionaries; a value that is not a container is its own leaf."""
    if isinstance(value, Seq):
        for item in value.items:
            yield from leaves(item)
    elif isinstance(value, Dict):
        for _, item in value.items:
            yield from leaves(item)
    else:
        yield value
