"""Blanks out IPython's own syntax in cells, leaving Python of the same length."""

from __future__ import annotations

import re

_OTHER_LANGUAGES = frozenset(
    "bash sh script perl ruby html HTML javascript js latex markdown svg SVG writefile file cython cpp R julia sql "
    "bigquery shell cmd powershell pypy python2 sx system ! css".split()
)
_CELL_MAGIC = re.compile(r"\s*%%(\S+)")
_LINE = re.compile(r"^(?P<indent>[ \t]*)(?P<mark>%{1,2}(?=[A-Za-z])|!{1,2}|\?{1,2}(?=[\w.]))(?P<rest>.*)$")
_HELP = re.compile(r"^[ \t]*%{0,2}[^\W\d][\w.]*\?{1,2}[ \t]*$")
_ASSIGNED = re.compile(r"^(?P<head>[ \t]*[^\W\d][\w., \t*]*=[ \t]*)(?P<mark>[%!])(?P<rest>\S.*)$")
_TIMED = re.compile(r"^(?P<magic>(?:time|timeit|prun)(?:[ \t]+-\w+(?:[ \t]+\d+)?)*[ \t]+)(?P<code>[^-\s].*)$")


def without_magics(text: str) -> str:
    """Returns the cell with its magics blanked out, keeping the length of every line in UTF-8 bytes.

    Args:
        text: the text of a code cell.
    """
    if "%" not in text and "!" not in text and "?" not in text:
        return text
    first = _CELL_MAGIC.match(text)
    if first is not None and first[1] in _OTHER_LANGUAGES:
        return "".join(_comment(line) for line in text.splitlines(keepends=True))
    out = []
    depth = _Brackets()
    continues = False
    for line in text.splitlines(keepends=True):
        body = line.rstrip("\r\n")
        end = line[len(body) :]
        kept = _comment(body) if continues else _line(body) if depth.outside else body
        # A command continues on the next line after a backslash, as in a shell.
        continues = body.endswith("\\") and (continues or (kept != body and "#" in kept))
        depth.read(kept)
        out.append(kept + end)
    return "".join(out)


def _line(body: str) -> str:
    if _HELP.match(body):
        return _comment(body)
    if found := _LINE.match(body):
        timed = _TIMED.match(found["rest"]) if found["mark"] == "%" else None
        if timed is None:
            # If the magic is the only statement of a block, a statement must remain.
            return (
                f"{found['indent']}0{_comment(body[len(found['indent']) + 1 :])}" if found["indent"] else _comment(body)
            )
        return f"{found['indent']}0;{' ' * (len(timed['magic']) - 1)}{timed['code']}"
    if found := _ASSIGNED.match(body):
        timed = _TIMED.match(found["rest"]) if found["mark"] == "%" else None
        if timed is None:
            return f"{found['head']}0{_comment(found['rest'])}"
        return f"{found['head']}{' ' * len(timed['magic'])} {timed['code']}"
    return body


def _comment(line: str) -> str:
    """Returns the line as a comment of the same length in bytes: its first non-blank character becomes `#`."""
    body = line.lstrip(" \t")
    if not body.strip():
        return line
    indent = line[: len(line) - len(body)]
    size = len(body[0].encode("utf-8", "replace"))
    return f"{indent}#{'#' * (size - 1)}{body[1:]}"


class _Brackets:
    """Tracks whether a line begins outside brackets and triple quotes, as a magic must."""

    _TOKENS = re.compile(r"\\.|#|\"\"\"|'''|\"|'|[(\[{]|[)\]}]")

    def __init__(self) -> None:
        self.depth = 0
        self.quote = ""

    @property
    def outside(self) -> bool:
        return self.depth == 0 and not self.quote

    def read(self, line: str) -> None:
        at = 0
        while found := self._TOKENS.search(line, at):
            token, at = found[0], found.end()
            if self.quote:
                self.quote = "" if token == self.quote else self.quote
            elif token == "#":
                break
            elif token in ('"""', "'''", '"', "'"):
                self.quote = token
            elif token in "([{":
                self.depth += 1
            elif token in ")]}":
                self.depth = max(0, self.depth - 1)
        if len(self.quote) == 1:
            self.quote = ""
