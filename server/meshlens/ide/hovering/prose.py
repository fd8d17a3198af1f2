"""The text of a hover: sentences, lists and code in Markdown or plain text, with links to places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from meshlens.axes.domain.values import Site
from meshlens.project.view import FileView

HoverStyle: TypeAlias = Literal["markdown", "plaintext", "svg", "html"]
MOST_PLACES = 6
NO_COLORS: Mapping[str, int] = MappingProxyType({})


_MARKS = re.compile(r"[\\\[\]`<*]")


def as_text(name: str) -> str:
    """Returns a name as one line of Markdown, escaped so that it contains no links, pictures, code or tags."""
    line = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in name)
    return _MARKS.sub(r"\\\g<0>", line)


@dataclass(frozen=True, slots=True)
class Prose:
    """The writing style for one file.

    Attributes:
        view: the file.
        style: "plaintext"; "markdown"; "svg" for Markdown with pictures; "html" if text can also have the colors of VS
            Code's themes.
        colors: the numbers of the axes' colors, if text has colors.
    """

    view: FileView
    style: HoverStyle
    colors: Mapping[str, int] = field(default_factory=lambda: NO_COLORS)

    @property
    def is_plain(self) -> bool:
        """Returns whether the client does not show Markdown."""
        return self.style == "plaintext"

    def code(self, text: str) -> str:
        """Returns a name or a piece of code, formatted for use within a sentence."""
        if self.is_plain:
            return text
        # An empty line would end the span, and the rest would be Markdown, possibly an image from another site.
        line = "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
        ticks = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
        space = " " if line.startswith("`") or line.endswith("`") else ""
        return f"{ticks}{space}{line}{space}{ticks}"

    def axis(self, name: str) -> str:
        """Returns an axis name as code, after a dot in the color of the axis if the client supports colors."""
        code = self.code(f'"{name}"')
        color = self.colors.get(name)
        return code if color is None else f'<span style="color:var(--vscode-meshlens-axis{color + 1});">●</span> {code}'

    def axes(self, names: Iterable[str]) -> str:
        """Returns axis names as a list within a sentence."""
        return ", ".join(self.axis(name) for name in names)

    def place(self, site: Site) -> str:
        """Returns a place as `train.py:12`, relative to the workspace; for a notebook, only the file."""
        line = self._line(site)
        path = Path(site.path)
        if path.suffix == ".ipynb":
            return self._shown(path) if self.is_plain else f"[{as_text(self._shown(path))}]({path.as_uri()})"
        text = f"{self._shown(path)}:{line}"
        return text if self.is_plain else f"[{as_text(text)}]({path.as_uri()}#L{line})"

    def places(self, sites: Iterable[Site]) -> str:
        """Returns a list of places, those in the view's own file first, shortened if there are many."""
        here = str(self.view.path)
        ordered = sorted(dict.fromkeys(sites), key=lambda site: (site.path != here, site.path, self.view.span(site)))
        lines = list(dict.fromkeys(self.place(site) for site in ordered))
        shown = ", ".join(lines[:MOST_PLACES])
        more = len(lines) - MOST_PLACES
        return f"{shown} and {more} more" if more > 0 else shown

    def snippet(self, text: str) -> str:
        """Returns Python code as a block of its own."""
        return text if self.is_plain else f"```python\n{text}\n```"

    def drawing(self, text: str) -> str:
        """Returns text with aligned columns as a block of its own."""
        return text if self.is_plain else f"```text\n{text}\n```"

    def items(self, lines: Iterable[str]) -> str:
        """Returns a list with one line for each item."""
        return "\n".join(f"- {line}" for line in lines)

    def page(self, *parts: str | None) -> str:
        """Returns the nonempty parts, joined into one text."""
        return ("\n" if self.is_plain else "\n\n").join(part for part in parts if part)

    def _line(self, site: Site) -> int:
        return self.view.texts[site.path].count(b"\n", 0, self.view.span(site).start) + 1

    def _shown(self, path: Path) -> str:
        for root in self.view.solution.index.roots:
            if path.is_relative_to(root):
                return path.relative_to(root).as_posix()
        return path.name


def counted(count: int, one: str, many: str | None = None) -> str:
    """Returns a number with its noun: "1 device", "8 devices"."""
    return f"{count} {one if count == 1 else many or one + 's'}"
