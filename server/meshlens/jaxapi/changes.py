"""Changes to JAX's API: names and keywords with the versions that added, deprecated and removed them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from meshlens.jaxapi.released import RELEASES

Version = tuple[int, ...]

OLDEST: Version = (0, 4, 30)
"""The first release whose signatures were measured; only some facts about older ones are known."""

_DIGITS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,9}(?!\.?[0-9])")


@dataclass(frozen=True, slots=True)
class Change:
    """The history of one name.

    Attributes:
        dotted: the name as programs write it, with their aliases resolved; a module stands for all of its names.
        removed: first version without it.
        deprecated: first version that warns.
        since: first version with it.
        replacement: dotted name of the replacement.
        note: further advice, as a clause without a period.
        rewrite: "rename" if the replacement is a drop-in, "tree" if it is a drop-in in `jax.tree`, "shard_map" or
            "pvary" for a rewrite of the call, "drop" if it can be deleted, "" if a person must decide.
        replacement_since: first version with the replacement.
    """

    dotted: str
    removed: Version | None = None
    deprecated: Version | None = None
    since: Version | None = None
    replacement: str | None = None
    note: str = ""
    rewrite: str = ""
    replacement_since: Version | None = None


@dataclass(frozen=True, slots=True)
class KeywordChange:
    """The history of one keyword argument.

    Attributes:
        dotted: canonical name of the callable.
        keyword: the keyword.
        removed, deprecated, since: as in `Change`.
        replacement: the replacement.
        note: further advice.
        rewrite: "rename", "drop", "positional", or "" if a person must decide.
    """

    dotted: str
    keyword: str
    removed: Version | None = None
    deprecated: Version | None = None
    since: Version | None = None
    replacement: str | None = None
    note: str = ""
    rewrite: str = ""


def parse_version(text: str) -> Version | None:
    """Returns the numbers at the start of a version, without pre-release or build suffixes.

    Args:
        text: the version, such as "0.10.2", "0.4.30.dev1" or "v0.8".

    Returns:
        The numbers, at least three of them; None if there are none or they are not a plausible version.
    """
    match = _DIGITS.match(text.strip().lstrip("vV="))
    if match is None:
        return None
    numbers = tuple(int(part) for part in match.group().split("."))
    return numbers + (0,) * (3 - len(numbers))


def spell_version(version: Version) -> str:
    """Returns a version as text: "0.10.2"."""
    return ".".join(str(number) for number in version)


NEWEST: Version = parse_version(RELEASES.rpartition(" ")[2]) or OLDEST
"""The newest version of JAX in the tables."""

SETTLED: Version = parse_version(RELEASES.split()[-4]) or OLDEST
"""The version to assume by default: three releases before the newest.

JAX keeps deprecated names for about three months, with a release about every month. A project that names no version may
still use names that the last three releases removed.
"""
