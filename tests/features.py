"""What editor features say at an offset of a file, as text: by the language of the fence that a case expects it in.

A feature is added here; `dsl.py` and the runner know no feature by name.
"""

from __future__ import annotations

from collections.abc import Callable

from meshlens.ide.hover import hover
from meshlens.project.view import FileView


def _hover(view: FileView, offset: int) -> str:
    found = hover(view, offset, "plaintext")
    return found.text if found is not None else ""


FEATURES: dict[str, Callable[[FileView, int], str]] = {
    "hover": _hover,
}
"""The text for a view and an offset in UTF-8 bytes; an empty one where the feature has nothing to say."""
