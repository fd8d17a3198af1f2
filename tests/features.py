"""The answers of editor features at an offset of a file, as text: one feature for each language of a case's fences.

Add new features here; `dsl.py` and the runner know no feature by name.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path

import features_while_typing
from meshlens.ide.completing.signature import signature
from meshlens.ide.hovering.hover import hover
from meshlens.project.view import FileView

_PICTURE = re.compile(r"data:image/svg\+xml;base64,([\w+/=]+)")


def _hover(view: FileView, offset: int) -> str:
    found = hover(view, offset, "plaintext")
    return found.text if found is not None else ""


def _hover_markdown(view: FileView, offset: int) -> str:
    found = hover(view, offset, "markdown")
    root = Path(view.solution.index.roots[0]).as_uri()
    return found.text.replace(root, "file:///project") if found is not None else ""


def _hover_svg(view: FileView, offset: int) -> str:
    """Returns a hover's Markdown with the picture's source instead of its data URI, which nobody could review."""
    found = hover(view, offset, "svg")
    if found is None:
        return ""
    root = Path(view.solution.index.roots[0]).as_uri()
    text = found.text.replace(root, "file:///project")
    return _PICTURE.sub(lambda match: b64decode(match[1]).decode().replace("><", ">\n<"), text)


def _signature(view: FileView, offset: int) -> str:
    found = signature(view, offset)
    if found is None:
        return ""
    lines = [found.label, found.text]
    for place, parameter in enumerate(found.parameters):
        mark = ">" if place == found.active else "-"
        lines.append(f"{mark} {found.label[parameter.start : parameter.end]}: {parameter.text}")
    return "\n".join(lines)


FEATURES: dict[str, Callable[[FileView, int], str]] = {
    **features_while_typing.FEATURES,
    "hover": _hover,
    "hover-markdown": _hover_markdown,
    "hover-svg": _hover_svg,
    "signature": _signature,
}
"""Each returns the text for a view and an offset in UTF-8 bytes; empty if the feature has nothing to say."""
