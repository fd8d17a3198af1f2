"""Changes of JAX's interface: names and keywords with the versions that added, deprecated and removed them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from meshlens.jaxapi.released import RELEASES

Version = tuple[int, ...]

OLDEST: Version = (0, 4, 30)
"""The first release whose signatures were measured; what older ones took is known here and there."""

_DIGITS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,9}(?!\.?[0-9])")


@dataclass(frozen=True, slots=True)
class Change:
    """The history of one name.

    Attributes:
        dotted: the name as programs write it, with their own aliases undone; a module stands for all it holds.
        removed: first version without it.
        deprecated: first version that warns.
        since: first version that has it.
        replacement: dotted name of what takes its place.
        note: what else to do, as a clause without a full stop.
        rewrite: "rename" when the replacement takes its place unchanged, "tree" when that needs
            `replacement_since`, "shard_map" or "pvary" for a rewrite of the call, "drop" when it can be left
            out, "" when a person must decide.
        replacement_since: first version that has the replacement.
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
        removed, deprecated, since: as for a name.
        replacement: the keyword that takes its place.
        note: what else to do.
        rewrite: "rename", "drop", "positional", or "" when a person must decide.
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
    """The numbers at the start of a version, without what marks a pre-release or a build.

    Args:
        text: such as "0.10.2", "0.4.30.dev1" or "v0.8".

    Returns:
        The numbers, at least three of them; None if there are none, or such as no version has.
    """
    match = _DIGITS.match(text.strip().lstrip("vV="))
    if match is None:
        return None
    numbers = tuple(int(part) for part in match.group().split("."))
    return numbers + (0,) * (3 - len(numbers))


def spell_version(version: Version) -> str:
    """A version as people write it: "0.10.2"."""
    return ".".join(str(number) for number in version)


NEWEST: Version = parse_version(RELEASES.rpartition(" ")[2]) or OLDEST
"""The newest version of JAX that the tables know."""

SETTLED: Version = parse_version(RELEASES.split()[-4]) or OLDEST
"""The version that is assumed where nothing says one: three releases before the newest.

JAX keeps what it deprecates for about three months, and there is a release about every month.  A project that names
no version may not have met what went since.
"""
