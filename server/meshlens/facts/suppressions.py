"""Reads the comments that speak to MeshLens: `# meshlens: …` and `# noqa`."""

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
    """Returns whether a stretch of a file holds a word that such a comment needs."""
    return _holds_word(source, begin, end) or speaks_of_virtual_devices(source, begin, end)


def _holds_word(source: bytes, begin: int, end: int) -> bool:
    """Returns whether the words can be found at all; their pattern takes many times as long to say that they cannot."""
    stretch = source[begin:end]
    return b"meshlens:" in stretch or b"noqa" in stretch.lower()


def may_say_devices(source: bytes, begin: int, end: int) -> bool:
    """Tells if a stretch of a file holds a word without which it says nothing of the devices that it is meant for."""
    return source.find(b"devices", begin, end) >= 0 or speaks_of_virtual_devices(source, begin, end)


def suppressions_in(source: bytes, tree: Tree) -> tuple[tuple[Suppression, ...], DevicesSaid | None]:
    """The suppressions of a file in order, and what the file says of the devices that it is meant for."""
    found, devices = suppressions_between(source, tree, 0, len(source))
    if devices is None and speaks_of_virtual_devices(source, 0, len(source)):
        devices = virtual_devices(source, tree)
    return found, devices


def suppressions_between(
    source: bytes, tree: Tree, begin: int, end: int
) -> tuple[tuple[Suppression, ...], DevicesSaid | None]:
    """The suppressions of a stretch of a file in order, and what its `devices=` comment says.

    Args:
        source: the whole file.
        tree: its syntax tree.
        begin: where the stretch begins; it cuts through no comment.
        end: where it ends.
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
    """The names or codes that are silenced, none for all; None when the comment silences nothing of ours."""
    if match["devices"]:
        return None
    if match["noqa"] is None:
        return tuple(name for name in re.split(r"[\s,]+", match["names"] or "") if name)
    if match["codes"] is None:
        return ()
    codes = tuple(code.upper() for code in re.split(r"[\s,:]+", match["codes"]) if code.upper().startswith("AX"))
    return codes or None
