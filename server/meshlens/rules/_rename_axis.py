"""A fix that writes another axis name where a string literal stands."""

from __future__ import annotations

from meshlens.axes.values import Site
from meshlens.project.view import FileView
from meshlens.rules._model import Fix
from meshlens.text import Edit, FileEdit


def is_string(text: str) -> bool:
    """Whether a text is one plain string literal."""
    return len(text) > 1 and text[0] in "\"'" and text[-1] == text[0] and text[0] not in text[1:-1] and "\\" not in text


def write_name(view: FileView, site: Site, name: str, title: str, why: str = "") -> tuple[Fix, ...]:
    """Replaces a string literal by another name in the same quotes; nothing where no literal stands.

    Args:
        view: the file.
        site: the literal.
        name: the new name.
        title: what the fix is called.
        why: why it is not safe; empty if it is.
    """
    text = view.text(site)
    if not is_string(text):
        return ()
    edit = FileEdit(view.path_of(site), Edit(view.span(site), f"{text[0]}{name}{text[0]}"))
    return (Fix(title, (edit,), "unsafe" if why else "safe", why),)
