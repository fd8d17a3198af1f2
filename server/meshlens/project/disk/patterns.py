"""File patterns as in `.gitignore`, matched segment by segment in bounded time.

`fnmatch` translates a segment so that a `*` never backtracks; a `**` matches as few segments as possible. So the time
for a match is at most proportional to the length of the pattern times the length of the path.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

LONGEST = 4096
"""Maximum length of a pattern, the same as that of a path on Linux."""

MOST = 10_000
"""Maximum number of patterns in a file or a setting."""

_DEEP = re.compile(r"\*{2,}")
_NOTHING = re.compile("(?!)")
_TOKENS = re.compile(r"\\(?P<escaped>.)|(?P<set>\[[!^]?\]?[^\]]*\])|(?P<other>.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A line of a `.gitignore`.

    Attributes:
        segments: the patterns for each part of a path relative to the file's folder; None for `**`.
        negated: whether it re-includes paths excluded by earlier lines.
        folders: whether it matches only folders.
    """

    segments: tuple[re.Pattern[str] | None, ...]
    negated: bool
    folders: bool

    def matches(self, parts: tuple[str, ...]) -> bool:
        """Returns whether the pattern matches a path, given by its parts."""
        segments = self.segments
        if len(segments) == 2 and segments[0] is None and segments[1] is not None:
            return segments[1].match(parts[-1]) is not None
        at, here = 0, 0
        after_deep, begin = -1, 0
        while here < len(parts):
            segment = segments[at] if at < len(segments) else _NOTHING
            if segment is None:
                at += 1
                after_deep, begin = at, here
            elif segment.match(parts[here]) is not None:
                at += 1
                here += 1
            elif after_deep >= 0:
                # Everything before the last `**` has matched; only that `**` can still match more.
                begin += 1
                at, here = after_deep, begin
            else:
                return False
        return at == len(segments)


@lru_cache(maxsize=4096)
def pattern(text: str) -> Pattern | None:
    """Parses one pattern; returns None for an empty line, a comment, or a pattern longer than any path."""
    line = text.rstrip("\r\n")
    line = line.rstrip(" ") if not line.endswith("\\ ") else line
    if not line or line.startswith("#") or len(line) > LONGEST:
        return None
    negated = line.startswith("!")
    line = line.removeprefix("!")
    folders = line.endswith("/")
    body = line.rstrip("/").removeprefix("./")
    anchored = "/" in body
    body = body.removeprefix("/")
    if not body:
        return None
    spelled = body.split("/")
    if not anchored:
        spelled.insert(0, "**")
    try:
        segments = [None if _DEEP.fullmatch(part) else _segment(part) for part in spelled]
    except re.error:
        return None
    if segments[-1] is None and len(segments) > 1:
        # `a/**` matches paths below the folder, not the folder itself.
        segments.append(_segment("*"))
    return Pattern(tuple(segments), negated, folders)


@lru_cache(maxsize=1024)
def _segment(text: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(_TOKENS.sub(_in_fnmatch, text)))


def _in_fnmatch(found: re.Match[str]) -> str:
    """Returns a token in the syntax of `fnmatch`, which has no escapes and negates only with `!`."""
    escaped, group = found["escaped"], found["set"]
    if escaped is not None:
        return f"[{escaped}]" if escaped in "*?[" else escaped
    if group is not None:
        return f"[!{group[2:]}" if group.startswith("[^") else group
    return found[0]


@lru_cache(maxsize=1024)
def patterns(lines: tuple[str, ...]) -> tuple[Pattern, ...]:
    """Parses patterns, skipping empty lines and comments."""
    return tuple(read for read in map(pattern, lines) if read is not None)


def verdict(rules: Iterable[Pattern], path: str, *, folder: bool) -> bool | None:
    """Returns True if the last matching pattern excludes a path, False if it re-includes the path, otherwise None.

    Args:
        rules: the patterns, in order.
        path: the path, relative to the folder of the patterns, with slashes.
        folder: whether the path is a folder.
    """
    out: bool | None = None
    parts = tuple(path.split("/"))
    for rule in rules:
        if (folder or not rule.folders) and rule.matches(parts):
            out = not rule.negated
    return out


def matches(lines: tuple[str, ...], path: str) -> bool:
    """Returns whether one of these patterns matches a file or one of its parent folders.

    Args:
        lines: the patterns.
        path: the file, relative to the folder of the patterns, with slashes.
    """
    rules = patterns(lines)
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        if verdict(rules, "/".join(parts[:depth]), folder=depth < len(parts)):
            return True
    return False
