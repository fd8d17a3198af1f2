"""Reads comments for MeshLens: `# meshlens: …` and `# noqa`."""

from __future__ import annotations

import re

from meshlens.facts.model import DevicesSaid, Suppression
from meshlens.facts.virtual_devices import speaks_of_virtual_devices, virtual_devices
from meshlens.syntax.lines import Tree, comment_at, logical_line
from meshlens.text import Span

_WORDS = re.compile(rb"[nN][oO][qQ][aA]|meshlens:")
_DIRECTIVE = re.compile(
    r"#\s*(?:(?P<noqa>(?i:noqa))(?P<codes>\s*:\s*[A-Za-z]+[0-9]\w*(?:[\s,]+[A-Za-z]+[0-9]\w*)*)?(?![\w:-])"
    r"|meshlens:\s*(?:ignore(?P<file>-file)?(?![\w-])\s*(?:\[(?P<names>[^\]#]*)\])?|devices\s*=\s*(?P<devices>[^\s#]+)))"
)


def speaks(source: bytes, begin: int, end: int) -> bool:
    """Returns whether a span of a file may contain comments for MeshLens or requests for virtual devices."""
    return _holds_word(source, begin, end) or speaks_of_virtual_devices(source, begin, end)


def _holds_word(source: bytes, begin: int, end: int) -> bool:
    """Returns whether a span contains "meshlens:" or "noqa"; this is much faster than a search for the comments."""
    stretch = source[begin:end]
    return b"meshlens:" in stretch or b"noqa" in stretch.lower()


def may_say_devices(source: bytes, begin: int, end: int) -> bool:
    """Returns whether a span of a file contains a word required to set devices."""
    return source.find(b"devices", begin, end) >= 0 or speaks_of_virtual_devices(source, begin, end)


def suppressions_in(source: bytes, tree: Tree) -> tuple[tuple[Suppression, ...], DevicesSaid | None]:
    """Returns the suppressions of a file in order, and the devices that it sets."""
    found, devices = suppressions_between(source, tree, 0, len(source))
    if devices is None and speaks_of_virtual_devices(source, 0, len(source)):
        devices = virtual_devices(source, tree)
    return found, devices


def suppressions_between(
    source: bytes, tree: Tree, begin: int, end: int
) -> tuple[tuple[Suppression, ...], DevicesSaid | None]:
    """Returns the suppressions in a span of a file in order, and the devices set by a `devices=` comment.

    Args:
        source: the whole file.
        tree: its syntax tree.
        begin: the start of the span, not inside a comment.
        end: the end of the span.
    """
    if not _holds_word(source, begin, end):
        return (), None
    found: list[Suppression] = []
    devices: DevicesSaid | None = None
    seen = -1
    for word in _WORDS.finditer(source, begin, end):
        comment = comment_at(tree, word.start())
        if comment is None or comment.start == seen:
            continue
        seen = comment.start
        lines = logical_line(tree, comment)
        text = source[seen : comment.end].decode("utf-8", "replace")
        for match in _DIRECTIVE.finditer(text):
            if devices is None and match["devices"]:
                devices = DevicesSaid(match["devices"], "comment")
            codes = _codes(match)
            if codes is not None:
                start = seen + len(text[: match.start()].encode())
                following = text.find("#", match.end())
                rest = text[match.start() : following if following >= 0 else None].rstrip()
                found.append(Suppression(Span(start, start + len(rest.encode())), codes, bool(match["file"]), lines))
    return tuple(found), devices


def _codes(match: re.Match[str]) -> tuple[str, ...] | None:
    """Returns the silenced names or codes, empty for all; None if the comment silences none of our rules."""
    if match["devices"]:
        return None
    if match["noqa"] is None:
        return tuple(name for name in re.split(r"[\s,]+", match["names"] or "") if name)
    if match["codes"] is None:
        return ()
    codes = tuple(code.upper() for code in re.split(r"[\s,:]+", match["codes"]) if code.upper().startswith("AX"))
    return codes or None
