"""The history of JAX's API: the state of a name, keyword or behavior in each version."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from meshlens.jaxapi import history_core, history_sharding, released
from meshlens.jaxapi.changes import NEWEST, Change, KeywordChange, Version, parse_version, spell_version

__all__ = [
    "BEHAVIOURS",
    "CHANGES",
    "KEYWORD_CHANGES",
    "NEWEST",
    "Change",
    "KeywordChange",
    "Version",
    "change",
    "changed_keywords",
    "changed_names",
    "holds",
    "keyword_change",
    "parse_version",
    "spell_version",
]

CHANGES: dict[str, Change] = {row.dotted: row for row in (*history_sharding.ROWS, *history_core.ROWS)}

_SHARD_MAP = "jax.shard_map"
_OLD_SHARD_MAP = "jax.experimental.shard_map.shard_map"
_COMPLEMENT = "pass the manual axes as axis_names instead"

_KEYWORDS = (
    KeywordChange("jax.pmap", "global_arg_shapes", (0, 10, 0), (0, 4, 8), note="it has no effect", rewrite="drop"),
    KeywordChange("jax.jit", "fun", (0, 7, 0), (0, 6, 0), note="pass the function by position", rewrite="positional"),
    KeywordChange("jax.jit", "abstracted_axes", (0, 8, 2)),
    KeywordChange("jax.jit", "device", deprecated=(0, 4, 2), note="use in_shardings or jax.device_put"),
    KeywordChange("jax.jit", "backend", deprecated=(0, 4, 2), note="use in_shardings or jax.device_put"),
    KeywordChange("jax.make_jaxpr", "abstracted_axes", (0, 8, 2)),
    KeywordChange(_OLD_SHARD_MAP, "auto", (0, 8, 0), replacement="axis_names", note=_COMPLEMENT),
    KeywordChange(_SHARD_MAP, "auto", (0, 6, 1), replacement="axis_names", note=_COMPLEMENT),
    KeywordChange(_SHARD_MAP, "check_rep", (0, 6, 1), replacement="check_vma", rewrite="rename"),
    KeywordChange(_SHARD_MAP, "f", (0, 6, 1), note="pass the function by position", rewrite="positional"),
    KeywordChange(_OLD_SHARD_MAP, "check_vma", (0, 4, 3), replacement="check_rep", rewrite="rename"),
    KeywordChange("jax.make_mesh", "axis_types", since=(0, 5, 0)),
    KeywordChange("jax.lax.all_gather", "to", since=(0, 8, 2)),
)

_QUANTILES = ("percentile", "quantile", "nanpercentile", "nanquantile")
NEW_KEYWORDS: dict[tuple[str, str], str] = {
    ("jax.numpy.clip", "a_min"): "min",
    ("jax.numpy.clip", "a_max"): "max",
    ("jax.numpy.reshape", "newshape"): "shape",
    **{(f"jax.numpy.{name}", "interpolation"): "method" for name in _QUANTILES},
}
"""The replacements of removed keywords, if nothing else in the call has to change."""

KEYWORD_CHANGES: dict[tuple[str, str], KeywordChange] = {(row.dotted, row.keyword): row for row in _KEYWORDS}

BEHAVIOURS: dict[str, Version] = {
    "nested-pmap-fails": (0, 8, 0),
    "pmap-is-shard-map": (0, 8, 0),
    "jit-of-pmap-is-silent": (0, 8, 0),
    "jit-decorates": (0, 8, 1),
    "make-mesh-is-explicit": (0, 9, 0),
    "in-specs-are-compared": (0, 9, 1),
    "checked-shard-map-sums-gradients": (0, 6, 1),
    "in-specs-are-inferred": (0, 7, 2),
    "abstract-mesh-takes-sizes-and-names": (0, 5, 3),
    "mesh-context-is-deprecated": (0, 10, 1),
    "pmap-rejects-enum-names": (0, 8, 1),
    "negative-axes-are-accepted": (0, 8, 0),
    "pmap-keeps-no-wrapped": (0, 8, 0),
    "sort-needs-a-whole-axis": (0, 9, 2),
    "cumsum-needs-a-whole-axis": (0, 10, 0),
}
"""The first version with each behavior."""


def change(dotted: str) -> Change | None:
    """Returns the history of a name, or of a module that contains it.

    A handwritten row takes precedence over generated ones, because it includes the replacement.

    Args:
        dotted: the name as the program writes it, with the program's aliases resolved; not canonical, because each
            spelling has its own history.

    Returns:
        The row of the longest known prefix, or None. A shorter prefix counts only if it was itself removed or
        deprecated.
    """
    row = _row(dotted)
    if row is not None:
        return row
    prefix = dotted
    while "." in prefix:
        prefix = prefix.rpartition(".")[0]
        row = _row(prefix)
        if row is not None and (row.removed is not None or row.deprecated is not None):
            return row
    return None


def _row(dotted: str) -> Change | None:
    row = CHANGES.get(dotted)
    return row if row is not None else _released().get(dotted)


def keyword_change(dotted: str, keyword: str) -> KeywordChange | None:
    """Returns the history of a callable's keyword argument, or None."""
    return KEYWORD_CHANGES.get((dotted, keyword)) or _released_keywords().get(dotted, {}).get(keyword)


@cache
def changed_names() -> frozenset[str]:
    """Returns the names that some release removed or deprecated."""
    by_hand = {row.dotted for row in CHANGES.values() if row.removed or row.deprecated}
    return frozenset(by_hand | _released().keys())


_KEYWORD_BACKWARDS = re.compile(rb"=\s*(\w+)")
"""Applied to reversed text: a forward search would scan each word not followed by `=` once for each of its letters."""


@cache
def _functions_by_keyword() -> dict[bytes, frozenset[str]]:
    found: dict[bytes, set[str]] = {}
    given = [
        *KEYWORD_CHANGES,
        *((dotted, label) for dotted, labels in _released_keywords().items() for label in labels),
    ]
    for dotted, label in given:
        found.setdefault(label.encode(), set()).add(dotted)
    return {label: frozenset(functions) for label, functions in found.items()}


@lru_cache(maxsize=4)
def functions_with_dated_keywords(source: bytes) -> frozenset[str]:
    """Returns the functions with a changed keyword argument whose name is passed in some call in the source text."""
    known = _functions_by_keyword()
    written = known.keys() & {word[::-1] for word in _KEYWORD_BACKWARDS.findall(source[::-1])}
    return frozenset().union(*(known[label] for label in written))


@cache
def changed_keywords() -> frozenset[str]:
    """Returns the functions with a keyword argument that some release added, deprecated or removed."""
    return frozenset({dotted for dotted, _ in KEYWORD_CHANGES} | _released_keywords().keys())


@cache
def _released() -> dict[str, Change]:
    return {
        (dotted := f"{module}.{name}"): Change(dotted, removed, deprecated)
        for module, text in released.NAMES.items()
        for name, deprecated, removed in _lives(text)
    }


@cache
def _released_keywords() -> dict[str, dict[str, KeywordChange]]:
    return {
        dotted: {
            name: KeywordChange(dotted, name, removed, deprecated, None, NEW_KEYWORDS.get((dotted, name)))
            for name, deprecated, removed in _lives(text)
        }
        for dotted, text in released.KEYWORDS.items()
    }


def _lives(text: str) -> list[tuple[str, Version | None, Version | None]]:
    """Parses the rows of a module or function: each name, the release that deprecates it, and the first without it."""
    found = []
    for part in text.split("; "):
        when, *names = part.split(" ")
        first, _, last = when.partition("-")
        found += [(name, parse_version(first), parse_version(last)) for name in names]
    return found


def holds(behaviour: str, version: Version) -> bool:
    """Returns whether a version of JAX has a behavior listed in `BEHAVIOURS`."""
    return version >= BEHAVIOURS[behaviour]
