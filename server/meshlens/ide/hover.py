"""What an editor shows for the text under the mouse: about JAX's maps, meshes, specs and axis names, else nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from meshlens.project.view import FileView
from meshlens.text import Span

HoverStyle: TypeAlias = Literal["markdown", "plaintext", "svg"]


@dataclass(frozen=True, slots=True)
class Hover:
    """What to show.

    Attributes:
        span: the text that it is about.
        text: plain text or Markdown, by the style that was asked for.
    """

    span: Span
    text: str


def hover(view: FileView, offset: int, style: HoverStyle) -> Hover | None:
    """What there is to say about the text at an offset.

    Args:
        view: the file.
        offset: UTF-8 bytes from the start of the file.
        style: "plaintext"; "markdown"; "svg" for Markdown in which pictures are shown.

    Returns:
        None for everything that is plain Python or a function of a library without axes.
    """
    return None
