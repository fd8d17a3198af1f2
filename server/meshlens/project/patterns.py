"""File patterns as `.gitignore` has them, each made into one test on a relative path."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

_TOKENS = re.compile(
    r"(?P<deep>/\*\*/|^\*\*/|/\*\*$|\*\*)|(?P<star>\*)|(?P<one>\?)|(?P<set>\[!?\]?[^\]]*\])|(?P<escape>\\.)|(?P<other>.)"
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of a `.gitignore`.

    Attributes:
        test: matches a path relative to the file's folder, with slashes; a folder also stands for all below it.
        negated: it takes out of what earlier lines put in.
        folders: it means folders only.
    """

    test: re.Pattern[str]
    negated: bool
    folders: bool


@lru_cache(maxsize=4096)
def pattern(text: str) -> Pattern | None:
    """Reads one pattern; None for an empty line or a comment."""
    line = text.rstrip("\r\n")
    line = line.rstrip(" ") if not line.endswith("\\ ") else line
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = line.removeprefix("!")
    folders = line.endswith("/")
    body = line.rstrip("/").removeprefix("./")
    anchored = "/" in body
    body = body.removeprefix("/")
    if not body:
        return None
    regex = "".join(map(_translated, _TOKENS.finditer(body)))
    try:
        return Pattern(re.compile(f"{'' if anchored else '(?:.*/)?'}{regex}", re.DOTALL), negated, folders)
    except re.error:
        return None


def _translated(found: re.Match[str]) -> str:
    text = found[0]
    if found["deep"]:
        return {"/**/": "/(?:.*/)?", "**/": "(?:.*/)?", "/**": "/.+"}.get(text, ".*")
    if found["star"]:
        return "[^/]*"
    if found["one"]:
        return "[^/]"
    if found["set"]:
        inside = text[1:-1].replace("\\", "\\\\")
        return f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
    return re.escape(text[1:] if found["escape"] else text)


@lru_cache(maxsize=1024)
def patterns(lines: tuple[str, ...]) -> tuple[Pattern, ...]:
    """Reads patterns, leaving out empty lines and comments."""
    return tuple(read for read in map(pattern, lines) if read is not None)


def verdict(rules: Iterable[Pattern], path: str, *, folder: bool) -> bool | None:
    """Whether the last pattern that matches a path takes it in or out; None when none matches.

    Args:
        rules: the patterns, in order.
        path: relative to the folder of the patterns, with slashes.
        folder: whether the path is a folder.
    """
    out: bool | None = None
    for rule in rules:
        if (folder or not rule.folders) and rule.test.fullmatch(path):
            out = not rule.negated
    return out


def matches(lines: tuple[str, ...], path: str) -> bool:
    """Whether a file, or a folder that it lies in, matches one of these patterns.

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
